import { z } from "zod";
import {
  CLOSED_FOLLOWED_MS,
  type FailedCheck,
  FOLLOWED_MS,
  MAX_NAMES,
  PullRequestChecks,
  type ReviewComment,
} from "../../../shared/contract/pull-request.ts";
import { KnownPullRequest, type KnownReview } from "../known-job.ts";
import { storedObject } from "../../../shared/contract/reading.ts";
import { passage, plainLine, startOf } from "../../../shared/text/text.ts";

const common = {
  /** The same for the same news. It names the slot of its post. */
  id: z.string(),
  /** When the app heard of it, epoch milliseconds. */
  at: z.number(),
  /** True once it is posted or given up. What was only for the post is then gone. */
  isTold: z.boolean().optional(),
};

/** Something that happened to a pull request and that its thread is told, once. */
export const PullRequestNews = z.discriminatedUnion("kind", [
  /** Reviews that came within {@link GROUP_MS} are told together. `isClosed`: no more join them. */
  storedObject({
    ...common,
    kind: z.literal("changes-requested"),
    reviews: z.array(
      storedObject({
        id: z.string(),
        author: z.string(),
        words: z.string(),
        /** Comments on lines, each in a line of its own. Absent if there are none. */
        comments: z.array(z.string()).optional(),
      }),
    ),
    isClosed: z.boolean().optional(),
  }),
  /**
   * It conflicts if there is `conflictsWith`, the base branch, which is empty if nobody says which.
   * See {@link newsKindOf}.
   */
  storedObject({
    ...common,
    kind: z.literal("checks-failed"),
    names: z.array(z.string()),
    headSha: z.string().nullable(),
    /** The first lines that failed checks say. Absent if none of them says any. */
    reasons: z
      .array(storedObject({ name: z.string(), words: z.string(), url: z.string().nullable() }))
      .optional(),
    conflictsWith: z.string().optional(),
  }),
  storedObject({ ...common, kind: z.literal("merged") }),
  storedObject({ ...common, kind: z.literal("closed") }),
  storedObject({ ...common, kind: z.literal("waiting"), waitingFor: z.array(z.string()) }),
  storedObject({ ...common, kind: z.literal("unseen") }),
]);
export type PullRequestNews = z.infer<typeof PullRequestNews>;

/** {@link KnownPullRequest} as it is kept: an address of any length, times as they were read. */
const StoredPullRequest = storedObject(
  KnownPullRequest.extend({
    url: z.string().nullable(),
    checks: storedObject(PullRequestChecks.shape),
    openedAt: z.number().nullable(),
  }).shape,
);

/** A turn's pull request after its link: how it stands, and what the thread is told of it. */
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
  /** True if the service answers reviews and updates branches (level 2). */
  takesActs: z.boolean().optional(),
  /**
   * The reviews that were there at first and are older than the link. Absent in records of earlier
   * versions.
   */
  earlier: z.array(z.string()).optional(),
  /** Oldest first. */
  news: z.array(PullRequestNews),
  /** How many news there were, also about a pull request that the turn left before this one. */
  count: z.number().int(),
});
export type TurnPullRequest = z.infer<typeof TurnPullRequest>;

const DAY_MS = 86_400_000;

/** Reviews within this time are one post, milliseconds. */
export const GROUP_MS = 60_000;
/** How long a pull request waits for a review, Monday to Friday, before the thread is told. */
const WAITING_MS = 3 * DAY_MS;
/**
 * If the app first hears of a pull request this long after its link (milliseconds), earlier events
 * are shown but not told. After an upgrade, this applies to events of the last months.
 */
const LATE_MS = 3 * DAY_MS;
/** Clocks differ: a review that is this much older than the link may have come after it. */
const HISTORY_MS = 10 * 60_000;
/** So many earlier reviews are remembered, the newest. */
const EARLIER_MAX = 100;

/** After so many news, only the pull request's end is told. */
const NEWS_MAX = 50;
const GROUP_MAX = 20;
const NAME_MAX_CHARS = 100;
const WORDS_MAX_CHARS = 300;
const WORDS_MAX_LINES = 10;
const WORDS_READ_CHARS = 2_000;
/** Of so many reviews in one report, comments on lines are kept. A post quotes no more. */
const COMMENTED_MAX = 5;
const COMMENT_MAX_CHARS = 200;
/** A longer address of a check's page isn't kept. */
const CHECK_URL_MAX_CHARS = 500;
/** A check's first lines. */
const REASON_MAX_LINES = 4;
/** Conflicts are told at most this often, milliseconds. */
const CONFLICTS_AGAIN_MS = DAY_MS;

/**
 * The pull request after the job service said how it stands, and the news in that. `linkedAt` is
 * when the thread got the link: earlier reviews are no news. Safe to repeat, and in any order:
 * nothing is news twice, and what is merged stays so. `takesActs` is true if the service of level 2
 * said so. Returns the same object if nothing changed.
 */
export function withPullRequest(
  known: TurnPullRequest | undefined,
  reported: KnownPullRequest,
  {
    url,
    linkedAt,
    now,
    takesActs = false,
  }: { url: string; linkedAt: number; now: number; takesActs?: boolean },
): TurnPullRequest {
  const before = known?.url === url ? known : undefined;
  if (before?.latest.state === "merged") return withLive(before, reported, now);
  const latest = bounded(reported);
  const isSame = before !== undefined && JSON.stringify(before.latest) === JSON.stringify(latest);
  const { reviewedSha: earlierSha, conflictsSince: conflictedSince, takesActs: took, ...kept } = before ?? {};
  const conflictsSince = isConflicting(latest, conflictedSince !== undefined)
    ? (conflictedSince ?? now)
    : undefined;
  const isOlder = ({ at }: KnownReview) => at !== null && at <= linkedAt - HISTORY_MS;
  // Once it is known what was there, times don't count: somebody may have set a clock.
  const earlier =
    before === undefined
      ? reported.reviews
          .filter(isOlder)
          .map(({ id }) => lineOf(id))
          .slice(-EARLIER_MAX)
      : before.earlier;
  const isEarlier = (review: KnownReview) =>
    earlier === undefined ? isOlder(review) : earlier.includes(lineOf(review.id));
  const later = reported.reviews.filter((review) => !isEarlier(review));
  const added = newReviews(before?.news ?? [], later);
  const isRequested = latest.review === "changes-requested";
  const requests = reported.reviews.filter((review) => review.state === "changes-requested");
  const newest = requests.findLast((review) => review.headSha === latest.headSha) ?? requests.at(-1);
  // Without the review's commit, it is about what was there when the app heard of it.
  const isFirst = added.length > 0 || before?.latest.review !== "changes-requested";
  const reviewedSha = newest?.headSha ?? (isFirst ? latest.headSha : earlierSha);
  const next: TurnPullRequest = {
    ...kept,
    url,
    latest,
    since: before?.since ?? now,
    changedAt: now,
    waitingSince: null,
    ...(isRequested && typeof reviewedSha === "string" && { reviewedSha }),
    ...(conflictsSince !== undefined && { conflictsSince }),
    ...(takesActs && { takesActs }),
    ...(earlier !== undefined && { earlier }),
    news: before?.news ?? [],
    count: before?.count ?? known?.count ?? 0,
  };
  if (openStateOf(next) === "waiting") {
    const openedAt = Math.min(latest.openedAt ?? now, now);
    next.waitingSince = before?.waitingSince ?? (before === undefined ? openedAt : now);
  }
  const { reasons = [] } = reported.checks;
  const withAsks = withConflicts(withFailedChecks(withReviews(next, added, now), reasons, now), now);
  const withAll = withWaiting(withEnd(withAsks, now), now);
  const isLate = before === undefined && now - linkedAt > LATE_MS;
  const told = isLate ? withAll.news.reduce((all, { id }) => withTold(all, id), withAll) : withAll;
  const isSameSince = before?.waitingSince === next.waitingSince && conflictedSince === next.conflictsSince;
  const isSameOffer = (took === true) === takesActs;
  return isSame && told === next && isSameSince && isSameOffer ? before : told;
}

/** Once it is merged, nothing is news but where its change can be seen. */
function withLive(before: TurnPullRequest, { state, live }: KnownPullRequest, now: number): TurnPullRequest {
  const { latest } = before;
  if (state !== "merged" || live === undefined || latest.live !== undefined) return before;
  return { ...before, latest: { ...latest, live }, changedAt: now };
}

/** True if it conflicts. While the code host works that out, it stays as it was. */
function isConflicting(
  { state, isVisible, blockedBy, mergeable }: KnownPullRequest,
  wasConflicting: boolean,
): boolean {
  if (state !== "open") return false;
  if (!isVisible || (mergeable === null && blockedBy !== "conflicts")) return wasConflicting;
  return blockedBy === "conflicts";
}

/**
 * What matters most about an open pull request. Null if it isn't open, or can't be seen. Conflicts
 * come first: until they are resolved, nothing else can be, as checks don't run and reviews are of
 * what will change.
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

/** The reviews that request changes and are new, bounded. */
function newReviews(news: readonly PullRequestNews[], reviews: readonly KnownReview[]) {
  const known = new Set(
    news.flatMap((each) => (each.kind === "changes-requested" ? each.reviews : [])).map(({ id }) => id),
  );
  return reviews
    .filter(({ state }) => state === "changes-requested")
    .map((review) => ({ ...review, id: lineOf(review.id) }))
    .filter(({ id }) => !known.has(id) && known.add(id))
    .slice(-GROUP_MAX)
    .map(({ id, author, words, comments = [] }, n) => ({
      id,
      author: nameOf(author, "someone"),
      words: passage(startOf(words, WORDS_READ_CHARS), WORDS_MAX_CHARS, WORDS_MAX_LINES),
      ...(comments.length > 0 && n < COMMENTED_MAX && { comments: comments.map(commentLine) }),
    }));
}

/** A comment in one line, after its file and line. */
function commentLine({ path, line, words }: ReviewComment): string {
  const where = line === null ? lineOf(path) : `${lineOf(path)}:${line}`;
  return plainLine(`${where}: ${startOf(words, WORDS_READ_CHARS)}`, COMMENT_MAX_CHARS);
}

function withReviews(
  current: TurnPullRequest,
  added: ReturnType<typeof newReviews>,
  now: number,
): TurnPullRequest {
  if (added.length === 0) return current;
  const last = current.news.at(-1);
  if (last?.kind !== "changes-requested" || !isGrouping(last, now)) {
    return withNews(current, now, { kind: "changes-requested", reviews: added });
  }
  const joined = { ...last, reviews: [...last.reviews, ...added].slice(0, GROUP_MAX) };
  return { ...current, news: [...current.news.slice(0, -1), joined] };
}

/**
 * Adds news of failed checks. A re-run in which the same checks or fewer fail is no news. If names
 * were cut off, any other name may have failed before.
 */
function withFailedChecks(
  current: TurnPullRequest,
  reasons: readonly FailedCheck[],
  now: number,
): TurnPullRequest {
  const { checks, headSha, state, isVisible } = current.latest;
  if (checks.state !== "failed" || state !== "open" || !isVisible) return current;
  const known = current.news.flatMap((news) =>
    news.kind === "checks-failed" && !isOfConflicts(news) && news.headSha === headSha ? [news.names] : [],
  );
  const isCut = known.some((names) => names.length >= MAX_NAMES);
  const isKnown = checks.failed.every((name) => known.flat().includes(name));
  if (isCut || (known.length > 0 && isKnown)) return current;
  const said = reasons
    .map(({ name, words, url }) => ({
      name: nameOf(name, "unnamed"),
      words: passage(startOf(words, WORDS_READ_CHARS), WORDS_MAX_CHARS, REASON_MAX_LINES),
      url: url !== null && url.length <= CHECK_URL_MAX_CHARS ? url : null,
    }))
    .filter(({ words, url }) => words !== "" || url !== null);
  const why = said.length > 0 && { reasons: said };
  return withNews(current, now, { kind: "checks-failed", names: checks.failed, headSha, ...why });
}

/** Adds news of conflicts: once for each time that they come, and at most once a day. */
function withConflicts(current: TurnPullRequest, now: number): TurnPullRequest {
  const { conflictsSince, news, latest } = current;
  if (conflictsSince === undefined || openStateOf(current) !== "conflicts") return current;
  const last = news.findLast(isOfConflicts);
  if (last !== undefined && (last.at >= conflictsSince || now - last.at < CONFLICTS_AGAIN_MS)) return current;
  const conflictsWith = lineOf(latest.baseRef ?? "");
  // An older version reads it as a check of this name.
  const names = [`conflicts with ${conflictsWith || "the base branch"}`];
  return withNews(current, now, { kind: "checks-failed", names, headSha: null, conflictsWith });
}

function isOfConflicts(news: PullRequestNews): boolean {
  return newsKindOf(news) === "conflicts";
}

/** What a piece of news is about, including what an older version's `kind` can't name. */
export function newsKindOf(news: PullRequestNews): PullRequestNews["kind"] | "conflicts" {
  return news.kind === "checks-failed" && news.conflictsWith !== undefined ? "conflicts" : news.kind;
}

/** A pull request that was reopened and closed again is still closed, as the thread was told. */
function withEnd(current: TurnPullRequest, now: number): TurnPullRequest {
  const { state, isVisible } = current.latest;
  const end = state !== "open" ? state : isVisible ? null : "unseen";
  if (end === null || current.news.some(({ kind }) => kind === end)) return current;
  return withNews(current, now, { kind: end });
}

function withWaiting(current: TurnPullRequest, now: number): TurnPullRequest {
  const { waitingSince, news, latest } = current;
  if (waitingSince === null || news.some(({ kind }) => kind === "waiting")) return current;
  if (workingMs(waitingSince, now) < WAITING_MS) return current;
  return withNews(current, now, { kind: "waiting", waitingFor: latest.waitingFor });
}

/** What a piece of news says. Its id and time are the same for every kind. */
type Said<News> = News extends PullRequestNews ? Omit<News, keyof typeof common> : never;

function withNews(current: TurnPullRequest, at: number, said: Said<PullRequestNews>): TurnPullRequest {
  const count = current.count + 1;
  const isEnd = said.kind === "merged" || said.kind === "closed" || said.kind === "unseen";
  if (!isEnd && current.news.length >= NEWS_MAX) return current;
  const added = { ...said, id: String(count), at };
  // What comes later is told later, so nothing waits for more reviews anymore.
  return { ...current, count, news: [...current.news.map(closed), added] };
}

/** What is kept of a report: the reviews are in the news. */
function bounded(reported: KnownPullRequest): KnownPullRequest {
  const { checks, waitingFor, title } = reported;
  const names = (all: readonly string[]) =>
    [...new Set(all.map((name) => nameOf(name, "unnamed")))].slice(0, MAX_NAMES);
  return {
    ...reported,
    title: title === null ? null : lineOf(title),
    checks: { state: checks.state, failed: names(checks.failed) },
    reviews: [],
    waitingFor: names(waitingFor),
  };
}

/** One bounded line. Long texts are cut first, because reading all of them takes time. */
function lineOf(text: string): string {
  return plainLine(startOf(text, WORDS_READ_CHARS), NAME_MAX_CHARS);
}

/** A name in one line, or `unnamed` if nothing of it shows. */
function nameOf(name: string, unnamed: string): string {
  const line = lineOf(name);
  return /[^\p{C}\p{Z}]/u.test(line) ? line : unnamed;
}

/** True while more reviews may join this news. */
export function isGrouping(news: PullRequestNews, now: number): boolean {
  if (news.kind !== "changes-requested" || news.isClosed === true || news.isTold === true) return false;
  // The clock may have been set back since.
  return now < news.at + GROUP_MS && now >= news.at;
}

function closed(news: PullRequestNews): PullRequestNews {
  return news.kind === "changes-requested" && news.isClosed !== true ? { ...news, isClosed: true } : news;
}

/** The news that is told next. */
export function nextNews({ news }: TurnPullRequest): PullRequestNews | undefined {
  return news.find(({ isTold }) => isTold !== true);
}

/** Closes a group of reviews: what its post says stays as it is now. */
export function withClosed(pullRequest: TurnPullRequest, id: string): TurnPullRequest {
  return { ...pullRequest, news: pullRequest.news.map((each) => (each.id === id ? closed(each) : each)) };
}

/** Notes that a piece of news is told, or never will be. */
export function withTold(pullRequest: TurnPullRequest, id: string): TurnPullRequest {
  const news = pullRequest.news.map((each): PullRequestNews => {
    if (each.id !== id) return each;
    if (each.kind === "checks-failed") {
      const { reasons: _, ...kept } = each;
      return { ...kept, isTold: true };
    }
    if (each.kind !== "changes-requested") return { ...each, isTold: true };
    const reviews = each.reviews.map((review) => ({ ...review, author: "", words: "", comments: undefined }));
    return { ...each, reviews, isClosed: true, isTold: true };
  });
  return { ...pullRequest, news };
}

/** Until when a pull request is followed, epoch milliseconds. Null if it no longer is. */
export function followedUntil({ latest, since, changedAt }: TurnPullRequest): number | null {
  if (latest.state === "merged") return null;
  if (latest.state === "closed") return changedAt + CLOSED_FOLLOWED_MS;
  return Math.min(latest.openedAt ?? since, since) + FOLLOWED_MS;
}

/** The time from one moment to another without Saturdays and Sundays (UTC), milliseconds. */
export function workingMs(from: number, to: number): number {
  let sum = 0;
  for (let at = Math.max(from, to - FOLLOWED_MS); at < to;) {
    const dayEnd = (Math.floor(at / DAY_MS) + 1) * DAY_MS;
    const end = Math.min(dayEnd, to);
    const day = new Date(at).getUTCDay();
    if (day !== 0 && day !== 6) sum += end - at;
    at = end;
  }
  return sum;
}
