import { z } from "zod";
import { Job } from "./job.ts";
import type { JobServiceAnswer, JobServiceFault } from "./job-service.ts";
import { Outcome, outcomeKindOf } from "./outcome.ts";
import type { OutcomeKind, OutcomeReason } from "./outcome.ts";
import { nextPollDelayMs } from "./polling.ts";
import type { PollingPolicy } from "./polling.ts";
import { Request } from "./request.ts";

/** Where a turn stands. */
export const TurnStage = z.discriminatedUnion("name", [
  /** Kept, no create under way. `waitingSince`: since when the job service takes nothing; null: it has not been asked. */
  z.object({ name: z.literal("accepted"), waitingSince: z.number().nullable() }),
  /** A create is on its way. Read back after a crash, this means that its answer was lost. */
  z.object({ name: z.literal("submitting") }),
  /** The job runs. `troubleSince`: since when polls fail. */
  z.object({ name: z.literal("watching"), since: z.number(), troubleSince: z.number().nullable() }),
  z.object({ name: z.literal("ended"), outcome: Outcome, at: z.number() }),
]);
export type TurnStage = z.infer<typeof TurnStage>;

/** The record of one turn: one prompt given to a job. Written only by the chain of tasks `open`, `submit`, `poll`, `resume`. */
export const Turn = z.object({
  version: z.literal(1),
  id: z.string(),
  request: Request,
  /** The thread it was opened in. */
  thread: z.object({ channelId: z.string(), ts: z.string() }),
  stage: TurnStage,
  /** The job as last seen; null until the create was answered. */
  job: Job.nullable(),
  /** Which watch this is: 1, and one more each time someone keeps watching. Each watch ends in exactly one outcome. */
  watch: z.number().int().min(1),
});
export type Turn = z.infer<typeof Turn>;

/** What the polling of one watch remembers from poll to poll. */
export const PollState = z.object({
  /** Faults in a row. */
  faults: z.number().int(),
  /** Answers of the same kind in a row that would end the turn if they are no accident. */
  strikes: z
    .object({ kind: z.enum(["missing", "rejected", "contract"]), count: z.number().int() })
    .nullable(),
});
export type PollState = z.infer<typeof PollState>;

export const FRESH_POLL_STATE: PollState = { faults: 0, strikes: null };

/** How many polls in a row must say "no such job", "not allowed" or nonsense before the turn ends by it: a deploy or a key
 * rotation at the job service lasts a moment, a wrong outcome for ever. */
const STRIKES_THAT_END = 3;
/** How many polls in a row must fail before the thread says so. */
const FAULTS_THAT_SHOW = 3;

export function newTurn(request: Request, thread: Turn["thread"]): Turn {
  return {
    version: 1,
    id: request.id,
    request,
    thread,
    stage: { name: "accepted", waitingSince: null },
    job: null,
    watch: 1,
  };
}

/** The turn, ended. */
export function endTurn(
  turn: Turn,
  kind: OutcomeKind,
  now: number,
  detail: { reason?: OutcomeReason; said?: string | undefined; job?: Job } = {},
): Turn {
  const job = detail.job ?? turn.job;
  const outcome: Outcome = {
    kind,
    reason: detail.reason ?? null,
    said: detail.said ?? null,
    job,
    tookMs: Math.max(0, now - turn.request.receivedAt),
  };
  return { ...turn, job, stage: { name: "ended", outcome, at: now } };
}

/** When this turn stops being tried or watched, epoch milliseconds. */
export function deadlineOf(turn: Turn, policy: PollingPolicy): number {
  const since = turn.stage.name === "watching" ? turn.stage.since : turn.request.receivedAt;
  return since + policy.deadlineMs;
}

export type NextSubmit =
  | { kind: "create"; turn: Turn }
  | { kind: "ended"; turn: Turn }
  | { kind: "watching"; turn: Turn };

/** Before a create: may it be sent at all? A create that was already on its way is never repeated. */
export function beforeSubmit(turn: Turn, now: number, policy: PollingPolicy): NextSubmit {
  switch (turn.stage.name) {
    case "ended":
      return { kind: "ended", turn };
    case "watching":
      return { kind: "watching", turn };
    case "submitting":
      return { kind: "ended", turn: endTurn(turn, "unknown", now, { reason: "create-lost" }) };
    case "accepted":
      if (now >= deadlineOf(turn, policy)) {
        return { kind: "ended", turn: endTurn(turn, "expired", now, { reason: "never-started" }) };
      }
      return { kind: "create", turn: { ...turn, stage: { name: "submitting" } } };
  }
}

export type AfterSubmit =
  | { kind: "watching"; turn: Turn }
  | { kind: "ended"; turn: Turn }
  | { kind: "later"; turn: Turn; afterMs: number };

/** After a create: what its answer means. `turn` is as it was before the create, `attempt` counts creates that were not taken. */
export function afterSubmit(
  turn: Turn,
  answer: JobServiceAnswer,
  at: { now: number; attempt: number; random: number; policy: PollingPolicy },
): AfterSubmit {
  const { now, policy } = at;
  if (answer.ok) {
    const kind = outcomeKindOf(answer.job);
    if (kind !== null) return { kind: "ended", turn: endTurn(turn, kind, now, { job: answer.job }) };
    return {
      kind: "watching",
      turn: { ...turn, job: answer.job, stage: { name: "watching", since: now, troubleSince: null } },
    };
  }
  const { fault } = answer;
  switch (fault.kind) {
    case "not-created": {
      const afterMs = nextPollDelayMs({
        ageMs: 0,
        faults: at.attempt,
        retryAfterMs: fault.retryAfterMs ?? 0,
        policy,
        random: at.random,
      });
      const waitingSince =
        turn.stage.name === "accepted" && turn.stage.waitingSince !== null ? turn.stage.waitingSince : now;
      const left = turn.request.receivedAt + policy.deadlineMs - now;
      return {
        kind: "later",
        turn: { ...turn, stage: { name: "accepted", waitingSince } },
        afterMs: Math.max(0, Math.min(afterMs, left)),
      };
    }
    case "unknown":
      return { kind: "ended", turn: endTurn(turn, "unknown", now, { reason: "create-lost" }) };
    case "contract":
      return { kind: "ended", turn: endTurn(turn, "unknown", now, { reason: "unreadable" }) };
    case "missing":
      return { kind: "ended", turn: endTurn(turn, "rejected", now, { reason: "project" }) };
    case "rejected":
      return {
        kind: "ended",
        turn: endTurn(turn, "rejected", now, { reason: rejectionReason(fault), said: fault.said }),
      };
  }
}

export type AfterPoll =
  | { kind: "ended"; turn: Turn }
  | { kind: "again"; turn: Turn; dueAt: number; state: PollState };

/** Before a poll: is the deadline over? No poll is sent after it. */
export function beforePoll(turn: Turn, now: number, policy: PollingPolicy): Turn | "poll" {
  if (now < deadlineOf(turn, policy)) return "poll";
  return endTurn(turn, "expired", now, { reason: "deadline" });
}

/** After a poll: end the turn, or poll again and when. Returns the same `turn` object when nothing about it changed. */
export function afterPoll(
  turn: Turn,
  state: PollState,
  answer: JobServiceAnswer,
  at: { now: number; random: number; policy: PollingPolicy },
): AfterPoll {
  const { now, policy, random } = at;
  const since = turn.stage.name === "watching" ? turn.stage.since : now;
  const again = (next: Turn, nextState: PollState, retryAfterMs: number): AfterPoll => {
    const delay = nextPollDelayMs({
      ageMs: now - since,
      faults: nextState.faults,
      retryAfterMs,
      policy,
      random,
    });
    return {
      kind: "again",
      turn: next,
      state: nextState,
      dueAt: Math.min(now + delay, Math.max(now, since + policy.deadlineMs)),
    };
  };

  if (answer.ok) {
    const kind = outcomeKindOf(answer.job);
    if (kind !== null) return { kind: "ended", turn: endTurn(turn, kind, now, { job: answer.job }) };
    return again(withTrouble(turn, null), FRESH_POLL_STATE, 0);
  }

  const { fault } = answer;
  const faults = state.faults + 1;
  const strikes = strike(state, fault);
  if (strikes !== null && strikes.count >= STRIKES_THAT_END) {
    switch (strikes.kind) {
      case "missing":
        return { kind: "ended", turn: endTurn(turn, "missing", now) };
      case "rejected":
        return {
          kind: "ended",
          turn: endTurn(turn, "rejected", now, { reason: rejectionReason(fault), said: fault.said }),
        };
      case "contract":
        return { kind: "ended", turn: endTurn(turn, "unknown", now, { reason: "unreadable" }) };
    }
  }
  const troubled = faults >= FAULTS_THAT_SHOW ? withTrouble(turn, now) : turn;
  return again(troubled, { faults, strikes }, fault.retryAfterMs ?? 0);
}

/** The turn, watched again from now on after its last watch ended; null when it cannot be (not ended, or no job). */
export function resumeTurn(turn: Turn, watch: number, now: number): Turn | null {
  if (turn.stage.name !== "ended" || turn.job === null || watch !== turn.watch + 1) return null;
  return { ...turn, watch, stage: { name: "watching", since: now, troubleSince: null } };
}

function strike(state: PollState, fault: JobServiceFault): PollState["strikes"] {
  if (fault.kind !== "missing" && fault.kind !== "rejected" && fault.kind !== "contract") return null;
  const before = state.strikes?.kind === fault.kind ? state.strikes.count : 0;
  return { kind: fault.kind, count: before + 1 };
}

function withTrouble(turn: Turn, since: number | null): Turn {
  if (turn.stage.name !== "watching") return turn;
  if ((turn.stage.troubleSince === null) === (since === null)) return turn;
  return { ...turn, stage: { ...turn.stage, troubleSince: since } };
}

function rejectionReason(fault: JobServiceFault): OutcomeReason {
  switch (fault.status) {
    case 401:
    case 403:
      return "key";
    case 400:
    case 413:
    case 422:
      return "prompt";
    default:
      return "other";
  }
}
