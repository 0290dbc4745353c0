import type { Contact } from "../ports/job-service.ts";
import type { Request } from "./request.ts";
import type { Append } from "../ports/task-queue.ts";
import type { Turn } from "./turn.ts";

/**
 * `person` lists what one person asked for anywhere. `channel` lists what anyone asked for in one
 * channel.
 */
export type ListOf = "person" | "channel";

/** The most requests that a list names. */
const LISTED_MAX = 100;
export const LIST_PAGE_SIZE = 10;

/** The series with the ids of a list's newest turns. It holds no words. */
export function requestListOf(
  of: ListOf,
  { teamId, userId, channelId }: Pick<Request, "teamId" | "userId" | "channelId">,
): string {
  // Only the person's own requests appear in their direct messages with the app.
  return of === "person" || isDirect(channelId)
    ? `person:${teamId}:${userId}`
    : `channel:${teamId}:${channelId}`;
}

/** Adds a new request to the lists it belongs to. */
export function listAppends(request: Request, ttlMs: number): Append[] {
  const lists = new Set([requestListOf("person", request), requestListOf("channel", request)]);
  return [...lists].map((series) => ({ series, entry: request.id, keep: LISTED_MAX, ttlMs }));
}

/** The person who looks at a list, and the channels that they are in now. */
export type Viewer = { teamId: string; userId: string; channels: ReadonlySet<string> };

/**
 * True if a person may be shown a turn: it reports in a channel that they are in, or to them alone.
 * They can read everything it says in that place.
 */
export function maySee({ request, delivery }: Turn, { teamId, userId, channels }: Viewer): boolean {
  if (request.teamId !== teamId) return false;
  return isDirect(delivery.channelId) ? request.userId === userId : channels.has(delivery.channelId);
}

/**
 * True for ids of direct messages, which begin with D. A direct message can also be named by the
 * person's own id.
 */
export function isDirect(channelId: string): boolean {
  return /^[DUW]/.test(channelId);
}

/** Numbers of requests that the agent is working on, and that wait to begin. */
export type RequestCounts = { running: number; waiting: number };

/** Counts unfinished turns. */
export function countsOf(turns: readonly Turn[]): RequestCounts {
  const open = turns.filter(({ stage }) => stage.name !== "ended");
  const running = open.filter(({ stage }) => stage.name === "watching" && stage.progress?.isWaiting !== true);
  return { running: running.length, waiting: open.length - running.length };
}

/** A request in a list and the address of its thread, or null if it has none yet. */
export type ListedTurn = { turn: Turn; url: string | null };

/**
 * A page of a list, newest first. `from` is the number of newer requests. `isPartial` is true if
 * Slack didn't list all of the person's channels, and `isHiding` if some of their own requests are
 * in places that they can't read.
 */
export type ListPage = {
  of: ListOf;
  turns: readonly ListedTurn[];
  from: number;
  hasOlder: boolean;
  isPartial: boolean;
  isHiding: boolean;
};

/**
 * `channel` is null in direct messages. `trouble` is the newest of the person's own recent requests
 * that came to nothing.
 */
export type Standing = {
  own: RequestCounts | null;
  channel: RequestCounts | null;
  contacts: readonly Contact[];
  trouble: (ListedTurn & { at: number }) | null;
  isPartial: boolean;
};
