import type { Turn } from "./turn.ts";

/** Whom a message about a turn mentions: the requester and whoever follows it, without those who don't want it in this thread. */
export function mentionedIn({ request, followers = [] }: Turn, muted: readonly string[]): string[] {
  return [...new Set([request.userId, ...followers])].filter((userId) => !muted.includes(userId));
}
