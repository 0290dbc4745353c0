import { z } from "zod";
import { ProjectCheck } from "../../shared/contract/checks.ts";
import type { JobDiff } from "../../shared/contract/diff.ts";
import { JobQuestion, type QuestionAnswer } from "../../shared/contract/question.ts";
import {
  Claims,
  FailureCause,
  JobTurn,
  ReadContext,
  type TurnKind,
  type TurnOutcome,
  Usage,
} from "../../shared/contract/turn.ts";
import { lenient } from "../../shared/contract/lenient.ts";
import { LeftPullRequest } from "../../shared/contract/pull-request.ts";
import { DocsAgentError } from "../../shared/errors.ts";
import type { ServiceProject } from "../config/config.ts";
import type { Env } from "../config/env.ts";
import type { CodeHostTokens } from "../pulls/code-host/code-host-tokens.ts";
import type { CommitIdentity } from "../pulls/code-host/commit-identities.ts";
import type { Authors, Requester } from "../../shared/contract/request.ts";

/** A question of an agent to a person. Texts are bounded and redacted. */
export const AgentQuestion = z.object({
  text: z.string(),
  choices: lenient(JobQuestion.shape.choices),
  /** True if the person may answer in their own words. */
  allowsText: z.boolean(),
});
export type AgentQuestion = z.infer<typeof AgentQuestion>;

/**
 * A file that came with the prompt, and its path until the turn has ended. A client may have chosen
 * any name for it.
 */
export type TurnAttachment = { name: string; mediaType: string; bytes: number; path: string };

/**
 * What an earlier turn of the same job was asked, and what its agent said about it. For `words` and
 * `authors`, see {@link RunTurnInput}.
 */
export type EarlierTurn = {
  kind: TurnKind;
  prompt: string;
  words: string | null;
  authors: Authors | null;
  summary: string | null;
  /** Null if it was ended before it had a result. */
  outcome: TurnOutcome | null;
};

/** Says how a running turn goes on: only what is new. Texts are bounded and redacted. */
export const RunnerReport = z.object({
  /** For the operator, in order. */
  lines: z.array(z.string()).optional(),
  /** What is being done now, in one line for people. */
  step: z.string().optional(),
  /** The agent's current plan. */
  plan: lenient(JobTurn.shape.plan).optional(),
  /**
   * Everything that the turn has used so far. What was counted takes precedence over the cost that
   * an agent states itself.
   */
  usage: Usage.optional(),
  /** True when the turn's agent is about to start. */
  agentRuns: z.literal(true).optional(),
  /** True once the turn has answered a review or a failed check, by a push or a reply. */
  isRound: z.literal(true).optional(),
  /** Everything that the agent is told. */
  brief: z.string().optional(),
  /** The branch of the remote that the turn's work is on now. */
  branch: z.string().optional(),
  /** The commit that the turn has pushed. */
  pushed: z.string().optional(),
});
export type RunnerReport = z.infer<typeof RunnerReport>;

/** The kinds of notes about a job. */
export const NoteKind = z.enum(["turn", "answers", "closed", "sources"]);
export type NoteKind = z.infer<typeof NoteKind>;

/**
 * What turns of one job note for later attempts and later turns, wherever these run. The service
 * keeps it.
 */
export type JobNotes = {
  /** Resolves to null if there is none. Rejects if that can't be found out. */
  read: (kind: NoteKind) => Promise<string | null>;
  /**
   * Resolves once it is kept. Rejects if it can't be, or if whoever writes has lost the turn to
   * another attempt.
   */
  write: (kind: NoteKind, text: string) => Promise<void>;
};

/**
 * A runner's right to run one attempt of a turn. `token` is null if an attempt that goes on is
 * taken up again after a restart of the service. Then only what is stored of its token is known.
 */
export type TurnLease = {
  id: string;
  token: string | null;
  /** SHA-256 of the token. */
  tokenHash: Buffer;
  /** Called when it lasts until a later time, epoch milliseconds. */
  onRenewed: (untilMs: number) => void;
  /** Resolves to true once the attempt's end is written down, and to false if it can't be now. */
  written: Promise<boolean>;
};

/**
 * What the service lends a runner elsewhere for a piece of work, in place of keys that it doesn't
 * have.
 */
export type Lent = {
  /** Variables that count beside the runner's own. */
  env: Env;
  tokens: Pick<CodeHostTokens, "in" | "forGit" | "of">;
  /** Whose commits these are. */
  identity: (signal: AbortSignal) => Promise<CommitIdentity>;
};

/** An open pull request of another job. */
export type OpenPull = { url: string; number: number; headSha: string };

/** One turn of a job, as the runner gets it. */
export type RunTurnInput = {
  jobId: string;
  /** The turn's number in its job, counted from 1. */
  number: number;
  kind: TurnKind;
  prompt: string;
  /**
   * The part of the prompt that the person typed, which is the only part that may be published.
   * Null if it is empty or unknown.
   */
  words: string | null;
  /** Who asked, or null if that isn't known. */
  requester: Requester | null;
  /** When the turn was accepted, in epoch milliseconds. */
  acceptedAt: number;
  /** The number of the pull request that the job's record links to, or null if there is none. */
  pullRequest: number | null;
  /**
   * When the service saw that a person had closed that pull request without merging it, in epoch
   * milliseconds. Null if it hasn't.
   */
  closedSeenAt: number | null;
  /**
   * The newest 20 open pull requests of other jobs in the same repository, the newest first, as
   * last seen.
   */
  openPulls?: OpenPull[];
  /** Who wrote what the prompt quotes, or null if that isn't known. */
  authors: Authors | null;
  attachments: readonly TurnAttachment[];
  /**
   * The newest of the job's earlier turns, oldest first. The last one comes right before this turn.
   */
  earlierTurns: EarlierTurn[];
  project: ServiceProject;
  /** The usage of earlier attempts of the turn. It counts toward the budget. */
  usedBefore: Usage | null;
  notes: JobNotes;
  lease: TurnLease;
  /** Absent where the runner has all keys itself. */
  lent?: Lent;
  /**
   * Aborts when the service stops and the grace period is over, or when the turn was ended
   * (canceled, or its job archived).
   */
  signal: AbortSignal;
  /** Called when there is something new in the turn. */
  report: (report: RunnerReport) => void;
  /**
   * Asks a person. Resolves to null if nobody answers in time, if too much was asked already, or if
   * aborted. Never rejects.
   */
  ask: (question: AgentQuestion) => Promise<QuestionAnswer | null>;
};

/** What is reported about a turn that didn't fail, besides its result. */
export const TurnQuality = z.object({
  checks: lenient(z.array(ProjectCheck)).default([]),
  claims: Claims.nullable().default(null),
  /** The context repositories that the agent could read. */
  context: lenient(z.array(ReadContext)).default([]),
  /** Other things people should know, one sentence each. */
  notes: z.array(z.string()).default([]),
});
/** What every turn that didn't fail tells. */
const Told = { summary: z.string().nullable(), leftOut: z.array(z.string()), ...TurnQuality.partial().shape };

/** How a turn ended. `leftOut` is what the agent changed and isn't committed. */
export const RunTurnResult = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("no-changes"),
    /**
     * Why nothing came of what the agent did, or wanted to do. Null if its summary is an answer.
     */
    reason: z.string().nullish(),
    ...Told,
    leftOut: Told.leftOut.optional(),
  }),
  z.object({
    kind: z.literal("pull-request"),
    prLink: z.string(),
    pullRequest: lenient(LeftPullRequest).nullish(),
    ...Told,
  }),
  /** The changes are on a branch, because there is no code host with pull requests. */
  z.object({ kind: z.literal("branch"), branch: z.string(), ...Told }),
  /**
   * `reason` is for people. `details` are lines for the operator, bounded and redacted. `isCutOff`
   * is true if its agent's process ended before the turn was over.
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

/**
 * The process that runs turns has died, and with it this turn. `by` is whose code was on its thread
 * when it hung or crashed. Null if that is unknown, or it was killed from outside.
 */
export class RunnerLostError extends DocsAgentError {
  readonly code = "runner_lost";
  readonly by: "this-turn" | "another-turn" | null;

  constructor(by: "this-turn" | "another-turn" | null) {
    super("The runner ended in the middle of the turn.");
    this.by = by;
  }
}

/** The runner was stopped on purpose in the middle of the work, which can run again at once. */
export class RunnerStoppedError extends DocsAgentError {
  readonly code = "runner_stopped";

  constructor() {
    super("The runner was stopped.");
  }
}

/**
 * A job whose change should be read. `head` is the last commit of its newest pull request, or null.
 */
export type DiffInput = {
  project: ServiceProject;
  jobId: string;
  head: string | null;
  notes: JobNotes;
  lent?: Lent;
  signal: AbortSignal;
};

/** The pull request of a job that somebody wants closed, because it changes nothing any more. */
export type CloseInput = {
  project: ServiceProject;
  jobId: string;
  number: number;
  notes: JobNotes;
  lent?: Lent;
  signal: AbortSignal;
};

/**
 * What became of it: `merged`, or closed, perhaps before. It stays open if it has `changed` and
 * would change something again.
 */
export const CloseResult = z.enum(["closed", "merged", "changed", "missing"]);
export type CloseResult = z.infer<typeof CloseResult>;

/** What must be kept. */
export type UpkeepInput = {
  /** All projects in the settings. Everything of other projects is removed. */
  projects: readonly ServiceProject[];
  /** The jobs with an unfinished turn. */
  unfinished: ReadonlySet<string>;
  signal: AbortSignal;
};

/** Whoever runs turns, and does what else needs a project's repository. */
export type Runner = {
  /**
   * Runs a turn from a clean worktree. Safe to run again after a crash at any point. Rejects only
   * with a transient error (worth running again) or if aborted.
   */
  run: (input: RunTurnInput) => Promise<RunTurnResult>;
  /**
   * Reads what a job's branch changes. Resolves to null if nothing is known of it anymore. Rejects
   * as turns do, and with the signal's reason if aborted.
   */
  readDiff: (input: DiffInput) => Promise<JobDiff | null>;
  /** Closes a pull request that changes nothing. Rejects as `readDiff` does. */
  closePull: (input: CloseInput) => Promise<CloseResult>;
  /**
   * Removes what nobody needs anymore, and packs what is needed, a limited amount in each pass.
   * Rejects only if aborted.
   */
  upkeep: (input: UpkeepInput) => Promise<void>;
};

/** What two runs of an agent used together. Counts that neither reports stay null. */
export function sumOf(before: Usage | null, now: Usage | null): Usage | null {
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
