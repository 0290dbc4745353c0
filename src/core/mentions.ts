import type { ThreadRecord } from "./records.ts";
import type { Turn } from "./turn.ts";

/** The most people that a turn's outcome mentions besides the requester. */
const FOLLOWERS_MAX = 50;
/** The most people that a thread's record notes as not to be mentioned: the newest. */
const MUTED_MAX = 200;

/** Whom a message about a turn mentions: the requester and whoever follows it, without those who don't want it in this thread. */
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
