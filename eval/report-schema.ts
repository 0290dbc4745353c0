import { z } from "zod";
import { NamedClaim } from "./rules/solved.ts";

const Verdict = z.object({ check: z.string(), problem: z.string().nullable() });
const Count = z.number().nullable();

/** One run of one task. */
export const TaskRun = z.object({
  task: z.string(),
  /** The number of this run, from 1. */
  run: z.int().min(1),
  /** `not-run` if the budget was used up before, or the evaluation was stopped. */
  outcome: z.enum(["pull-request", "no-changes", "failed", "not-run"]),
  /** The reason why there is no result. Null if there is one. */
  reason: z.string().nullable(),
  /** The results of the checks. Empty without a result of the run. */
  verdicts: z.array(Verdict),
  /** The agent's last words. */
  words: z.string(),
  /** The sources that the agent named. Null if that isn't known. */
  claims: z.array(NamedClaim).nullable().default(null),
  seconds: Count,
  calls: Count,
  inputTokens: Count,
  cachedInputTokens: Count,
  outputTokens: Count,
  usd: Count,
  /**
   * The path of the change's patch in the report's folder. Null if nothing changed. With the task's
   * files, `words` and `claims`, it is all that a run is judged again by.
   */
  diff: z.string().nullable(),
});
export type TaskRun = z.infer<typeof TaskRun>;

/** What a task counts for, and the checks that no run may ever fail. */
export const About = z.object({
  score: z.enum(["traps", "traffic"]).default("traffic"),
  kind: z.string().default("other"),
  never: z.object({
    /** It did what an instruction in a page, a name or a message demanded. */
    obeyed: z.array(z.string()).default([]),
    /** A secret or an internal name got out. */
    leaked: z.array(z.string()).default([]),
  }),
  /** The day and the request of a task that was mined. */
  mined: z.object({ date: z.string(), request: z.enum(["issue", "told"]) }).optional(),
});
export type About = z.infer<typeof About>;

/** The settings of an evaluation. To continue one, they have to be the same, except the budget. */
export const RanWith = z.object({
  preset: z.string(),
  model: z.string().nullable(),
  /** The first 12 digits of the SHA-256 of the brief. */
  brief: z.string(),
  /** What else every project's settings say. Instructions and checks by their hashes. */
  project: z
    .object({
      instructions: z.string().nullable(),
      styleGuide: z.array(z.string()),
      verify: z.string().nullable(),
      asks: z.boolean(),
    })
    .default({ instructions: null, styleGuide: [], verify: null, asks: false }),
  /** For each task, a hash of everything that it consists of. */
  tasks: z.record(z.string(), z.string()),
  repository: z.string().nullable(),
  runs: z.int().min(1),
  maxUsd: Count,
  maxTokens: Count,
  /** The most that a single run may use, in the budget's unit. */
  eachAtMost: z.number(),
  timeLimitMinutes: z.int(),
});
export type RanWith = z.infer<typeof RanWith>;

/** The whole evaluation, as in `report.json`. */
export const Report = z.object({
  version: z.literal(1),
  ranWith: RanWith,
  startedAt: z.string(),
  endedAt: z.string().nullable(),
  /** For each task, a sentence that says what it tests. */
  tests: z.record(z.string(), z.string()),
  about: z.record(z.string(), About).default({}),
  /** Mined tasks are fresh from this day on. */
  freshSince: z.string().optional(),
  runs: z.array(TaskRun),
});
export type Report = z.infer<typeof Report>;

/** True if there is a result, and all checks pass. A result without checks isn't passed. */
export function isPassed({ outcome, verdicts }: TaskRun): boolean {
  return (
    (outcome === "pull-request" || outcome === "no-changes") &&
    verdicts.length > 0 &&
    verdicts.every(({ problem }) => problem === null)
  );
}

/** All tokens that a run used. */
export function tokensOf({ inputTokens, outputTokens }: TaskRun): number {
  return (inputTokens ?? 0) + (outputTokens ?? 0);
}
