import { z } from "zod";

const Verdict = z.object({ check: z.string(), problem: z.string().nullable() });
const Count = z.number().nullable();

/** One run of one task. */
export const TaskRun = z.object({
  task: z.string(),
  /** From 1. */
  run: z.int().min(1),
  /** `not-run`: the budget was used up before, or the evaluation was stopped. */
  outcome: z.enum(["pull-request", "no-changes", "failed", "not-run"]),
  /** Why there is no result; null if there is one. */
  reason: z.string().nullable(),
  /** What the checks found; none where there is no result. */
  verdicts: z.array(Verdict),
  /** The agent's last words. */
  words: z.string(),
  seconds: Count,
  calls: Count,
  inputTokens: Count,
  cachedInputTokens: Count,
  outputTokens: Count,
  usd: Count,
  /** Where the change lies, from the report's folder; null if nothing changed. */
  diff: z.string().nullable(),
});
export type TaskRun = z.infer<typeof TaskRun>;

/** With what an evaluation ran: what has to be the same for one to be continued. */
export const RanWith = z.object({
  preset: z.string(),
  model: z.string().nullable(),
  /** SHA-256 of `src/service/runner/agents/brief.md`, its first 12 digits. */
  brief: z.string(),
  /** Each task with a hash of all that it consists of. */
  tasks: z.record(z.string(), z.string()),
  repository: z.string().nullable(),
  runs: z.int().min(1),
  maxUsd: Count,
  maxTokens: Count,
  /** What a single run may use, in the budget's unit. */
  eachAtMost: z.number(),
  timeLimitMinutes: z.int(),
});
export type RanWith = z.infer<typeof RanWith>;

/** The whole evaluation, as `report.json` has it. */
export const Report = z.object({
  version: z.literal(1),
  ranWith: RanWith,
  startedAt: z.string(),
  endedAt: z.string().nullable(),
  /** One sentence for each task: what it tests. */
  tests: z.record(z.string(), z.string()),
  runs: z.array(TaskRun),
});
export type Report = z.infer<typeof Report>;

/** True if there is a result, and no check found anything. */
export function isPassed({ outcome, verdicts }: TaskRun): boolean {
  return (
    (outcome === "pull-request" || outcome === "no-changes") &&
    verdicts.every(({ problem }) => problem === null)
  );
}

/** All tokens that a run used. */
export function tokensOf({ inputTokens, outputTokens }: TaskRun): number {
  return (inputTokens ?? 0) + (outputTokens ?? 0);
}
