import { z } from "zod";
import {
  type JobDiff,
  FailureCause,
  type PlanStep,
  type ReportedOutcome,
  type ReportedUsage,
} from "../../src/core/ports/job-report.ts";
import { DocsAgentError } from "../../src/core/errors.ts";
import { type QuestionAnswer, type Requester } from "../../src/core/ports/job-service.ts";
import { WireCheck, WireClaims, WireContext, WirePullRequest } from "../../src/job-client/report-schema.ts";
import type { ServiceProject } from "../config/config.ts";

/** Something that an agent asks a person. Texts are bounded and redacted. */
export type AgentQuestion = {
  text: string;
  choices: { id: string; label: string }[];
  /** True if words of one's own are an answer. */
  allowsText: boolean;
};

/**
 * A file that came with the prompt, and where it lies until the turn has ended. Its name is
 * anything that a client put.
 */
export type TurnAttachment = { name: string; mediaType: string; bytes: number; path: string };

/**
 * What an earlier turn of the same job was asked, and what its agent said of it. `words`: see
 * {@link RunTurnInput}.
 */
export type EarlierTurn = {
  prompt: string;
  words: string | null;
  summary: string | null;
  /** Null: it was ended before it came to anything. */
  outcome: ReportedOutcome | null;
};

/** One turn of a job, as the runner gets it. */
export type RunTurnInput = {
  jobId: string;
  /** The turn's number in its job, from 1. */
  number: number;
  prompt: string;
  /**
   * What of the prompt the person typed, the only part that may be published; null: it isn't known,
   * or nothing.
   */
  words: string | null;
  /** Who asked; null: it isn't known. */
  requester: Requester | null;
  attachments: readonly TurnAttachment[];
  /**
   * The newest of the job's earlier turns, the oldest of these first. The last one comes right
   * before this turn.
   */
  earlierTurns: EarlierTurn[];
  project: ServiceProject;
  /** By earlier attempts of the turn. It counts toward the budget. */
  usedBefore: ReportedUsage | null;
  /**
   * Aborts when the service stops and the grace is over, or the turn was ended: canceled, or its
   * job archived.
   */
  signal: AbortSignal;
  /** A line for the operator: bounded, redacted. */
  onProgress: (line: string) => void;
  /** What the agent does now, in one line for people: bounded, redacted. */
  onStep: (step: string) => void;
  /** The agent's plan as it is now: bounded, redacted. */
  onPlan: (plan: PlanStep[]) => void;
  /** What the turn used so far, all of it. Counts win over an agent's own word for its cost. */
  onUsage: (usage: ReportedUsage) => void;
  /**
   * Called with true when the turn's agent is about to be started, with false once what it left was
   * looked through.
   */
  onAgent: (runs: boolean) => void;
  /** What the agent is told, all of it: bounded, redacted. */
  onBrief: (brief: string) => void;
  /** Called once the turn's work is on this branch of the remote. */
  onPushed: (branch: string) => void;
  /**
   * Asks a person. Resolves to null if nobody answers in time, if too much was asked already, or
   * when aborted. Never rejects.
   */
  ask: (question: AgentQuestion) => Promise<QuestionAnswer | null>;
};

/** What is told of a turn that did not fail, besides what came of it. */
export const TurnQuality = z.object({
  checks: z.array(WireCheck).default([]),
  claims: WireClaims.nullable().default(null),
  context: z.array(WireContext).default([]),
  /** What else people should know, a sentence each. */
  notes: z.array(z.string()).default([]),
});
const Quality = TurnQuality.partial().shape;

/** How a turn ended. `leftOut`: what the agent changed and isn't committed. */
export const RunTurnResult = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("no-changes"),
    summary: z.string().nullable(),
    /** Why nothing came of what the agent did, or wanted to do; null: what it says is an answer. */
    reason: z.string().nullish(),
    leftOut: z.array(z.string()).optional(),
    ...Quality,
  }),
  z.object({
    kind: z.literal("pull-request"),
    prLink: z.string(),
    summary: z.string().nullable(),
    leftOut: z.array(z.string()),
    pullRequest: WirePullRequest.nullish(),
    ...Quality,
  }),
  /**
   * The changes are on a branch, and there is no code host where anybody could be asked to merge
   * them.
   */
  z.object({
    kind: z.literal("branch"),
    branch: z.string(),
    summary: z.string().nullable(),
    leftOut: z.array(z.string()),
    ...Quality,
  }),
  /**
   * `reason` is for people. `details` are lines for the operator: bounded, redacted. `isCutOff`:
   * its agent's process ended before the turn was over.
   */
  z.object({
    kind: z.literal("failed"),
    reason: z.string(),
    cause: FailureCause.optional(),
    details: z.array(z.string()).optional(),
    isCutOff: z.boolean().optional(),
  }),
]);
export type RunTurnResult = z.infer<typeof RunTurnResult>;

/** What runs turns has died, and a turn with it: the turn may run again. */
export class RunnerLostError extends DocsAgentError {
  readonly code = "runner_lost";

  constructor() {
    super("The runner ended in the middle of the turn.");
  }
}

/**
 * Runs a turn from a clean worktree; safe to run again after a crash at any point. Rejects only
 * with a transient error (worth running again) or when aborted.
 */
export type TurnRunner = (input: RunTurnInput) => Promise<RunTurnResult>;

/** A job whose change is to be read. `head`: where its newest pull request ended, or null. */
export type DiffInput = { project: ServiceProject; jobId: string; head: string | null; signal: AbortSignal };

/**
 * Reads what a job's branch changes; null: nothing that is known anymore. Rejects as turns do, and
 * with the signal's reason when aborted.
 */
export type DiffReader = (input: DiffInput) => Promise<JobDiff | null>;

/** What there is to keep for. */
export type UpkeepInput = {
  /** All projects of the settings. What is kept for others goes. */
  projects: readonly ServiceProject[];
  /** The jobs with a turn that has yet to end. */
  unfinished: ReadonlySet<string>;
  signal: AbortSignal;
};

/**
 * Removes what nobody needs any more, and packs what is needed: a bounded part of it in one pass.
 * Rejects only when aborted.
 */
export type Upkeep = (input: UpkeepInput) => Promise<void>;

/** What two runs of an agent used together. What neither tells stays null. */
export function sumOf(before: ReportedUsage | null, now: ReportedUsage): ReportedUsage;
export function sumOf(before: ReportedUsage | null, now: ReportedUsage | null): ReportedUsage | null;
export function sumOf(before: ReportedUsage | null, now: ReportedUsage | null): ReportedUsage | null {
  if (before === null || now === null) return now ?? before;
  const plus = (one: number | null, other: number | null) =>
    one === null && other === null ? null : (one ?? 0) + (other ?? 0);
  return {
    inputTokens: plus(before.inputTokens, now.inputTokens),
    outputTokens: plus(before.outputTokens, now.outputTokens),
    cachedInputTokens: plus(before.cachedInputTokens, now.cachedInputTokens),
    calls: plus(before.calls, now.calls),
    costUsd: plus(before.costUsd, now.costUsd),
  };
}
