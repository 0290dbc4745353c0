import type { FailureCause, PlanStep, ReportedPullRequest, ReportedUsage } from "../core/job-report.ts";
import type { QuestionAnswer } from "../core/job-service.ts";
import type { ServiceProject } from "./config.ts";

/** Something that an agent asks a person. Texts are bounded and redacted. */
export type AgentQuestion = {
  text: string;
  choices: { id: string; label: string }[];
  /** Whether words of one's own are an answer. */
  allowsText: boolean;
};

/** A file that came with the prompt, and where it lies until the turn has ended. Its name is anything that a client put. */
export type TurnAttachment = { name: string; mediaType: string; bytes: number; path: string };

/** One turn of a job, as the runner gets it. */
export type RunTurnInput = {
  jobId: string;
  prompt: string;
  attachments: readonly TurnAttachment[];
  /** Earlier turns of the same job, oldest first. */
  earlierTurns: { prompt: string; summary: string | null }[];
  project: ServiceProject;
  /** By earlier attempts of the turn. It counts toward the budget. */
  usedBefore: ReportedUsage | null;
  /** Aborts when the service stops and the grace is over, or the turn was ended: canceled, or its job archived. */
  signal: AbortSignal;
  /** A line for the operator: bounded, redacted. */
  onProgress: (line: string) => void;
  /** What the agent does now, in one line for people: bounded, redacted. */
  onStep: (step: string) => void;
  /** The agent's plan as it is now: bounded, redacted. */
  onPlan: (plan: PlanStep[]) => void;
  /** What the turn used so far, all of it. Counts win over an agent's own word for its cost. */
  onUsage: (usage: ReportedUsage) => void;
  /** Asks a person. Resolves to null if nobody answers in time, if too much was asked already, or when aborted. Never rejects. */
  ask: (question: AgentQuestion) => Promise<QuestionAnswer | null>;
};

/** How a turn ended. `leftOut`: what the agent changed outside the documentation globs. */
export type RunTurnResult =
  | { kind: "no-changes"; summary: string | null; reason?: string | null; leftOut?: string[] }
  | {
      kind: "pull-request";
      prLink: string;
      summary: string | null;
      leftOut: string[];
      pullRequest?: ReportedPullRequest | null;
    }
  /** The changes are on a branch, and there is no code host where anybody could be asked to merge them. */
  | { kind: "branch"; branch: string; summary: string | null; leftOut: string[] }
  /**
   * `reason` is for people. `details` are lines for the operator: bounded, redacted. `isCutOff`: its agent's process ended before the turn was
   * over.
   */
  | { kind: "failed"; reason: string; cause?: FailureCause; details?: string[]; isCutOff?: boolean };

/**
 * Runs a turn from a clean worktree; safe to run again after a crash at any point. Rejects only with a transient error
 * (worth running again) or when aborted.
 */
export type TurnRunner = (input: RunTurnInput) => Promise<RunTurnResult>;

/** What there is to keep for. */
export type UpkeepInput = {
  /** All projects of the settings. What is kept for others goes. */
  projects: readonly ServiceProject[];
  /** Whether a turn of the job has yet to end. */
  isUnfinished: (jobId: string) => boolean;
  signal: AbortSignal;
};

/** Removes what nobody needs any more, and packs what is needed: a bounded part of it in one pass. Rejects only when aborted. */
export type Upkeep = (input: UpkeepInput) => Promise<void>;
