import type { MessageOf } from "../ports/notifier.ts";
import type { ThreadRecord } from "../records.ts";
import type { Turn } from "../turn/turn.ts";
import { z } from "zod";

/**
 * Which replies in a job's thread are follow-ups.
 *
 * - `mention`: those that mention the app.
 * - `ask`: also those whose author confirms it when asked.
 * - `requester`: also every reply by the requester of the thread's newest open request.
 */
export const FollowUps = z.enum(["mention", "ask", "requester"]);
export type FollowUps = z.infer<typeof FollowUps>;

/**
 * True if a person may use a turn's buttons to steer it. Under `requester` only the requester may;
 * otherwise everyone who sees the buttons.
 */
export function maySteer(followUps: FollowUps, { request }: Pick<Turn, "request">, userId: string): boolean {
  return followUps !== "requester" || request.userId === userId;
}

/** The answer to a person who may not steer a turn. */
export function notAllowed({ request }: Pick<Turn, "request">): MessageOf<"not-allowed"> {
  return { kind: "not-allowed", requesterId: request.userId };
}

/** The most people that a turn's outcome mentions besides the requester. */
const FOLLOWERS_MAX = 50;
/** The most muted people that a thread's record keeps. The newest stay. */
const MUTED_MAX = 200;

/**
 * The people a message about a turn mentions: the requester and the followers, except those who
 * muted the thread.
 */
export function mentionedIn({ request, followers = [] }: Turn, muted: readonly string[]): string[] {
  return [...new Set([request.userId, ...followers])].filter((userId) => !muted.includes(userId));
}

/** Adds a follower to the turn. Returns null if it has the most it can have. */
export function followTurn(turn: Turn, userId: string): Turn | null {
  const { request, followers = [] } = turn;
  if (request.userId === userId || followers.includes(userId)) return turn;
  return followers.length >= FOLLOWERS_MAX ? null : { ...turn, followers: [...followers, userId] };
}

/** Mutes or unmutes a person in a thread. */
export function muteIn(thread: ThreadRecord, userId: string, isMuted: boolean): ThreadRecord {
  const others = (thread.muted ?? []).filter((other) => other !== userId);
  return { ...thread, muted: isMuted ? [...others, userId].slice(-MUTED_MAX) : others };
}

/** A person's verdict on whether an outcome was helpful. */
type Vote = "yes" | "no";

/** The most people whose votes a turn keeps. */
const VOTERS_MAX = 100;

/**
 * Records a person's vote in place of their earlier one. Returns the same object if nothing changes
 * or the turn has the most votes it keeps.
 */
export function noteVote(turn: Turn, userId: string, vote: Vote): Turn {
  const votes = turn.votes ?? {};
  const isFull = votes[userId] === undefined && Object.keys(votes).length >= VOTERS_MAX;
  if (isFull || votes[userId] === vote) return turn;
  return { ...turn, votes: { ...votes, [userId]: vote } };
}

/** Counts how many people found the outcome helpful and how many didn't. */
export function votesOf({ votes = {} }: Turn): Record<Vote, number> {
  const all = Object.values(votes);
  return { yes: all.filter((vote) => vote === "yes").length, no: all.filter((vote) => vote === "no").length };
}
