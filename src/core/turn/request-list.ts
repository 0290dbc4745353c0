import type { Contact } from "../ports/job-service.ts";
import type { Request } from "./request.ts";
import type { Append } from "../ports/task-queue.ts";
import type { Turn } from "./turn.ts";

/**
 * Whose list: what a person asked for, wherever that was; or what was asked for in a channel, by
 * whomever.
 */
export type ListOf = "person" | "channel";

/** How many requests a list names. */
const LISTED_MAX = 100;
/** How many of them are on a page. */
export const LIST_PAGE_SIZE = 10;

/** The series that names the newest of these turns. It holds no words, only ids. */
export function requestListOf(
  of: ListOf,
  { teamId, userId, channelId }: Pick<Request, "teamId" | "userId" | "channelId">,
): string {
  // In direct messages with the app a person sees their own requests, and nobody else's are there.
  return of === "person" || isDirect(channelId)
    ? `person:${teamId}:${userId}`
    : `channel:${teamId}:${channelId}`;
}

/** Adds a new request to the lists that it belongs into. */
export function listAppends(request: Request, ttlMs: number): Append[] {
  const lists = new Set([requestListOf("person", request), requestListOf("channel", request)]);
  return [...lists].map((series) => ({ series, entry: request.id, keep: LISTED_MAX, ttlMs }));
}

/** Who looks at a list: the channels are those that the person is in now. */
export type Viewer = { teamId: string; userId: string; channels: ReadonlySet<string> };

/**
 * Whether a person may be shown a turn: it reports in a channel that they are in, or to them alone.
 * What it says stands in that place, so this tells them nothing that they couldn't read there.
 */
export function maySee({ request, delivery }: Turn, { teamId, userId, channels }: Viewer): boolean {
  if (request.teamId !== teamId) return false;
  return isDirect(delivery.channelId) ? request.userId === userId : channels.has(delivery.channelId);
}

/**
 * Ids of direct messages begin with D; those with a person can also be named by the person's own
 * id.
 */
export function isDirect(channelId: string): boolean {
  return /^[DUW]/.test(channelId);
}

/** How many requests the agent works on, and how many it has not begun with. */
export type RequestCounts = { running: number; waiting: number };

/** Counts the turns that have not ended. */
export function countsOf(turns: readonly Turn[]): RequestCounts {
  const open = turns.filter(({ stage }) => stage.name !== "ended");
  const running = open.filter(({ stage }) => stage.name === "watching" && stage.progress?.isWaiting !== true);
  return { running: running.length, waiting: open.length - running.length };
}

/** A request in a list, and where its thread is; null: nowhere yet. */
export type ListedTurn = { turn: Turn; url: string | null };

/**
 * A page of a list, newest first. `from`: how many newer ones there are. `isPartial`: Slack didn't
 * tell of all channels that the person is in. `isHiding`: some of their own requests are in places
 * where they can't read.
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
 * `channel`: null in direct messages. `trouble`: the newest of the person's own requests that came
 * to nothing lately.
 */
export type Standing = {
  own: RequestCounts | null;
  channel: RequestCounts | null;
  contacts: readonly Contact[];
  trouble: (ListedTurn & { at: number }) | null;
  isPartial: boolean;
};
