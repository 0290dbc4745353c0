import { z } from "zod";
import { CLOSED_FOLLOWED_MS, FOLLOWED_MS, PullRequestChecks } from "../../../shared/contract/pull-request.ts";
import { KnownPullRequest } from "../known-job.ts";
import { storedObject } from "../../../shared/contract/reading.ts";
import { closedNews, PullRequestNews, type ThreadNews, toldNews, UnaskedNews } from "./pull-request-news.ts";

/** {@link KnownPullRequest} as it is kept: an address of any length, times as they were read. */
const StoredPullRequest = storedObject(
  KnownPullRequest.extend({
    url: z.string().nullable(),
    checks: storedObject(PullRequestChecks.shape),
    openedAt: z.number().nullable(),
  }).shape,
);

/** A turn's pull request after its link: how it stands, and what the thread hears about it. */
export const TurnPullRequest = storedObject({
  /** The address that the turn left. */
  url: z.string(),
  /** As last heard of (untrusted, bounded), without reviews. */
  latest: StoredPullRequest,
  /** When the app first heard of it, and when something last changed. Epoch milliseconds. */
  since: z.number(),
  changedAt: z.number(),
  /** Since when it waits for a review. Null if it doesn't. Epoch milliseconds. */
  waitingSince: z.number().nullable(),
  /** The commit that changes were requested on. Absent if none are, or it isn't known. */
  reviewedSha: z.string().optional(),
  /** Since when it conflicts with its base branch, epoch milliseconds. Absent if it doesn't. */
  conflictsSince: z.number().optional(),
  /**
   * The turn whose result shows the preview, and the address that it shows. Absent if none does.
   */
  previewAt: storedObject({ turnId: z.string(), url: z.string() }).optional(),
  /** True if the service answers reviews and updates branches (level 2). */
  takesActs: z.boolean().optional(),
  /**
   * The reviews that were there at first and are older than the link. Absent in records of earlier
   * versions.
   */
  earlier: z.array(z.string()).optional(),
  /** Oldest first. */
  news: z.array(PullRequestNews),
  /** The newest turn that nobody asked for and that has ended. Absent if there was none. */
  unasked: UnaskedNews.optional(),
  /** The number of all news, also about a pull request that the turn left before this one. */
  count: z.number().int(),
});
export type TurnPullRequest = z.infer<typeof TurnPullRequest>;

/**
 * Returns what matters most about an open pull request. Null if it isn't open, or can't be seen.
 * Conflicts come first: until they are resolved, nothing else can be, as checks don't run and
 * reviews are of what will change.
 */
export function openStateOf({ latest, reviewedSha, conflictsSince }: TurnPullRequest): OpenState | null {
  if (latest.state !== "open" || !latest.isVisible) return null;
  if (conflictsSince !== undefined) return "conflicts";
  if (latest.checks.state === "failed") return "checks-failed";
  // Once it has changed since, it is the reviewers' turn again.
  const isChanged = reviewedSha !== undefined && latest.headSha !== null && latest.headSha !== reviewedSha;
  if (latest.review === "changes-requested" && !isChanged) return "changes-requested";
  if (latest.isDraft) return "draft";
  return latest.review === "approved" ? "approved" : "waiting";
}

type OpenState = "conflicts" | "checks-failed" | "changes-requested" | "draft" | "approved" | "waiting";

/** The news that is told next: its end comes last. */
export function nextNews({ news, unasked }: TurnPullRequest): ThreadNews | undefined {
  const all: readonly ThreadNews[] = unasked === undefined ? news : [...news, unasked];
  const untold = all.filter(({ isTold }) => isTold !== true);
  return untold.find(({ kind }) => kind !== "merged" && kind !== "closed") ?? untold[0];
}

/** Closes a group of reviews: what its post says stays as it is now. */
export function withClosed(pullRequest: TurnPullRequest, id: string): TurnPullRequest {
  return { ...pullRequest, news: pullRequest.news.map((each) => (each.id === id ? closedNews(each) : each)) };
}

/**
 * A pull request after a later turn of its job left another one, which is followed in its place.
 * It has ended, but how isn't known, so no state is shown.
 */
export function passedOver(pullRequest: TurnPullRequest): TurnPullRequest {
  return { ...pullRequest, latest: { ...pullRequest.latest, isVisible: false } };
}

/** Takes a piece of news back that nobody was told. */
export function withoutNews(pullRequest: TurnPullRequest, id: string): TurnPullRequest {
  return { ...pullRequest, news: pullRequest.news.filter((each) => each.id !== id) };
}

/** Notes that a piece of news is told, or never will be. */
export function withTold(pullRequest: TurnPullRequest, id: string): TurnPullRequest {
  const { unasked } = pullRequest;
  if (unasked?.id === id) return { ...pullRequest, unasked: { ...unasked, words: "", isTold: true } };
  return { ...pullRequest, news: pullRequest.news.map((each) => (each.id === id ? toldNews(each) : each)) };
}

/** Until when a pull request is followed, epoch milliseconds. Null if it no longer is. */
export function followedUntil({ latest, since, changedAt }: TurnPullRequest): number | null {
  if (latest.state === "merged") return null;
  if (latest.state === "closed") return changedAt + CLOSED_FOLLOWED_MS;
  return Math.min(latest.openedAt ?? since, since) + FOLLOWED_MS;
}
