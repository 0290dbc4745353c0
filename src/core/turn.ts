import { z } from "zod";
import { Delivery, newDelivery } from "./delivery.ts";
import { Job } from "./job.ts";
import type { JobServiceAnswer, JobServiceFault } from "./job-service.ts";
import { Outcome, outcomeKindOf } from "./outcome.ts";
import type { OutcomeKind, OutcomeReason } from "./outcome.ts";
import { nextPollDelayMs } from "./polling.ts";
import type { PollingPolicy } from "./polling.ts";
import { Request } from "./request.ts";
import { storedObject } from "./stored-object.ts";
import { TurnProgress, ownTurn, progressOf, toldTurn } from "./told-turn.ts";
import type { ToldTurn } from "./told-turn.ts";

/** Where a turn stands. */
export const TurnStage = z.discriminatedUnion("name", [
  /** Kept, no create under way. `waitingSince`: since when the job service takes nothing; null: it has not been asked. */
  storedObject({ name: z.literal("accepted"), waitingSince: z.number().nullable() }),
  /**
   * A create is on its way, or was, and its answer is lost. `isRepeat`: it is being sent again, the answer to an earlier one is lost.
   * `prompt`: as it was sent, where it is not the bare instructions; names in it may be written differently the next time, and under
   * one idempotency key a service takes only the same words again.
   */
  storedObject({
    name: z.literal("submitting"),
    waitingSince: z.number().nullable().default(null),
    isRepeat: z.boolean().default(false),
    prompt: z.string().optional(),
  }),
  /** The job runs. `troubleSince`: since when polls fail. `progress`: absent where the service tells nothing of it. */
  storedObject({
    name: z.literal("watching"),
    since: z.number(),
    troubleSince: z.number().nullable(),
    progress: TurnProgress.optional(),
  }),
  storedObject({ name: z.literal("ended"), outcome: Outcome, at: z.number() }),
]);
export type TurnStage = z.infer<typeof TurnStage>;

/** What somebody did with a button under an outcome. */
export const Press = storedObject({ action: z.enum(["try-again", "keep-watching"]), userId: z.string() });
export type Press = z.infer<typeof Press>;

/** The record of one turn: one prompt given to a job, how it stands, and what was said of it in Slack. */
export const Turn = storedObject({
  version: z.literal(2),
  id: z.string(),
  request: Request,
  stage: TurnStage,
  /** The job as last seen; null until the create was answered. */
  job: Job.nullable(),
  /** Which watch this is: 1, and one more each time someone keeps watching. Each watch ends in exactly one outcome. */
  watch: z.number().int().min(1),
  delivery: Delivery,
  /** By the watch whose outcome carries the button. */
  pressed: z.record(z.string(), Press),
});
export type Turn = z.infer<typeof Turn>;

export function newTurn(request: Request): Turn {
  return {
    version: 2,
    id: request.id,
    request,
    stage: { name: "accepted", waitingSince: null },
    job: null,
    watch: 1,
    delivery: newDelivery(request),
    pressed: {},
  };
}

/** The turn, ended. */
export function endTurn(
  turn: Turn,
  kind: OutcomeKind,
  now: number,
  detail: {
    reason?: OutcomeReason;
    said?: string | undefined;
    job?: Job;
    told?: ToldTurn | undefined;
  } = {},
): Turn {
  const job = detail.job ?? turn.job;
  const outcome: Outcome = {
    kind,
    reason: detail.reason ?? null,
    said: detail.said ?? null,
    job,
    tookMs: Math.max(0, now - turn.request.receivedAt),
    ...(detail.told === undefined ? {} : { told: detail.told }),
  };
  return { ...turn, job, stage: { name: "ended", outcome, at: now } };
}

/** How long a turn's record is kept from now on, milliseconds: `retentionMs` after its end, and never less than its watch lasts. */
export function keepTurnMs(turn: Turn, now: number, policy: PollingPolicy, retentionMs: number): number {
  if (turn.stage.name !== "ended") return policy.deadlineMs + retentionMs;
  return Math.max(1, turn.stage.at + retentionMs - now);
}

/** When this turn stops being tried or watched, epoch milliseconds. */
export function deadlineOf(turn: Turn, policy: PollingPolicy): number {
  const since = turn.stage.name === "watching" ? turn.stage.since : turn.request.receivedAt;
  return since + policy.deadlineMs;
}

/** Services keep idempotency keys for days; after this long a key may be forgotten, and the create would run again. */
const KEY_LASTS_MS = 24 * 60 * 60_000;

/**
 * Before a create: may it be sent? A create that was already on its way is sent again only where the service honors idempotency
 * keys. Returns the turn as it has to be written down first, with the prompt that is to be sent.
 */
export function beforeSubmit(
  turn: Turn,
  at: { now: number; policy: PollingPolicy; honorsKeys: boolean; prompt: string },
): Turn {
  const { now, policy, honorsKeys } = at;
  switch (turn.stage.name) {
    case "ended":
    case "watching":
      return turn;
    case "submitting":
      if (!honorsKeys || now >= Math.min(deadlineOf(turn, policy), turn.request.receivedAt + KEY_LASTS_MS)) {
        return endTurn(turn, "unknown", now, { reason: "create-lost" });
      }
      return { ...turn, stage: { ...turn.stage, isRepeat: true, ...keptPrompt(turn, at.prompt) } };
    case "accepted":
      if (now >= deadlineOf(turn, policy)) {
        return endTurn(turn, "expired", now, { reason: "never-started" });
      }
      return {
        ...turn,
        stage: {
          name: "submitting",
          waitingSince: turn.stage.waitingSince,
          isRepeat: false,
          ...keptPrompt(turn, at.prompt),
        },
      };
  }
}

/** The prompt that a create of this turn was sent with before, or is the instructions; null: it has to be composed. */
export function knownPrompt({ stage, request }: Turn): string | null {
  if (stage.name === "submitting" && stage.prompt !== undefined) return stage.prompt;
  return request.quoted === null ? request.instructions : null;
}

function keptPrompt(turn: Turn, composed: string): { prompt?: string } {
  const prompt = knownPrompt(turn) ?? composed;
  return prompt === turn.request.instructions ? {} : { prompt };
}

/** After a create that was sent: what its answer means. `afterMs`: send it again after that long; null: it is settled. */
export function afterSubmit(
  turn: Turn,
  answer: JobServiceAnswer,
  at: { now: number; attempt: number; random: number; policy: PollingPolicy; honorsKeys: boolean },
): { turn: Turn; afterMs: number | null } {
  const { now } = at;
  if (turn.stage.name !== "submitting") return { turn, afterMs: null };
  if (answer.ok) {
    return { turn: turnAfterAnswer({ ...turn, stage: watchingFrom(now) }, answer, now), afterMs: null };
  }
  const { fault } = answer;
  const { stage } = turn;
  const { isRepeat } = stage;
  const waitingSince = stage.waitingSince ?? now;
  const ended = (kind: OutcomeKind, detail: Parameters<typeof endTurn>[3]) => ({
    turn: endTurn(turn, kind, now, detail),
    afterMs: null,
  });
  const later = (next: TurnStage) => ({
    turn: { ...turn, stage: next },
    afterMs: submitDelayMs(turn, fault, at),
  });
  switch (fault.kind) {
    case "not-created":
      // What is certain of this create says nothing of an earlier one whose answer was lost.
      return later(isRepeat ? { ...stage, waitingSince } : { name: "accepted", waitingSince });
    case "unknown":
      if (!at.honorsKeys) return ended("unknown", { reason: "create-lost" });
      return later({ ...stage, waitingSince, isRepeat: true });
    case "contract":
      return ended("unknown", { reason: "unreadable" });
    case "missing":
      if (isRepeat) return ended("unknown", { reason: "create-lost" });
      return ended("rejected", { reason: "project" });
    case "rejected":
      if (isRepeat) return ended("unknown", { reason: "create-lost" });
      return ended("rejected", { reason: rejectionReason(fault), said: fault.said });
  }
}

function submitDelayMs(
  turn: Turn,
  fault: JobServiceFault,
  at: { now: number; attempt: number; random: number; policy: PollingPolicy },
): number {
  const { now, policy, random } = at;
  const retryAfterMs = fault.retryAfterMs ?? 0;
  const delayMs = nextPollDelayMs({ ageMs: 0, faults: at.attempt, retryAfterMs, policy, random });
  const left = turn.request.receivedAt + policy.deadlineMs - now;
  return Math.max(0, Math.min(delayMs, left));
}

/** The turn, if the create that was about to be sent after `before` certainly was not. */
export function notSubmitted(turn: Turn, before: Turn): Turn {
  const isIntended = turn.stage.name === "submitting" && before.stage.name === "accepted";
  return isIntended ? { ...turn, stage: before.stage } : turn;
}

/** Whether there is a job that can be watched again after this turn's end. */
export function canKeepWatching(turn: Turn): boolean {
  if (turn.stage.name !== "ended" || turn.job === null) return false;
  return ["expired", "missing", "unknown", "rejected"].includes(turn.stage.outcome.kind);
}

/** The turn, watched again from now on. Only where {@link canKeepWatching}. */
export function resumeTurn(turn: Turn, now: number): Turn {
  return { ...turn, watch: turn.watch + 1, stage: watchingFrom(now) };
}

type Watching = Extract<TurnStage, { name: "watching" }>;

function watchingFrom(since: number): Watching {
  return { name: "watching", since, troubleSince: null };
}

/** A watched turn after an answer with its job: ended, or as far as it is. The same object when nothing about it changed. */
export function turnAfterAnswer(turn: Turn, answer: JobServiceAnswer & { ok: true }, now: number): Turn {
  const { stage } = turn;
  if (stage.name !== "watching") return turn;
  const { job } = answer;
  const reported = ownTurn(answer);
  const kind = outcomeKindOf(job, reported);
  if (kind !== null) return endTurn(turn, kind, now, { job, told: toldTurn(reported) });
  const progress = progressOf(reported);
  const isSame =
    stage.troubleSince === null &&
    stage.progress?.isWaiting === progress?.isWaiting &&
    stage.progress?.step === progress?.step;
  if (isSame && turn.job !== null) return turn;
  const { progress: _, ...rest } = stage;
  const next: Watching = { ...rest, troubleSince: null, ...(progress === undefined ? {} : { progress }) };
  return { ...turn, job: turn.job ?? job, stage: next };
}

/** Notes what somebody did with a button of this turn. */
export function pressButton(turn: Turn, watch: number, press: Press): Turn {
  // Who did it first did it.
  if (turn.pressed[watch]?.action === press.action) return turn;
  return { ...turn, pressed: { ...turn.pressed, [watch]: press } };
}

/** Why a request was refused, as far as a status tells. */
export function rejectionReason(fault: JobServiceFault): OutcomeReason {
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
