import {
  type FailedCheck,
  FOLLOWED_MS,
  MAX_NAMES,
  type ReviewComment,
} from "../../../shared/contract/pull-request.ts";
import type { KnownReview, KnownTurn } from "../known-job.ts";
import {
  closedNews,
  isGrouping,
  newsKindOf,
  type PullRequestNews,
  type UnaskedNews,
} from "./pull-request-news.ts";
import { openStateOf, type TurnPullRequest } from "./turn-pull-request.ts";
import { TurnAct } from "../../../shared/contract/turn.ts";
import { passage, plainLine, startOf } from "../../../shared/text/text.ts";

const DAY_MS = 86_400_000;

/** After this time without a review, Monday to Friday, the thread is told. */
const WAITING_MS = 3 * DAY_MS;
/** After so many news, only the pull request's end is told. */
const NEWS_MAX = 50;
const GROUP_MAX = 20;
const UNASKED_NAMES_MAX = 3;
const NAME_MAX_CHARS = 100;
const WORDS_MAX_CHARS = 300;
const WORDS_MAX_LINES = 10;
const WORDS_READ_CHARS = 2_000;
/** The most reviews of one report whose comments on lines are kept. A post quotes no more. */
const COMMENTED_MAX = 5;
const COMMENT_MAX_CHARS = 200;
/** A longer address of a check's page isn't kept. */
const CHECK_URL_MAX_CHARS = 500;
/** A check's first lines. */
const REASON_MAX_LINES = 4;
/** Conflicts are told at most this often, milliseconds. */
const CONFLICTS_AGAIN_MS = DAY_MS;

/**
 * A pull request with all that is news in how it stands now. `reviews` are new ones, and `reasons`
 * what its failed checks say. Returns the same object if nothing is news.
 */
export function withNewsOf(
  current: TurnPullRequest,
  { reviews, reasons }: { reviews: ReturnType<typeof newReviews>; reasons: readonly FailedCheck[] },
  now: number,
): TurnPullRequest {
  const withAsks = withConflicts(withFailedChecks(withReviews(current, reviews, now), reasons, now), now);
  return withWaiting(withEnd(withAsks, now), now);
}

/**
 * A pull request with the newest turn that nobody asked for, once that has ended with something to
 * tell. `after` is the number of the turn that left the pull request. Returns the same object if
 * there is no news of one.
 */
export function withUnasked(
  current: TurnPullRequest,
  { turns, reviews, after }: { turns: readonly KnownTurn[]; reviews: readonly KnownReview[]; after: number },
  now: number,
): TurnPullRequest {
  const known = current.unasked?.number ?? after;
  const newest = turns.findLast((turn) => turn.number > known && unaskedEnd(turn) !== null);
  const ended = newest === undefined ? null : unaskedEnd(newest);
  const act = TurnAct.safeParse(newest?.kind).data;
  if (newest === undefined || act === undefined || ended === null) return current;
  const { number, summary, reason } = newest;
  const authors = reviews
    .filter(({ state }) => state === "changes-requested")
    .map(({ author }) => boundedName(author, "someone"));
  const reviewers = [...new Set(authors)];
  const said = act === "update" ? "" : (reason ?? summary ?? "");
  const unasked = {
    kind: "unasked" as const,
    id: `turn-${number}`,
    at: now,
    number,
    act,
    ended,
    reviewers: reviewers.length > UNASKED_NAMES_MAX ? [] : reviewers,
    base: boundedLine(current.latest.baseRef ?? ""),
    words: passage(startOf(said, WORDS_READ_CHARS), WORDS_MAX_CHARS, WORDS_MAX_LINES),
  };
  return { ...current, unasked };
}

/** How a turn that nobody asked for has ended. Null if there is nothing to tell of it. */
function unaskedEnd({ isUnasked, kind, outcome }: KnownTurn): UnaskedNews["ended"] | null {
  if (isUnasked !== true) return null;
  if (outcome === "pull-request") return "changed";
  // How the branch stands is shown, so an update is told only if there was one.
  if (kind === "update") return null;
  return outcome === "no-changes" ? "unchanged" : outcome === "failed" ? "failed" : null;
}

/** The reviews that request changes and are new, bounded. */
export function newReviews(news: readonly PullRequestNews[], reviews: readonly KnownReview[]) {
  const known = new Set(
    news.flatMap((each) => (each.kind === "changes-requested" ? each.reviews : [])).map(({ id }) => id),
  );
  return reviews
    .filter(({ state }) => state === "changes-requested")
    .map((review) => ({ ...review, id: boundedLine(review.id) }))
    .filter(({ id }) => !known.has(id) && known.add(id))
    .slice(-GROUP_MAX)
    .map(({ id, author, isBot, words, comments = [] }, n) => ({
      id,
      author: boundedName(author, "someone"),
      ...(isBot === true && { isBot }),
      words: passage(startOf(words, WORDS_READ_CHARS), WORDS_MAX_CHARS, WORDS_MAX_LINES),
      ...(comments.length > 0 && n < COMMENTED_MAX && { comments: comments.map(commentLine) }),
    }));
}

/** A comment in one line, after its file and line. */
function commentLine({ path, line, words }: ReviewComment): string {
  const where = line === null ? boundedLine(path) : `${boundedLine(path)}:${line}`;
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
      name: boundedName(name, "unnamed"),
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
  const conflictsWith = boundedLine(latest.baseRef ?? "");
  // An older version reads it as a check of this name.
  const names = [`conflicts with ${conflictsWith || "the base branch"}`];
  return withNews(current, now, { kind: "checks-failed", names, headSha: null, conflictsWith });
}

function isOfConflicts(news: PullRequestNews): boolean {
  return newsKindOf(news) === "conflicts";
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
  if (openStateOf(current) !== "waiting") return current;
  if (workingMs(waitingSince, now) < WAITING_MS) return current;
  return withNews(current, now, { kind: "waiting", waitingFor: latest.waitingFor });
}

/** The part of a piece of news that is its kind's own. */
type Said<News> = News extends PullRequestNews ? Omit<News, "id" | "at" | "isTold"> : never;

function withNews(current: TurnPullRequest, at: number, said: Said<PullRequestNews>): TurnPullRequest {
  const count = current.count + 1;
  const isEnd = said.kind === "merged" || said.kind === "closed" || said.kind === "unseen";
  if (!isEnd && current.news.length >= NEWS_MAX) return current;
  const added = { ...said, id: String(count), at };
  // What comes later is told later, so nothing waits for more reviews anymore.
  return { ...current, count, news: [...current.news.map(closedNews), added] };
}

/** One bounded line. Long texts are cut first, because reading all of them takes time. */
export function boundedLine(text: string): string {
  return plainLine(startOf(text, WORDS_READ_CHARS), NAME_MAX_CHARS);
}

/** A name in one line, or `unnamed` if it has no visible character. */
export function boundedName(name: string, unnamed: string): string {
  const line = boundedLine(name);
  return /[^\p{C}\p{Z}]/u.test(line) ? line : unnamed;
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
