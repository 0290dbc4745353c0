import { z } from "zod";
import { Delivery, newDelivery } from "./delivery.ts";
import { KnownJob } from "../known-job.ts";
import type { JobServiceFault } from "../ports/job-service.ts";
import { endingOf, Outcome, prLinkOf } from "./outcome.ts";
import type { OutcomeKind, OutcomeReason } from "./outcome.ts";
import type { PollingPolicy } from "../retry.ts";
import { Question, closeQuestions, isOpen } from "../thread/question.ts";
import { followedUntil, openStateOf, TurnPullRequest } from "./turn-pull-request.ts";
import { Request } from "./request.ts";
import { lenient } from "../../../shared/contract/lenient.ts";
import { storedObject } from "../../../shared/contract/reading.ts";
import { TurnProgress } from "./reported-turn.ts";
import { Authors, Requester } from "../../../shared/contract/request.ts";

/**
 * How long a watched turn's agent wasn't working because it waited in line or for an answer.
 * `since` is when the current pause began (epoch milliseconds), or null if there is none.
 */
export const Pause = storedObject({ totalMs: z.number(), since: z.number().nullable() });
export type Pause = z.infer<typeof Pause>;

/** Starts or ends the pause. Returns the same object if nothing changed. */
export function pauseAfter(pause: Pause | undefined, isAtWork: boolean, now: number): Pause | undefined {
  const since = pause?.since ?? null;
  if (isAtWork === (since === null)) return pause;
  return { ...pause, totalMs: pausedMs(pause, now), since: isAtWork ? null : now };
}

/** Total length of the pause by `now`, milliseconds. */
export function pausedMs(pause: Pause | undefined, now: number): number {
  if (pause === undefined) return 0;
  // The clock may have been set back since.
  return pause.totalMs + (pause.since === null ? 0 : Math.max(0, now - pause.since));
}

/**
 * How the previous turn left the job. Until this time (epoch milliseconds), ignore polls that still
 * show that turn. If `leftAs` is null, its state is unknown, and any end may be the previous
 * turn's.
 */
const Unseen = storedObject({ until: z.number(), leftAs: z.string().nullable() });

/**
 * How long after a message a poll may still show the job's earlier state, if the service doesn't
 * tell turns apart.
 */
export const UNSEEN_MS = 60_000;

export const TurnStage = z.discriminatedUnion("name", [
  /**
   * Stored, and no create is under way. `waitingSince` is since when the job service accepts
   * nothing; null if it hasn't been asked. `limitedUntil` is when the service says its limit ends.
   * Both are epoch milliseconds.
   */
  storedObject({
    name: z.literal("accepted"),
    waitingSince: z.number().nullable(),
    limitedUntil: z.number().optional(),
  }),
  /**
   * A create is being sent, or was and its answer is lost. `isRepeat` is true if it is being sent
   * again after a lost answer. `prompt` is the text that was sent, unless it is just the
   * instructions. It is kept because names in it may be written differently next time, and a
   * service accepts only the same words under one idempotency key.
   */
  storedObject({
    name: z.literal("submitting"),
    waitingSince: z.number().nullable().default(null),
    isRepeat: z.boolean().default(false),
    limitedUntil: z.number().optional(),
    prompt: z.string().optional(),
    /**
     * The idempotency key that it was first sent with, for as long as it is sent again. Absent if
     * that is the turn's id.
     */
    key: z.string().optional(),
    /**
     * The requester as sent, together with the person's words. Absent if neither was sent because
     * the service wasn't known to be of level 1.
     */
    requester: lenient(Requester.loose().optional()),
    /** As sent. Absent if they weren't. */
    authors: lenient(Authors.loose().optional()),
  }),
  /**
   * The job is running. `troubleSince` is since when polls fail. `progress` is absent if the
   * service doesn't report it. `unseen` is there until a poll has seen a follow-up running, for
   * services that don't tell turns apart. `pause` is absent if the agent never paused, as far as we
   * know.
   */
  storedObject({
    name: z.literal("watching"),
    since: z.number(),
    troubleSince: z.number().nullable(),
    progress: TurnProgress.optional(),
    unseen: Unseen.optional(),
    pause: Pause.optional(),
    /**
     * How the job ended when that was first seen while it had a later turn, for services that don't
     * tell turns apart. It was this turn's end if the job goes on after it.
     */
    jobEnd: storedObject({ job: KnownJob, seenAt: z.number() }).optional(),
  }),
  storedObject({ name: z.literal("ended"), outcome: Outcome, at: z.number() }),
]);
export type TurnStage = z.infer<typeof TurnStage>;

/** A press of a button under an outcome. */
export const Press = storedObject({ action: z.enum(["try-again", "keep-watching"]), userId: z.string() });
export type Press = z.infer<typeof Press>;

/**
 * A request to stop the turn. `isTaken` is true once the job service has accepted the cancel; the
 * turn's end is still to come.
 */
const Stop = storedObject({ userId: z.string(), at: z.number(), isTaken: z.boolean().optional() });

/**
 * The turn takes longer than usual, in milliseconds. `shown` is the state that the notice shows;
 * absent if it isn't posted.
 */
const Overdue = storedObject({ afterMs: z.number(), usualMs: z.number(), shown: z.string().optional() });

const NamedFile = storedObject({ id: z.string(), name: z.string() });
/**
 * Files that were sent with a turn, files that its agent can't read, and files that Slack didn't
 * give us.
 */
export const TurnFiles = storedObject({
  sent: z.array(NamedFile),
  unsent: z.array(NamedFile),
  unfetched: z.array(NamedFile).optional(),
});
export type TurnFiles = z.infer<typeof TurnFiles>;

/**
 * The record of one turn: a prompt given to a job, its state, and what was said about it in Slack.
 */
export const Turn = storedObject({
  version: z.literal(2),
  id: z.string(),
  request: Request,
  stage: TurnStage,
  /** Absent if there were no files, or nothing has been sent yet. */
  files: TurnFiles.optional(),
  /** The job as last seen. Null until the create is answered. */
  job: KnownJob.nullable(),
  /** The follow-up that waits until this turn has been sent or has ended. */
  nextId: z.string().optional(),
  /** A follow-up's number at the job service. Absent if the service doesn't report it. */
  number: z.number().int().optional(),
  /** True if this was meant as a follow-up but got a new job because the old one is closed. */
  isStartedAnew: z.boolean().optional(),
  /** True if its thread had a job, and its requester asked for another one. */
  isSeparate: z.boolean().optional(),
  /**
   * Number of this watch. It begins at 1 and grows each time someone keeps watching. Each watch
   * ends in exactly one outcome.
   */
  watch: z.number().int().min(1),
  delivery: Delivery,
  /** The agent's questions, oldest first. */
  questions: z.array(Question).optional(),
  /** Absent if nobody has stopped this watch. */
  stop: Stop.optional(),
  overdue: Overdue.optional(),
  /**
   * The pull request that this turn was the first to leave. Absent if the service doesn't tell how
   * it stands.
   */
  pullRequest: TurnPullRequest.optional(),
  /** The people to mention in the outcome besides the requester. */
  followers: z.array(z.string()).optional(),
  /** Keyed by the watch whose outcome has the button. */
  pressed: z.record(z.string(), Press),
  /** Votes on whether the outcome was helpful, by user id. */
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

/** Ends the turn and closes its questions. */
export function endTurn(
  turn: Turn,
  kind: OutcomeKind,
  now: number,
  detail: Partial<Omit<Outcome, "kind" | "tookMs">> = {},
): Turn {
  const tookMs = Math.max(0, now - turn.request.receivedAt);
  const outcome: Outcome = { kind, reason: null, said: null, job: turn.job, tookMs, ...detail };
  return {
    ...withQuestions(turn, closeQuestions(turn.questions ?? [])),
    job: outcome.job,
    stage: { name: "ended", outcome, at: now },
  };
}

/**
 * How long to keep a turn's record from now on, milliseconds: `retentionMs` after its end and after
 * the last news of its pull request, and at least as long as either is followed.
 */
export function keepTurnMs(turn: Turn, now: number, policy: PollingPolicy, retentionMs: number): number {
  const { stage, pullRequest } = turn;
  if (stage.name !== "ended") {
    return Math.max(policy.deadlineMs, deadlineOf(turn, policy) - now) + retentionMs;
  }
  const changedAt = pullRequest?.changedAt ?? 0;
  const until = pullRequest === undefined ? 0 : (followedUntil(pullRequest) ?? 0);
  return Math.max(1, Math.max(stage.at, changedAt, until) + retentionMs - now);
}

/** True while the turn's pull request may still change and isn't too old. */
export function isFollowing({ pullRequest }: Turn, now: number): boolean {
  return pullRequest !== undefined && now < (followedUntil(pullRequest) ?? 0);
}

/** True if the turn left a pull request that is open, as far as that is known. */
export function hasOpenPullRequest(turn: Turn, now: number): boolean {
  const { pullRequest } = turn;
  return pullRequest !== undefined && openStateOf(pullRequest) !== null && isFollowing(turn, now);
}

/** How long after a link the service may take to say how its pull request stands, milliseconds. */
const FIRST_LOOK_MS = 60 * 60_000;

/** True while the service may not have looked at the pull request that the turn left. */
export function awaitsFirstLook({ stage, pullRequest }: Turn, now: number): boolean {
  return stage.name === "ended" && pullRequest === undefined && now < stage.at + FIRST_LOOK_MS;
}

/** The address of the pull request that an ended turn left, as the service gave it, or null. */
export function turnPrLink({ stage }: Turn): string | null {
  return stage.name === "ended" ? prLinkOf(stage.outcome) : null;
}

/** The deadline for starting or watching this turn, epoch milliseconds. */
export function deadlineOf(turn: Turn, policy: PollingPolicy): number {
  const { stage, request } = turn;
  if (stage.name !== "watching") return request.receivedAt + policy.deadlineMs;
  // While the service holds the turn back, no time is lost.
  return Math.max(stage.since, stage.progress?.held?.until ?? 0) + policy.deadlineMs;
}

/** True if the turn has ended but its job can be watched again. */
export function canKeepWatching(turn: Turn): boolean {
  if (turn.stage.name !== "ended" || turn.job === null) return false;
  return ["expired", "unknown", "rejected", "unwatched"].includes(endingOf(turn.stage.outcome));
}

/** Starts a new watch. Call it only if {@link canKeepWatching}. */
export function resumeTurn(turn: Turn, now: number): Turn {
  const { stop: _, ...rest } = turn;
  return { ...rest, watch: turn.watch + 1, stage: watchingFrom(now) };
}

export type Watching = Extract<TurnStage, { name: "watching" }>;

/** A new watch that begins at `since`. */
export function watchingFrom(since: number): Watching {
  return { name: "watching", since, troubleSince: null };
}

/** The turn with these questions. Returns the same object if there is nothing new. */
export function withQuestions(turn: Turn, questions: readonly Question[]): Turn {
  const isSame = questions === turn.questions || questions.length === 0;
  return isSame ? turn : { ...turn, questions: [...questions] };
}

/**
 * True if an answer to the turn's question still counts: the turn is watched, nobody has stopped
 * it, and the question is open.
 */
export function takesAnswers({ stage, stop }: Turn, question: Question): boolean {
  return stage.name === "watching" && stop === undefined && isOpen(question);
}

/** True if the turn's agent is waiting for a person's answer. */
export function isAsking(turn: Turn): boolean {
  return (turn.questions ?? []).some((question) => takesAnswers(turn, question));
}

export function questionOf({ questions = [] }: Turn, number: number): Question | undefined {
  return questions.find((question) => question.number === number);
}

/** Changes one of the turn's questions. */
export function withQuestion(turn: Turn, number: number, change: Partial<Question>): Turn {
  const questions = (turn.questions ?? []).map((question) =>
    question.number === number ? { ...question, ...change } : question,
  );
  return { ...turn, questions };
}

/** Sums up how the job's record says it ended, or null if it hasn't. */
export function leftAs({ status, prLink }: KnownJob): string | null {
  return status === "active" ? null : `${status} ${prLink ?? ""}`;
}

/** True if the turn is a message to another turn's job. */
export function isFollowUp({ request }: Turn): boolean {
  return request.follows !== undefined;
}

/** True if the turn hasn't reached its job yet, so the follow-ups behind it wait. */
export function isUnsent({ job, stage }: Turn): boolean {
  return job === null && stage.name !== "ended";
}

/** Records that somebody pressed a button of this turn. */
export function pressButton(turn: Turn, watch: number, press: Press): Turn {
  // The first person's press counts.
  if (turn.pressed[watch]?.action === press.action) return turn;
  return { ...turn, pressed: { ...turn.pressed, [watch]: press } };
}

/** Derives the reason for a refusal from its HTTP status. */
export function rejectionReason(fault: JobServiceFault): OutcomeReason {
  return REASONS[fault.status ?? 0] ?? "other";
}

const REASONS: Readonly<Record<number, OutcomeReason>> = {
  400: "prompt",
  401: "key",
  403: "key",
  413: "prompt",
  422: "prompt",
};

/**
 * Records that somebody pressed **Stop**, which closes the turn's questions. Returns the same
 * object if the turn has ended or was already being stopped.
 */
export function stopTurn(turn: Turn, stop: { userId: string; at: number }): Turn {
  if (turn.stage.name === "ended" || turn.stop !== undefined) return turn;
  const closed = withQuestions(turn, closeQuestions(turn.questions ?? []));
  return withoutSending({ ...closed, stop }, stop.at);
}

/** Ends a turn that is to stop if it has certainly not reached the job service. */
export function withoutSending(turn: Turn, now: number): Turn {
  if (turn.stop === undefined || turn.stage.name !== "accepted") return turn;
  return endTurn(turn, "failed", now, { stoppedBy: turn.stop.userId });
}

/** The turn's number at the job service, or null if the service hasn't reported it. */
export function turnNumber(turn: Turn): number | null {
  return isFollowUp(turn) ? (turn.number ?? null) : 1;
}

/** Ends the watch of a turn that is to stop but whose service can't stop it. */
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
 * Groups the turns that one message shows, oldest first. A turn that tries another one again is
 * that one's `latest`.
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
