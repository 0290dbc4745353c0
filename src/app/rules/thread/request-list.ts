import type { Contact } from "../ports/job-service.ts";
import type { Request } from "../turn/request.ts";
import { FOLLOWED_MS } from "../../../shared/contract/pull-request.ts";
import { hasOpenPullRequest, type Turn, turnPrLink } from "../turn/turn.ts";
import { jobKey } from "../project.ts";
import type { Append } from "../../../shared/store/series.ts";

/**
 * `person` lists what one person asked for anywhere. `channel` lists what anyone asked for in one
 * channel.
 */
export type ListOf = "person" | "channel";

/** The most requests that a list names. */
const LISTED_MAX = 100;
/** The most requests with a pull request that are looked through for open ones. */
const LINKED_MAX = 500;
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

/** The series of those in a list that left a pull request, which more requests don't push out. */
export function linkedListOf(...list: Parameters<typeof requestListOf>): string {
  return `linked-${requestListOf(...list)}`;
}

/** Adds a new request to the lists it belongs to. */
export function listAppends(request: Request, ttlMs: number): Append[] {
  return appendsTo(requestListOf, request, LISTED_MAX, ttlMs);
}

/** Adds a request to its lists once its pull request is followed. */
export function linkedAppends(request: Request): Append[] {
  return appendsTo(linkedListOf, request, LINKED_MAX, FOLLOWED_MS);
}

function appendsTo(listOf: typeof requestListOf, request: Request, keep: number, ttlMs: number): Append[] {
  const lists = new Set([listOf("person", request), listOf("channel", request)]);
  return [...lists].map((series) => ({ series, entry: request.id, keep, ttlMs }));
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

/**
 * A request in a list and the address of its thread, or null if it has none yet. `turn` has the
 * newest state. If that is a follow-up's, `first` is the request, and `followUps` is their number.
 */
export type ListedTurn = { turn: Turn; url: string | null; first?: Turn; followUps?: number };

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
  /**
   * True if this lists open pull requests, oldest first: those of the person's own requests and of
   * the channel's.
   */
  isOpen?: boolean;
  /** The time that ages are counted to, epoch milliseconds. */
  now: number;
};

/**
 * Turns in groups, each oldest first, in the order of their newest turns. `turns` come newest
 * first. A request and its follow-ups are one group, unless they left different pull requests.
 */
export function groupedTurns(turns: readonly Turn[]): [Turn, ...Turn[]][] {
  type Group = { url: string | null; turns: [Turn, ...Turn[]] };
  const groups = new Set<Group>();
  const [byJob, byUrl] = [new Map<string, Group>(), new Map<string, Group>()];
  for (const turn of turns.toReversed()) {
    const url = turnPrLink(turn);
    const job = turn.job === null ? null : jobKey(turn.request.project, turn.job.id);
    const ofJob = job === null ? undefined : byJob.get(job);
    const isOfJob = ofJob !== undefined && (url === null || ofJob.url === null || ofJob.url === url);
    const known = (url === null ? undefined : byUrl.get(url)) ?? (isOfJob ? ofJob : undefined);
    const group: Group = known ?? { url, turns: [turn] };
    if (known !== undefined) group.turns.push(turn);
    group.url ??= url;
    if (job !== null) byJob.set(job, group);
    if (url !== null) byUrl.set(url, group);
    // The order of a set is that of the adds.
    groups.delete(group);
    groups.add(group);
  }
  return [...groups].map((group) => group.turns).toReversed();
}

/** The most requests, and open pull requests, that each part of a Home tab lists. */
export const HOME_ROWS_MAX = 10;
export const HOME_OPEN_MAX = 20;

/** The first groups, with those first in which something isn't done. Otherwise in their order. */
export function openFirst<T extends readonly Turn[]>(groups: readonly T[], max: number): T[] {
  const isOpen = (group: T) => group.some(({ stage }) => stage.name !== "ended");
  return [...groups.filter(isOpen), ...groups.filter((group) => !isOpen(group))].slice(0, max);
}

/**
 * What a person's Home tab shows: their requests, those of others in channels that they are in, and
 * the open pull requests of both, oldest first.
 */
export type HomePage = {
  own: readonly ListedTurn[];
  team: readonly ListedTurn[];
  open: readonly ListedTurn[];
  /** The number of newer open pull requests. */
  moreOpen: number;
  /** The name of the project that they chose last, if any. */
  project: string | null;
  /** True if Slack didn't list all of their channels. */
  isPartial: boolean;
  /** What was looked through, if that wasn't all: channels, and pull requests of each. */
  looked: { channels: number; entries: number } | null;
  /** The time that ages are counted to, epoch milliseconds. */
  now: number;
};

/** When a turn's pull request was opened, as far as it is known, epoch milliseconds. */
export function openedAt({ pullRequest }: Turn): number {
  return pullRequest === undefined ? 0 : (pullRequest.latest.openedAt ?? pullRequest.since);
}

/** The turns whose pull request is open, each pull request once, the oldest first. */
export function openPullRequests(turns: readonly Turn[], now: number): Turn[] {
  const open = turns.filter((turn) => hasOpenPullRequest(turn, now));
  const byUrl = new Map(open.map((turn) => [turn.pullRequest?.url, turn]));
  return [...byUrl.values()].toSorted((one, other) => openedAt(one) - openedAt(other));
}

/**
 * `channel` is null in direct messages. `trouble` is the newest of the person's own recent requests
 * that came to nothing.
 */
export type Overview = {
  own: RequestCounts | null;
  channel: RequestCounts | null;
  contacts: readonly Contact[];
  trouble: (ListedTurn & { at: number; now: number }) | null;
  isPartial: boolean;
};
