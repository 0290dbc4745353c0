import type { Besides, JobServiceAnswer, JobServiceFault, JobServiceSuccess } from "../ports/job-service.ts";
import type { Admission } from "../ports/directory.ts";
import type { OutcomeKind } from "./outcome.ts";
import { nextPollDelayMs, type PollingPolicy } from "../retry.ts";
import { quotesNothing } from "../words/prompt.ts";
import { isUntyped, type Request, type SharedFile } from "./request.ts";
import {
  withoutSending,
  UNSEEN_MS,
  deadlineOf,
  endTurn,
  isFollowUp,
  leftAs,
  rejectionReason,
  turnPrLink,
  watchingFrom,
} from "./turn.ts";
import { turnAfterAnswer } from "./turn-after-answer.ts";
import type { Turn, TurnFiles, TurnStage } from "./turn.ts";
import { reportedTurns } from "./reported-turn.ts";
import { withKnownFiles, withoutWithheld } from "../thread/messages-to-share.ts";
import type { Authors, Requester } from "../../../shared/contract/request.ts";
import type { KnownJob } from "../known-job.ts";

/**
 * Services keep idempotency keys for days. After this time a key may be forgotten, and the create
 * would run again.
 */
const KEY_LASTS_MS = 24 * 60 * 60_000;

/**
 * Decides if a create or a message may be sent, and returns the turn to store before sending it,
 * with the prompt and the people to send. A turn that was already being sent is sent again only if
 * the service honors idempotency keys.
 */
export function beforeSubmit(
  turn: Turn,
  at: {
    now: number;
    policy: PollingPolicy;
    honorsKeys: boolean;
    prompt: string;
    /** The app's own id. Null if it isn't known. */
    appId?: string | null;
    /** Absent if the service doesn't accept one. */
    requester?: Requester | undefined;
    /** Absent if the service doesn't accept them. */
    authors?: Authors | undefined;
  },
): Turn {
  const { now, policy, honorsKeys } = at;
  const { stage } = turn;
  if (stage.name === "ended" || stage.name === "watching") return turn;
  const prompt = keptPrompt(turn, at.prompt);
  if (stage.name === "submitting") {
    if (!honorsKeys || now >= Math.min(deadlineOf(turn, policy), turn.request.receivedAt + KEY_LASTS_MS)) {
      return endTurn(turn, "unknown", now, { reason: "create-lost" });
    }
    return { ...turn, stage: { ...stage, isRepeat: true, prompt } };
  }
  if (turn.stop !== undefined) return withoutSending(turn, now);
  if (now >= deadlineOf(turn, policy)) return endTurn(turn, "expired", now, { reason: "never-started" });
  const { requester, authors, appId = null } = at;
  // Two apps may hear of the same message, and use the same service.
  const key = appId === null ? undefined : `${appId}/${turn.id}`;
  const sent = { prompt, key, requester, authors };
  return { ...turn, stage: { ...stage, name: "submitting", isRepeat: false, ...sent } };
}

/** What goes along with a turn besides the person's words, as far as it had to be read. */
export type Along = Pick<Request, "context" | "beside" | "files"> & {
  /** The `ts` of messages that people chose not to share. */
  withheld: readonly string[];
  /** True if the message that asked was looked up. */
  isLookedUp?: boolean;
  /** Files about which Slack has said more, by their ids. Null for those of guests. */
  knownFiles?: ReadonlyMap<string, SharedFile | null>;
};

/**
 * Adds what goes along. A turn that was already being sent keeps what it had. Withheld messages are
 * left out wherever they came from.
 */
export function withAlong(turn: Turn, along: Along, sent?: TurnFiles): Turn {
  if (turn.stage.name !== "accepted") return turn;
  const { context, beside, files, withheld, isLookedUp, knownFiles = new Map() } = along;
  const { mayHaveFiles, ...before } = turn.request;
  const request = {
    ...before,
    ...(mayHaveFiles === undefined || isLookedUp === true ? {} : { mayHaveFiles }),
    ...(context === undefined ? {} : { context }),
    ...(beside === undefined ? {} : { beside }),
    ...(files === undefined ? {} : { files }),
  };
  return {
    ...turn,
    ...(sent === undefined ? {} : { files: sent }),
    request: withKnownFiles(withoutWithheld(request, withheld), knownFiles),
  };
}

/** Ends the turn of a person who may not use the app, and drops what they wrote. */
export function refuseTurn(turn: Turn, admission: Exclude<Admission, "admitted">, now: number): Turn {
  const { id, from, teamId, channelId, threadTs, userId, project, receivedAt } = turn.request;
  const { responseUrl, messageTs } = turn.request;
  const place = { teamId, channelId, threadTs, userId, responseUrl, messageTs };
  const request: Request = { id, from, ...place, project, instructions: NOT_KEPT, quoted: null, receivedAt };
  return endTurn({ ...turn, request }, "rejected", now, { reason: "other", admission });
}

/** Ends the turn that must change nothing, because the service can't promise that. */
export function refuseToAsk(turn: Turn, now: number): Turn {
  if (turn.stage.name !== "accepted") return turn;
  return endTurn(turn, "rejected", now, { reason: "other", cannotAsk: true });
}

/** Stands in for words that aren't kept. */
const NOT_KEPT = "(not kept)";

/**
 * The prompt if it needs no composing: it was already sent, or it is only the instructions. Null
 * otherwise.
 */
export function knownPrompt({ stage, request }: Turn): string | null {
  if (stage.name === "submitting" && stage.prompt !== undefined) return stage.prompt;
  return quotesNothing(request) ? request.instructions : null;
}

/**
 * The person's words and name, and the authors of what is quoted, as they go along with a turn that
 * is being sent. They are the same for each attempt.
 */
export function askedBy({ stage, request }: Turn): Pick<Besides, "words" | "requester" | "authors"> {
  if (stage.name !== "submitting") return {};
  const { requester, authors } = stage;
  const typed = requester === undefined || isUntyped(request) ? {} : { words: request.instructions };
  return { ...typed, ...(requester && { requester }), ...(authors && { authors }) };
}

/**
 * The idempotency key of a turn that is being sent. It stays the same for each attempt, also by
 * another version of the app.
 */
export function keyOf({ id, stage }: Turn): string {
  return (stage.name === "submitting" ? stage.key : undefined) ?? id;
}

function keptPrompt(turn: Turn, composed: string): string | undefined {
  const prompt = knownPrompt(turn) ?? composed;
  return prompt === turn.request.instructions ? undefined : prompt;
}

/**
 * Interprets the answer to a create or a message. `afterMs` is the wait before sending it again, or
 * null if it is settled.
 */
export function afterSubmit(
  turn: Turn,
  answer: JobServiceAnswer,
  at: {
    now: number;
    attempt: number;
    random: number;
    policy: PollingPolicy;
    honorsKeys: boolean;
    /** For a follow-up: its job as the previous turn last saw it. */
    before?: KnownJob;
  },
): { turn: Turn; afterMs: number | null } {
  const { now } = at;
  if (turn.stage.name !== "submitting") return { turn, afterMs: null };
  if (answer.ok) {
    const watched = { ...turn, stage: watchingFrom(now) };
    const taken = isFollowUp(turn)
      ? followUpTaken(watched, answer, now, at.before)
      : turnAfterAnswer(watched, answer, now);
    return { turn: isLinkMissing(taken) ? { ...taken, stage: watchingFrom(now) } : taken, afterMs: null };
  }
  const { fault } = answer;
  const { stage } = turn;
  const { isRepeat } = stage;
  const waitingSince = stage.waitingSince ?? now;
  const ended = (kind: OutcomeKind, detail: Parameters<typeof endTurn>[3]) => ({
    turn: endTurn(turn, kind, now, detail),
    afterMs: null,
  });
  const later = (next: TurnStage) => {
    const waiting = withoutSending({ ...turn, stage: next }, now);
    if (waiting.stage.name === "ended") return { turn: waiting, afterMs: null };
    const { attempt: faults, policy, random } = at;
    const { retryAfterMs = 0 } = fault;
    const delayMs = nextPollDelayMs({ ageMs: 0, faults, retryAfterMs, policy, random });
    return { turn: waiting, afterMs: Math.max(0, Math.min(delayMs, deadlineOf(turn, policy) - now)) };
  };
  switch (fault.kind) {
    case "not-created":
      // This create certainly failed, but an earlier one whose answer was lost may have succeeded.
      return later(
        isRepeat
          ? { ...stage, waitingSince }
          : { name: "accepted", waitingSince, limitedUntil: limitedUntil(stage, fault, now) },
      );
    case "unknown":
      if (!at.honorsKeys) return ended("unknown", { reason: "create-lost" });
      return later({ ...stage, waitingSince, isRepeat: true });
    case "contract":
      return ended("unknown", { reason: "unreadable" });
    case "missing":
      if (isRepeat) return ended("unknown", { reason: "create-lost" });
      if (turn.request.act !== undefined) return ended("missing", {});
      if (isFollowUp(turn)) {
        return { turn: withoutSending({ ...asNewJob(turn), isStartedAnew: true }, now), afterMs: null };
      }
      return ended("rejected", { reason: "project" });
    case "rejected":
      if (isRepeat) return ended("unknown", { reason: "create-lost" });
      return ended("rejected", {
        reason: rejectionReason(fault),
        said: fault.said ?? null,
        ...(isDeclined(turn, fault) && { isDeclined: true }),
      });
  }
}

/** True if there is nothing that the agent could do about the pull request. */
function isDeclined({ request }: Turn, { status, said }: JobServiceFault): boolean {
  return request.act !== undefined && said !== undefined && (status === 404 || status === 409);
}

/**
 * When the service accepts requests again, from its refusal. A call that was never made doesn't
 * change it.
 */
function limitedUntil(
  stage: { limitedUntil?: number | undefined },
  { status, retryAfterMs }: JobServiceFault,
  now: number,
): number | undefined {
  if (status === undefined) return stage.limitedUntil;
  return status === 429 && retryAfterMs !== undefined ? now + retryAfterMs : undefined;
}

function followUpTaken(
  turn: Turn,
  answer: JobServiceSuccess,
  now: number,
  before: KnownJob | undefined,
): Turn {
  const number = reportedTurns(answer)?.at(-1)?.number;
  if (number !== undefined) return turnAfterAnswer({ ...turn, number }, answer, now);
  const unseen = { until: now + UNSEEN_MS, leftAs: before === undefined ? null : leftAs(before) };
  const taken = turnAfterAnswer({ ...turn, stage: { ...watchingFrom(now), unseen } }, answer, now);
  // This isn't a poll. The next poll may still be older than the message.
  return taken.stage.name === "watching" ? { ...taken, stage: { ...taken.stage, unseen } } : taken;
}

/**
 * True if the turn left a pull request and nobody says where. The answer to a repeated call has the
 * job's record as it was at first, so a poll knows the address.
 */
function isLinkMissing(turn: Turn): boolean {
  const { stage } = turn;
  return stage.name === "ended" && stage.outcome.kind === "pull-request" && turnPrLink(turn) === null;
}

/** Turns a follow-up into a request for a new job, because its own job can't take it. */
export function asNewJob(turn: Turn): Turn {
  // The new job's agent has seen nothing of the thread.
  const { follows: _, context: __, ...request } = turn.request;
  return { ...turn, request, stage: { name: "accepted", waitingSince: null } };
}

/** Undoes {@link beforeSubmit} when the create was certainly not sent. */
export function notSubmitted(turn: Turn, before: Turn): Turn {
  const isIntended = turn.stage.name === "submitting" && before.stage.name === "accepted";
  return isIntended ? { ...turn, stage: before.stage } : turn;
}
