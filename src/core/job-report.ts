import { z } from "zod";

/**
 * What a job service may offer beyond the contract. `idempotency-key`: it answers a repeated request with the same `Idempotency-Key` without
 * running it again.
 */
export const Capability = z.enum([
  "idempotency-key",
  "turns",
  "list",
  "cancel",
  "archive",
  "questions",
  "attachments",
  "requester",
]);
export type Capability = z.infer<typeof Capability>;

/** How a turn ended, in the job service's words. `branch`: the changes are on a branch, and there is no code host to ask. */
export const ReportedOutcome = z.enum([
  "pull-request",
  "branch",
  "no-changes",
  "failed",
  "cancelled",
  "archived",
]);
export type ReportedOutcome = z.infer<typeof ReportedOutcome>;

/** Why a turn failed, where whoever asked can do something about it. */
export const FailureCause = z.enum(["time-limit", "budget"]);
export type FailureCause = z.infer<typeof FailureCause>;

/** One step of the agent's plan. */
export type PlanStep = { text: string; status: "pending" | "in-progress" | "completed" };

/**
 * What the models used, all calls of the turn together. The counts are null where only the agent's own word for its cost is known,
 * `costUsd` where no price is.
 */
export type ReportedUsage = {
  inputTokens: number | null;
  outputTokens: number | null;
  /** Those of `inputTokens` that came from a cache. */
  cachedInputTokens: number | null;
  calls: number | null;
  costUsd: number | null;
};

/** A pull request when the turn left it. What the code host did not tell is null. */
export type ReportedPullRequest = {
  url: string;
  number: number;
  title: string;
  state: "open" | "closed" | "merged";
  files: number | null;
  additions: number | null;
  deletions: number | null;
  headRef: string;
  headSha: string;
};

/** A turn as the job service tells it: untrusted text, bounded. Times are epoch milliseconds; what is not known is null. */
export type ReportedTurn = {
  /** 1 is the create, the others are messages, in order. */
  number: number;
  status: "waiting" | "running" | "ended";
  outcome: ReportedOutcome | null;
  /** Why the turn ended like this, or why its last attempt broke off. */
  reason: string | null;
  /** Absent: another one, or it is not told. */
  cause?: FailureCause | undefined;
  /** The agent's own last words. */
  summary: string | null;
  /** What the agent did last. */
  step: string | null;
  plan: PlanStep[];
  usage: ReportedUsage | null;
  pullRequest: ReportedPullRequest | null;
  /** Where the changes are when there is no code host. */
  branch: string | null;
  acceptedAt: number | null;
  startedAt: number | null;
  endedAt: number | null;
  /** Files that the agent changed and that are not this project's documentation. */
  leftOut: string[];
};

/** Something that the agent asks a person, open until it is answered or its turn ends. */
export type ReportedQuestion = {
  id: string;
  /** The number of the turn that asks. */
  turn: number;
  text: string;
  choices: { id: string; label: string }[];
  /** Whether words of one's own are an answer. */
  allowsText: boolean;
  askedAt: number | null;
  answeredAt: number | null;
};

/** What a job service tells of a job beyond the contract. Null: it does not say. */
export type JobReport = {
  /** Oldest first; of a long job only the newest. After a create or a message, the last one is the turn that it began. */
  turns: ReportedTurn[] | null;
  /** Those of turns that have not ended. */
  questions: ReportedQuestion[] | null;
};
