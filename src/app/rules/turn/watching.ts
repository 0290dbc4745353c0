import { z } from "zod";
import type { JobServiceAnswer, JobServiceFault, JobServiceSuccess } from "../ports/job-service.ts";
import { storedObject } from "../../../shared/contract/reading.ts";
import type { FeedRecord } from "../records.ts";
import { FOLLOWED_MS } from "../../../shared/contract/pull-request.ts";
import { overdueAt, type Usual } from "./overdue.ts";
import { deadlineOf, endTurn, isFollowUp, leftAs, rejectionReason, type Turn, UNSEEN_MS } from "./turn.ts";
import { turnAfterAnswer } from "./turn-after-answer.ts";
import { projectKey, type ProjectRef } from "../project.ts";
import { nextPollDelayMs, type PollingPolicy } from "../retry.ts";
import type { Append } from "../../../shared/store/series.ts";

/** What is remembered between the polls of one job. */
export const PollState = storedObject({
  /** Faults in a row. */
  faults: z.number().int(),
  /**
   * Consecutive answers of one kind that will end the turn if they keep coming. `since` is the time
   * of the first, epoch milliseconds.
   */
  strikes: storedObject({
    kind: z.enum(["missing", "rejected", "contract"]),
    count: z.number().int(),
    since: z.number().default(0),
  }).nullable(),
  /** True if a turn was past its deadline at the last poll. */
  isLate: z.boolean().optional(),
});
export type PollState = z.infer<typeof PollState>;

export const FRESH_POLL_STATE: PollState = { faults: 0, strikes: null };

/**
 * A turn ends by answers that say "no such job", "not allowed" or nonsense only after this many in
 * a row, over this time. A deploy or a key rotation at the job service takes minutes, while an
 * outcome is permanent.
 */
const STRIKES_THAT_END = 3;
const STRIKES_LAST_MS = 3 * 60_000;
/** How often a job is polled while its service tells what changes, in case it misses one. */
const POLL_BY_FEED_MS = 10 * 60_000;
/** How many polls in a row must fail before the thread says so. */
const FAULTS_THAT_SHOW = 3;

/** True if the turn is past its deadline. */
export function isLate(turn: Turn, now: number, policy: PollingPolicy): boolean {
  return turn.stage.name === "watching" && now >= deadlineOf(turn, policy);
}

/** Ends the turn if it is past its deadline. */
export function expireTurn(turn: Turn, now: number, policy: PollingPolicy): Turn {
  if (!isLate(turn, now, policy)) return turn;
  return endTurn(turn, "expired", now, { reason: "deadline" });
}

/** True if answers of one kind have kept coming for so long that they are believed. */
export function isOut({ strikes }: PollState, now: number): boolean {
  return strikes !== null && strikes.count >= STRIKES_THAT_END && now - strikes.since >= STRIKES_LAST_MS;
}

export function pollStateAfter(state: PollState, answer: JobServiceAnswer, now: number): PollState {
  if (answer.ok) return FRESH_POLL_STATE;
  return { faults: state.faults + 1, strikes: strike(state, answer.fault, now) };
}

/**
 * Updates a watched turn after a poll. `state` is the poll state after it, and `earlier` are the
 * earlier turns of its job. For `isLast`, see {@link turnAfterAnswer}. Returns the same object if
 * nothing changed.
 */
export function turnAfterPoll(
  turn: Turn,
  state: PollState,
  answer: JobServiceAnswer,
  now: number,
  { earlier = [], isLast = true }: { earlier?: readonly Polled[]; isLast?: boolean } = {},
): Turn {
  if (turn.stage.name !== "watching") return turn;
  if (answer.ok) {
    return showsEarlierTurn(turn, earlier)
      ? waitForOwnTurn(turn, answer, now)
      : turnAfterAnswer(turn, answer, now, isLast);
  }
  const { strikes } = state;
  if (strikes === null || !isOut(state, now))
    return state.faults >= FAULTS_THAT_SHOW ? withTrouble(turn, now) : turn;
  switch (strikes.kind) {
    case "missing":
      return endTurn(turn, "missing", now);
    case "rejected": {
      const { fault } = answer;
      return endTurn(turn, "rejected", now, { reason: rejectionReason(fault), said: fault.said ?? null });
    }
    case "contract":
      return endTurn(turn, "unknown", now, { reason: "unreadable" });
  }
}

/**
 * When to poll the job next for this turn, epoch milliseconds: no later than its deadline. Once the
 * deadline is past, the usual delay applies to the poll that confirms it.
 */
export function nextPollAt(
  turn: Turn,
  state: PollState,
  at: {
    now: number;
    retryAfterMs: number;
    random: number;
    policy: PollingPolicy;
    /** Set if the project's feed is fresh: when to look all the same. */
    feed?: { usual: Usual | null };
  },
): number {
  const { now, retryAfterMs, policy, random, feed } = at;
  const since = turn.stage.name === "watching" ? turn.stage.since : now;
  // The clock may have been set back since.
  const ageMs = Math.max(0, now - since);
  const delayMs = nextPollDelayMs({ ageMs, faults: state.faults, retryAfterMs, policy, random });
  const deadline = deadlineOf(turn, policy);
  const soon = now < deadline ? Math.min(now + delayMs, deadline) : now + delayMs;
  if (feed === undefined || state.faults > 0 || now >= deadline || mayShowEarlierTurn(turn)) return soon;
  const late = now + POLL_BY_FEED_MS * (0.9 + 0.2 * random);
  return Math.max(soon, Math.min(Math.ceil(late), deadline, overdueAt(turn, feed.usual, now)));
}

/** True if a record of the job could still be about an earlier turn, which takes time to know. */
function mayShowEarlierTurn(turn: Turn): boolean {
  const { stage, number } = turn;
  if (stage.name === "watching" && stage.unseen !== undefined) return true;
  return isFollowUp(turn) && number === undefined;
}

function strike(state: PollState, fault: JobServiceFault, now: number): PollState["strikes"] {
  if (fault.kind !== "missing" && fault.kind !== "rejected" && fault.kind !== "contract") return null;
  const before = state.strikes?.kind === fault.kind ? state.strikes : null;
  // If the clock was set back, the first strike lies in the future, and waiting for it could take
  // very long.
  const since = Math.min(before?.since ?? now, now);
  return { kind: fault.kind, count: (before?.count ?? 0) + 1, since };
}

function withTrouble(turn: Turn, since: number): Turn {
  if (turn.stage.name !== "watching" || turn.stage.troubleSince !== null) return turn;
  return { ...turn, stage: { ...turn.stage, troubleSince: since } };
}

/** A turn before and after a poll. */
export type Polled = { turn: Turn; next: Turn };

/**
 * True if the poll still describes an earlier turn: one of `earlier` was running and the service
 * doesn't tell turns apart.
 */
export function showsEarlierTurn(turn: Turn, earlier: readonly Polled[]): boolean {
  return isFollowUp(turn) && turn.number === undefined && earlier.some(isShown);
}

/** True if the poll showed this turn running, or its end. */
function isShown({ turn: { stage }, next }: Polled): boolean {
  if (stage.name !== "watching") return false;
  const { unseen, jobEnd } = stage;
  // The job has gone on since this turn's end, or it has ended with a later turn.
  if (jobEnd !== undefined && next.stage.name === "ended") return false;
  if (unseen === undefined) return true;
  if (next.stage.name === "watching") return next.stage.unseen === undefined;
  // A turn that ended because its minute ran out has shown nothing.
  const { job } = next;
  return job !== null && unseen.leftAs !== null && leftAs(job) !== unseen.leftAs;
}

/**
 * Updates a follow-up when the poll still describes an earlier turn, whose end isn't this one's.
 */
export function waitForOwnTurn(turn: Turn, answer: JobServiceSuccess, now: number): Turn {
  const { stage } = turn;
  const { job } = answer;
  if (stage.name !== "watching" || job.status === "archived") return turnAfterAnswer(turn, answer, now);
  const left = leftAs(job);
  const isKnown = left === null || stage.unseen?.leftAs === left;
  if (isKnown && stage.troubleSince === null) return turn;
  const unseen = isKnown ? {} : { unseen: { until: now + UNSEEN_MS, leftAs: left } };
  return { ...turn, stage: { ...stage, troubleSince: null, ...unseen } };
}

/** A feed that was silent for longer isn't fresh, milliseconds. A request ends sooner. */
const FRESH_MS = 2 * 60_000;
/** A feed that answered so often in a row at once, with nothing new, doesn't wait for changes. */
export const QUICK_THAT_END = 5;
/** How many of a project's jobs are read when its feed breaks off. */
const KNOWN_JOBS_MAX = 1000;
const GAP_MS = 250;
const IDLE_GAP_MS = 1_000;
const IDLE_GAP_MAX_MS = 30_000;

/** True if the project's feed is heard and tells what changes. */
export function isFresh(feed: FeedRecord | undefined, now: number): boolean {
  if (feed === undefined || feed.faults > 0 || feed.quick >= QUICK_THAT_END) return false;
  // The clock may have been set back since.
  return Math.abs(now - feed.heardAt) < FRESH_MS;
}

/**
 * The series of a project's newest jobs that have been sent something, by id. They stay in it while
 * their turns are watched, and then while their pull requests are followed.
 */
export function sentJobsOf(project: ProjectRef): string {
  return `jobs:${projectKey(project)}`;
}

export function sentJobAppend(project: ProjectRef, jobId: string, { deadlineMs }: PollingPolicy): Append {
  const ttlMs = deadlineMs + FOLLOWED_MS;
  return { series: sentJobsOf(project), entry: jobId, keep: KNOWN_JOBS_MAX, ttlMs };
}

/**
 * The shortest time between two requests, milliseconds, whatever the service answers. `quick` is
 * how often in a row it answered at once with nothing new.
 */
export function gapMs({ isNew, quick }: { isNew: boolean; quick: number }): number {
  const doublings = Math.min(Math.max(0, quick - QUICK_THAT_END + 1), 10);
  return isNew ? GAP_MS : Math.min(IDLE_GAP_MAX_MS, IDLE_GAP_MS * 2 ** doublings);
}
