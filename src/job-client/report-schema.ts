import { z } from "zod";
import {
  type JobReport,
  ReportedOutcome,
  type ReportedQuestion,
  type ReportedTurn,
} from "../core/job-report.ts";
import { cut } from "../core/text.ts";

const Time = z.iso.datetime();
const Count = z.int().min(0);

/** How many turns a record shows at most: the newest. */
export const MAX_SHOWN_TURNS = 20;
/** What a record shows at most of each text, in UTF-16 units. A client reads no more. */
export const SHOWN_CHARS = { reason: 1000, summary: 4000, line: 300, path: 200 } as const;
export const MAX_PLAN_STEPS = 20;
export const MAX_LEFT_OUT = 20;
export const MAX_QUESTIONS = 20;
/** The most UTF-16 units of an answer in words. */
export const MAX_ANSWER_CHARS = 4000;
export const MAX_CHOICES = 10;

const PlanStatus = z.enum(["pending", "in-progress", "completed"]);
const PullRequestState = z.enum(["open", "closed", "merged"]);
const TurnStatus = z.enum(["waiting", "running", "ended"]);

/** What a turn used, as the wire has it. */
export const WireUsage = z.object({
  inputTokens: Count.nullable(),
  outputTokens: Count.nullable(),
  cachedInputTokens: Count.nullable(),
  calls: Count.nullable(),
  costUsd: z.number().min(0).nullable(),
});
export type WireUsage = z.infer<typeof WireUsage>;

/** A turn's pull request, as the wire has it. */
export const WirePullRequest = z.object({
  url: z.string(),
  number: z.int().min(1),
  title: z.string(),
  state: PullRequestState,
  files: Count.nullable(),
  additions: Count.nullable(),
  deletions: Count.nullable(),
  headRef: z.string(),
  headSha: z.string(),
});
export type WirePullRequest = z.infer<typeof WirePullRequest>;

/** One turn of a job, as the wire has it. Times are ISO 8601, UTC. */
export const WireTurn = z.object({
  number: z.int().min(1),
  status: TurnStatus,
  outcome: ReportedOutcome.nullable(),
  reason: z.string().nullable(),
  summary: z.string().nullable(),
  step: z.string().nullable(),
  plan: z.array(z.object({ text: z.string(), status: PlanStatus })).max(MAX_PLAN_STEPS),
  usage: WireUsage.nullable(),
  pullRequest: WirePullRequest.nullable(),
  branch: z.string().nullable(),
  acceptedAt: Time,
  startedAt: Time.nullable(),
  endedAt: Time.nullable(),
  leftOut: z.array(z.string()),
});
export type WireTurn = z.infer<typeof WireTurn>;

/** A question of the agent's, as the wire has it. */
export const WireQuestion = z.object({
  id: z.string().min(1),
  turn: z.int().min(1),
  text: z.string(),
  choices: z.array(z.object({ id: z.string(), label: z.string() })).max(MAX_CHOICES),
  allowsText: z.boolean(),
  askedAt: Time,
  answeredAt: Time.nullable(),
});
export type WireQuestion = z.infer<typeof WireQuestion>;

function clipped(max: number) {
  return z.string().transform((text) => cut(text, max));
}
const Line = clipped(SHOWN_CHARS.line);
const Millis = Time.transform((text) => Date.parse(text));
/** What cannot be read is as if it were not there: no more depends on it than on its absence. */
const orNull = <T extends z.ZodType>(schema: T) =>
  schema
    .nullish()
    .catch(null)
    .transform((value) => value ?? null);

/** A list without the items that cannot be read. */
function readable<T extends z.ZodType>(item: T, max: number) {
  return z
    .array(z.unknown())
    .catch([])
    .transform((items) =>
      items.flatMap((each): z.output<T>[] => {
        const parsed = item.safeParse(each);
        return parsed.success ? [parsed.data] : [];
      }),
    )
    .transform((items) => items.slice(-max));
}

const ReceivedTurn = z.object({
  number: z.int().min(1),
  status: TurnStatus,
  outcome: orNull(ReportedOutcome),
  reason: orNull(clipped(SHOWN_CHARS.reason)),
  summary: orNull(clipped(SHOWN_CHARS.summary)),
  step: orNull(Line),
  plan: readable(z.object({ text: Line, status: PlanStatus }), MAX_PLAN_STEPS),
  usage: orNull(
    z.object({
      inputTokens: orNull(Count),
      outputTokens: orNull(Count),
      cachedInputTokens: orNull(Count),
      calls: orNull(Count),
      costUsd: orNull(z.number().min(0)),
    }),
  ),
  pullRequest: orNull(
    WirePullRequest.extend({
      title: Line,
      files: orNull(Count),
      additions: orNull(Count),
      deletions: orNull(Count),
      headRef: Line,
      headSha: Line,
    }),
  ),
  branch: orNull(Line),
  acceptedAt: orNull(Millis),
  startedAt: orNull(Millis),
  endedAt: orNull(Millis),
  leftOut: readable(clipped(SHOWN_CHARS.path), MAX_LEFT_OUT + 1),
}) satisfies z.ZodType<ReportedTurn>;

const ReceivedQuestion = z.object({
  id: z.string().min(1).max(SHOWN_CHARS.line),
  turn: z.int().min(1),
  text: clipped(SHOWN_CHARS.reason),
  choices: readable(z.object({ id: z.string().min(1).max(SHOWN_CHARS.line), label: Line }), MAX_CHOICES),
  allowsText: z.boolean().catch(false),
  askedAt: orNull(Millis),
  answeredAt: orNull(Millis),
}) satisfies z.ZodType<ReportedQuestion>;

/** What a record says beyond the contract, as a client reads it. Never fails: what cannot be read is left out. */
export const ReceivedReport = z.object({
  turns: orNull(z.array(z.unknown()).pipe(readable(ReceivedTurn, MAX_SHOWN_TURNS))),
  questions: orNull(z.array(z.unknown()).pipe(readable(ReceivedQuestion, MAX_QUESTIONS))),
}) satisfies z.ZodType<JobReport>;
