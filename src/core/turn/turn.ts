import { z } from "zod";
import { Delivery, newDelivery } from "./delivery.ts";
import { Job, Requester, type JobServiceAnswer, type JobServiceFault } from "../ports/job-service.ts";
import { Outcome, outcomeKindOf, type OutcomeKind, type OutcomeReason } from "./outcome.ts";
import type { PollingPolicy } from "../job/retry.ts";
import { Question, closeQuestions, isOpen, questionsAfter, toldQuestions } from "../job/question.ts";
import { Request } from "./request.ts";
import { storedObject } from "../ports/stored-object.ts";
import { TurnProgress, isBefore, isSamePlan, ownTurn, progressOf, toldTurn } from "../job/told-turn.ts";
import type { ToldTurn } from "../job/told-turn.ts";

/**
 * How long a watched turn's agent was not at work, as it waited for its turn or for an answer;
 * epoch milliseconds. `since`: it isn't now.
 */
export const Pause = storedObject({ totalMs: z.number(), since: z.number().nullable() });
export type Pause = z.infer<typeof Pause>;

/**
 * The pause of a turn whose agent is seen at work, or not. The same object when nothing changed.
 */
export function pauseAfter(pause: Pause | undefined, isAtWork: boolean, now: number): Pause | undefined {
  const since = pause?.since ?? null;
  if (isAtWork === (since === null)) return pause;
  return { ...pause, totalMs: pausedMs(pause, now), since: isAtWork ? null : now };
}

/** How long it was not at work by then, milliseconds. */
export function pausedMs(pause: Pause | undefined, now: number): number {
  if (pause === undefined) return 0;
  // The clock may have been set back since.
  return pause.totalMs + (pause.since === null ? 0 : Math.max(0, now - pause.since));
}

/**
 * How the job was left by the turn before a follow-up: a poll that still shows it says nothing of
 * the follow-up until then, epoch milliseconds. Null: that isn't known, and any end may be that of
 * the turn before.
 */
const Unseen = storedObject({ until: z.number(), leftAs: z.string().nullable() });

/**
 * For so long after a message a poll may still show how its job was before, where the service
 * doesn't tell turns apart.
 */
export const UNSEEN_MS = 60_000;

/** Where a turn stands. */
export const TurnStage = z.discriminatedUnion("name", [
  /**
   * Kept, no create under way. `waitingSince`: since when the job service takes nothing; null: it
   * has not been asked. `limitedUntil`: its limit is reached, until then as it says; epoch
   * milliseconds.
   */
  storedObject({
    name: z.literal("accepted"),
    waitingSince: z.number().nullable(),
    limitedUntil: z.number().optional(),
  }),
  /**
   * A create is on its way, or was, and its answer is lost. `isRepeat`: it is being sent again, the
   * answer to an earlier one is lost. `prompt`: as it was sent, where it is not the bare
   * instructions; names in it may be written differently the next time, and under one idempotency
   * key a service takes only the same words again.
   */
  storedObject({
    name: z.literal("submitting"),
    waitingSince: z.number().nullable().default(null),
    isRepeat: z.boolean().default(false),
    limitedUntil: z.number().optional(),
    prompt: z.string().optional(),
    /**
     * As it was sent, and the person's words with it. Absent: neither was, because the service
     * hadn't announced that it takes them.
     */
    requester: Requester.optional(),
  }),
  /**
   * The job runs. `troubleSince`: since when polls fail. `progress`: absent where the service tells
   * nothing of it. `unseen`: no poll has seen a follow-up at work, and the service doesn't tell
   * turns apart. `pause`: absent where its agent was at work all the time, as far as is known.
   */
  storedObject({
    name: z.literal("watching"),
    since: z.number(),
    troubleSince: z.number().nullable(),
    progress: TurnProgress.optional(),
    unseen: Unseen.optional(),
    pause: Pause.optional(),
  }),
  storedObject({ name: z.literal("ended"), outcome: Outcome, at: z.number() }),
]);
export type TurnStage = z.infer<typeof TurnStage>;

/** What somebody did with a button under an outcome. */
export const Press = storedObject({ action: z.enum(["try-again", "keep-watching"]), userId: z.string() });
export type Press = z.infer<typeof Press>;

/**
 * Somebody wants the turn to stop. `isTaken`: the job service has taken the cancel, and the turn's
 * end is still to come.
 */
const Stop = storedObject({ userId: z.string(), at: z.number(), isTaken: z.boolean().optional() });

/**
 * It takes longer than usual, milliseconds. `shown`: the state that the notice shows; absent: it
 * isn't posted.
 */
const Overdue = storedObject({ afterMs: z.number(), usualMs: z.number(), shown: z.string().optional() });

const NamedFile = storedObject({ id: z.string(), name: z.string() });
/** Which files went along with a turn, and which could not. */
export const TurnFiles = storedObject({ sent: z.array(NamedFile), unsent: z.array(NamedFile) });
export type TurnFiles = z.infer<typeof TurnFiles>;

/**
 * The record of one turn: one prompt given to a job, how it stands, and what was said of it in
 * Slack.
 */
export const Turn = storedObject({
  version: z.literal(2),
  id: z.string(),
  request: Request,
  stage: TurnStage,
  /** Absent: there were none, or it has not been sent yet. */
  files: TurnFiles.optional(),
  /** The job as last seen; null until the create was answered. */
  job: Job.nullable(),
  /**
   * The follow-up that is sent once this turn has been sent, or has ended. Absent: none waits for
   * it.
   */
  nextId: z.string().optional(),
  /** A follow-up's number at the job service; absent where that isn't told. */
  number: z.number().int().optional(),
  /** It was meant as a follow-up, but that job is closed: it got one of its own. */
  isStartedAnew: z.boolean().optional(),
  /**
   * Which watch this is: 1, and one more each time someone keeps watching. Each watch ends in
   * exactly one outcome.
   */
  watch: z.number().int().min(1),
  delivery: Delivery,
  /** What its agent has asked, the oldest first. Absent: nothing. */
  questions: z.array(Question).optional(),
  /** Absent: nobody has stopped this watch of it. */
  stop: Stop.optional(),
  /** Absent: it was not seen to take longer than usual. */
  overdue: Overdue.optional(),
  /** Who besides the requester wants to be mentioned in its outcome. Absent: nobody. */
  followers: z.array(z.string()).optional(),
  /** By the watch whose outcome carries the button. */
  pressed: z.record(z.string(), Press),
  /** Who found the outcome helpful and who didn't, by user id. Absent: nobody has said. */
  votes: z.record(z.string(), z.enum(["yes", "no"])).optional(),
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

/** The turn, ended, and its questions with it. */
export function endTurn(
  turn: Turn,
  kind: OutcomeKind,
  now: number,
  detail: {
    reason?: OutcomeReason;
    said?: string | undefined;
    job?: Job;
    told?: ToldTurn | undefined;
    stoppedBy?: string | undefined;
    isUnsure?: boolean;
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
    ...(detail.stoppedBy === undefined ? {} : { stoppedBy: detail.stoppedBy }),
    ...(detail.isUnsure === true ? { isUnsure: true } : {}),
  };
  return {
    ...withQuestions(turn, closeQuestions(turn.questions ?? [])),
    job,
    stage: { name: "ended", outcome, at: now },
  };
}

/**
 * How long a turn's record is kept from now on, milliseconds: `retentionMs` after its end, and
 * never less than its watch lasts.
 */
export function keepTurnMs(turn: Turn, now: number, policy: PollingPolicy, retentionMs: number): number {
  if (turn.stage.name !== "ended") return policy.deadlineMs + retentionMs;
  return Math.max(1, turn.stage.at + retentionMs - now);
}

/** When this turn stops being tried or watched, epoch milliseconds. */
export function deadlineOf(turn: Turn, policy: PollingPolicy): number {
  const since = turn.stage.name === "watching" ? turn.stage.since : turn.request.receivedAt;
  return since + policy.deadlineMs;
}

/** Whether there is a job that can be watched again after this turn's end. */
export function canKeepWatching(turn: Turn): boolean {
  if (turn.stage.name !== "ended" || turn.job === null) return false;
  return ["expired", "unknown", "rejected"].includes(turn.stage.outcome.kind);
}

/** The turn, watched again from now on. Only where {@link canKeepWatching}. */
export function resumeTurn(turn: Turn, now: number): Turn {
  const { stop: _, ...rest } = turn;
  return { ...rest, watch: turn.watch + 1, stage: watchingFrom(now) };
}

type Watching = Extract<TurnStage, { name: "watching" }>;

/** The stage of a turn that is watched from then on. */
export function watchingFrom(since: number): Watching {
  return { name: "watching", since, troubleSince: null };
}

/**
 * A watched turn after an answer with its job: ended, or as far as it is. The same object when
 * nothing about it changed.
 */
export function turnAfterAnswer(turn: Turn, answer: JobServiceAnswer & { ok: true }, now: number): Turn {
  const { stage } = turn;
  if (stage.name !== "watching") return turn;
  const { job } = answer;
  const number = isFollowUp(turn) ? (turn.number ?? null) : 1;
  const reported = ownTurn(answer, number);
  const isOfTurnBefore =
    job.status !== "archived" &&
    (isBefore(answer, number) || (reported === null && mayBeTurnBefore(stage, job, now)));
  const kind = isOfTurnBefore ? null : outcomeKindOf(job, reported);
  if (kind !== null) {
    const told = toldTurn(reported);
    const isUnsure = reported === null && stage.unseen !== undefined && stage.unseen.leftAs === leftAs(job);
    return endTurn(turn, kind, now, { job, told, stoppedBy: stopperOf(turn, kind, told), isUnsure });
  }
  const asked = isOfTurnBefore ? null : toldQuestions(answer, number);
  const told = asked === null ? turn : withQuestions(turn, questionsAfter(turn.questions ?? [], asked));
  const progress = progressOf(reported, asked?.some(({ answeredAt }) => answeredAt === null) === true);
  const pause = pauseAfter(stage.pause, progress?.isWaiting !== true && !isAsking(told), now);
  const isSeen = stage.unseen !== undefined && job.status === "active";
  const isSame =
    !isSeen &&
    stage.troubleSince === null &&
    stage.progress?.isWaiting === progress?.isWaiting &&
    stage.progress?.step === progress?.step &&
    isSamePlan(stage.progress?.plan, progress?.plan) &&
    stage.pause === pause &&
    told === turn;
  if (isSame && turn.job !== null) return turn;
  const { progress: _, unseen, ...rest } = stage;
  const next: Watching = {
    ...rest,
    troubleSince: null,
    ...(progress === undefined ? {} : { progress }),
    ...(unseen === undefined || isSeen ? {} : { unseen }),
    ...(pause === undefined ? {} : { pause }),
  };
  return { ...told, job: turn.job ?? job, stage: next };
}

function withQuestions(turn: Turn, questions: readonly Question[]): Turn {
  const isSame = questions === turn.questions || questions.length === 0;
  return isSame ? turn : { ...turn, questions: [...questions] };
}

/** Whether a watched turn's agent waits for a person's answer. */
export function isAsking({ stage, questions = [] }: Turn): boolean {
  return stage.name === "watching" && questions.some(isOpen);
}

/** The turn's question of that number. */
export function questionOf({ questions = [] }: Turn, number: number): Question | undefined {
  return questions.find((question) => question.number === number);
}

/** The turn with one of its questions changed. */
export function withQuestion(turn: Turn, changed: Question): Turn {
  const questions = (turn.questions ?? []).map((question) =>
    question.number === changed.number ? changed : question,
  );
  return { ...turn, questions };
}

/**
 * Who stopped a turn that ended like this: by the service's word or, if it tells nothing of turns,
 * because it took the cancel.
 */
function stopperOf({ stop }: Turn, kind: OutcomeKind, told: ToldTurn | undefined): string | undefined {
  const isStopped = told === undefined ? stop?.isTaken === true : told.outcome === "cancelled";
  return isStopped && kind === "failed" ? stop?.userId : undefined;
}

function mayBeTurnBefore({ unseen }: Watching, job: Job, now: number): boolean {
  if (unseen === undefined || now >= unseen.until || job.status === "active") return false;
  return unseen.leftAs === null || unseen.leftAs === leftAs(job);
}

/** How a job was left: what its record says of its end. Null: it has not ended. */
export function leftAs({ status, prLink }: Job): string | null {
  return status === "active" ? null : `${status} ${prLink ?? ""}`;
}

/** Whether the turn is a message to the job of another turn. */
export function isFollowUp({ request }: Turn): boolean {
  return request.follows !== undefined;
}

/** Whether the turn still has to get to its job: the follow-ups behind it wait. */
export function isUnsent({ job, stage }: Turn): boolean {
  return job === null && stage.name !== "ended";
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

/**
 * The turn after somebody has pressed **Stop**. The same object where it has ended, or somebody was
 * first.
 */
export function stopTurn(turn: Turn, stop: { userId: string; at: number }): Turn {
  if (turn.stage.name === "ended" || turn.stop !== undefined) return turn;
  return withoutSending({ ...turn, stop }, stop.at);
}

/** A turn that is to stop ends at once while nothing of it can be at the job service. */
export function withoutSending(turn: Turn, now: number): Turn {
  if (turn.stop === undefined || turn.stage.name !== "accepted") return turn;
  return endTurn(turn, "failed", now, { stoppedBy: turn.stop.userId });
}

/** The number by which a turn is canceled; null: the service has not told it. */
export function cancelNumber(turn: Turn): number | null {
  return isFollowUp(turn) ? (turn.number ?? null) : 1;
}

/** After the service has taken the cancel: ended, or its end comes with a poll. */
export function turnAfterCancel(turn: Turn, answer: JobServiceAnswer & { ok: true }, now: number): Turn {
  if (turn.stage.name !== "watching" || turn.stop === undefined) return turn;
  return turnAfterAnswer({ ...turn, stop: { ...turn.stop, isTaken: true } }, answer, now);
}

/** The turn, no longer watched: it is to stop, and its service can't stop it. */
export function unwatchTurn(turn: Turn, now: number): Turn {
  if (turn.stage.name !== "watching" || turn.stop === undefined) return turn;
  return endTurn(turn, "expired", now, { reason: "deadline", stoppedBy: turn.stop.userId });
}

/** True if somebody has asked for the same again since. */
export function isTriedAgain({ pressed, watch }: Turn): boolean {
  return pressed[watch]?.action === "try-again";
}

type Tried = { turn: Turn; latest: Turn };

/**
 * The turns that one message shows, oldest first, without those that try another of them again;
 * `latest` is the newest try of each.
 */
export function withLatestTries([first, ...others]: readonly [Turn, ...Turn[]]): [Tried, ...Tried[]] {
  const shown: [Tried, ...Tried[]] = [{ turn: first, latest: first }];
  const byId = new Map([[first.id, shown[0]]]);
  for (const turn of others) {
    const before = byId.get(turn.request.retries?.turnId ?? "");
    const entry = before ?? { turn, latest: turn };
    entry.latest = turn;
    if (before === undefined) shown.push(entry);
    byId.set(turn.id, entry);
  }
  return shown;
}
