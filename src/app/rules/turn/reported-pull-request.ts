import { MAX_NAMES } from "../../../shared/contract/pull-request.ts";
import type { KnownPullRequest, KnownReview, KnownTurn } from "../known-job.ts";
import { boundedLine, boundedName, newReviews, withNewsOf, withUnasked } from "./found-news.ts";
import { openStateOf, type TurnPullRequest, withTold } from "./turn-pull-request.ts";

const DAY_MS = 86_400_000;

/**
 * If the app first hears of a pull request this long after its link (milliseconds), earlier events
 * are shown but not told. After an upgrade, this applies to events of the last months.
 */
const LATE_MS = 3 * DAY_MS;
/** Clocks differ: a review that is this much older than the link may have come after it. */
const HISTORY_MS = 10 * 60_000;
/** So many earlier reviews are remembered, the newest. */
const EARLIER_MAX = 100;

/** What else is known when a job service says how a pull request stands. */
type LookAt = {
  url: string;
  /** When the thread got the link, epoch milliseconds. Earlier reviews are no news. */
  linkedAt: number;
  now: number;
  /** True if a service of level 2 said so. */
  takesActs?: boolean;
  /** The job's turns as reported, and the number of the one that left the pull request. */
  turns?: readonly KnownTurn[];
  after?: number;
};

/**
 * The pull request after the job service said how it stands, and the news in that. Safe to repeat,
 * and in any order: nothing is news twice, and what is merged stays so. Returns the same object if
 * nothing changed.
 */
export function withPullRequest(
  known: TurnPullRequest | undefined,
  reported: KnownPullRequest,
  { url, linkedAt, now, takesActs = false, turns = [], after = Infinity }: LookAt,
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
          .map(({ id }) => boundedLine(id))
          .slice(-EARLIER_MAX)
      : before.earlier;
  const isEarlier = (review: KnownReview) =>
    earlier === undefined ? isOlder(review) : earlier.includes(boundedLine(review.id));
  const later = reported.reviews.filter((review) => !isEarlier(review));
  const added = newReviews(before?.news ?? [], later);
  // Without the review's commit, it is about what was there when the app heard of it.
  const isFirst = added.length > 0 || before?.latest.review !== "changes-requested";
  // A review that comes when this commit was known is about it, whatever commit it was begun on.
  const isOfKnownHead = added.length > 0 && before?.latest.headSha === latest.headSha;
  const reviewedSha = isOfKnownHead
    ? latest.headSha
    : (reviewedShaOf(latest, reported.reviews) ?? (isFirst ? latest.headSha : earlierSha));
  const isRequested = latest.review === "changes-requested";
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
  } else if (latest.state === "open" && !latest.isVisible) {
    next.waitingSince = before?.waitingSince ?? null;
  }
  const { reasons = [] } = reported.checks;
  const withAsks = withNewsOf(next, { reviews: added, reasons }, now);
  const withAll = withUnasked(withAsks, { turns, reviews: reported.reviews, after }, now);
  const isLate = before === undefined && now - linkedAt > LATE_MS;
  const all = [...withAll.news, ...(withAll.unasked === undefined ? [] : [withAll.unasked])];
  const told = isLate ? all.reduce((each, { id }) => withTold(each, id), withAll) : withAll;
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

/** The commit of a review that asks for changes: the newest commit, or else the newest review's. */
function reviewedShaOf({ headSha }: KnownPullRequest, reviews: readonly KnownReview[]) {
  const requests = reviews.filter(({ state }) => state === "changes-requested");
  return (requests.findLast((review) => review.headSha === headSha) ?? requests.at(-1))?.headSha;
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

/** The part of a report that is kept, bounded. The reviews are in the news. */
function bounded(reported: KnownPullRequest): KnownPullRequest {
  const { checks, waitingFor, title, baseRef } = reported;
  const names = (all: readonly string[]) =>
    [...new Set(all.map((name) => boundedName(name, "unnamed")))].slice(0, MAX_NAMES);
  return {
    ...reported,
    title: title === null ? null : boundedLine(title),
    ...(baseRef !== undefined && { baseRef: boundedLine(baseRef) }),
    checks: { state: checks.state, failed: names(checks.failed) },
    reviews: [],
    waitingFor: names(waitingFor),
  };
}
