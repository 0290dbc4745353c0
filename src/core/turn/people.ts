import type { ThreadRecord } from "../ports/records.ts";
import type { Turn } from "./turn.ts";
import { z } from "zod";

/**
 * Which replies in a job's thread are follow-ups: `mention`, those that mention the app;
 * `requester`, besides, every reply of whoever asked for the thread's newest open request; `ask`,
 * besides, those that their author says are.
 */
export const FollowUps = z.enum(["mention", "ask", "requester"]);
export type FollowUps = z.infer<typeof FollowUps>;

/**
 * Whether a person may say how the work on a turn goes on, by its buttons: under `requester` only
 * whoever asked for it, else anyone who sees them.
 */
export function maySteer(followUps: FollowUps, { request }: Pick<Turn, "request">, userId: string): boolean {
  return followUps !== "requester" || request.userId === userId;
}

/** The most people that a turn's outcome mentions besides the requester. */
const FOLLOWERS_MAX = 50;
/** The most people that a thread's record notes as not to be mentioned: the newest. */
const MUTED_MAX = 200;

/**
 * Whom a message about a turn mentions: the requester and whoever follows it, without those who
 * don't want it in this thread.
 */
export function mentionedIn({ request, followers = [] }: Turn, muted: readonly string[]): string[] {
  return [...new Set([request.userId, ...followers])].filter((userId) => !muted.includes(userId));
}

/** The turn, followed by somebody as well. Null: too many do. */
export function followTurn(turn: Turn, userId: string): Turn | null {
  const { request, followers = [] } = turn;
  if (request.userId === userId || followers.includes(userId)) return turn;
  return followers.length >= FOLLOWERS_MAX ? null : { ...turn, followers: [...followers, userId] };
}

/** The thread, in which somebody isn't to be mentioned any more, or is again. */
export function muteIn(thread: ThreadRecord, userId: string, isMuted: boolean): ThreadRecord {
  const others = (thread.muted ?? []).filter((other) => other !== userId);
  return { ...thread, muted: isMuted ? [...others, userId].slice(-MUTED_MAX) : others };
}

/** Whether an outcome was helpful to somebody. */
type Vote = "yes" | "no";

/** The most people whose votes a turn keeps. */
const VOTERS_MAX = 100;

/**
 * The turn with somebody's vote, in place of the one before. The same object: it is known, or there
 * are too many.
 */
export function noteVote(turn: Turn, userId: string, vote: Vote): Turn {
  const votes = turn.votes ?? {};
  const isFull = votes[userId] === undefined && Object.keys(votes).length >= VOTERS_MAX;
  if (isFull || votes[userId] === vote) return turn;
  return { ...turn, votes: { ...votes, [userId]: vote } };
}

/** How many found the outcome helpful, and how many didn't. */
export function votesOf({ votes = {} }: Turn): Record<Vote, number> {
  const all = Object.values(votes);
  return { yes: all.filter((vote) => vote === "yes").length, no: all.filter((vote) => vote === "no").length };
}
