import { isDeepStrictEqual } from "node:util";
import {
  CLOSED_FOLLOWED_MS,
  FOLLOWED_MS,
  type FollowedPullRequest,
  MAX_NAMES,
} from "../../../shared/contract/pull-request.ts";
import { SHOWN_CHARS } from "../../../shared/contract/reading.ts";
import { oneLine } from "../../base/printable-text.ts";
import type { HostedCheck } from "../code-host/github-checks.ts";
import { type PullFacts, toName } from "../code-host/github-pull-facts.ts";
import type { ReviewComments } from "../code-host/github-review-comments.ts";
import type { FollowedJob } from "../../jobs/followed-store.ts";

/**
 * The checks that count. If the host says which are required, only those do. Null if they can't be
 * read.
 */
export function countingChecks({ checks }: PullFacts): HostedCheck[] | null {
  const required = checks?.filter(({ isRequired }) => isRequired === true) ?? [];
  return required.length > 0 ? required : checks;
}

/**
 * The pull request, judged. `failedBefore` are the checks that also fail without the change, and
 * `comments` are those on lines, by review.
 */
export function toFollowed(
  facts: PullFacts,
  failedBefore: ReadonlySet<string>,
  comments: ReviewComments = new Map(),
): FollowedPullRequest {
  const { headRef: _, author: _author, updatedAt: _at, isMergeable, ...others } = facts;
  const {
    mergeState: _state,
    needsApproval: _needs,
    opinions: _opinions,
    deployedTo: _to,
    pages: _pages,
    ...pull
  } = others;
  const checks = judgeChecks(countingChecks(facts), failedBefore);
  const review = judgeReviews(facts);
  const isOpen = pull.state === "open";
  const blockedBy = isOpen ? blockOf(facts, checks.state, review) : null;
  const mergeable = isOpen && isMergeable !== null ? blockedBy === null : null;
  const baseRef = oneLine(pull.baseRef, SHOWN_CHARS.line);
  const reviews = pull.reviews.map((each) => {
    const its = comments.get(each.id) ?? [];
    return its.length === 0 ? each : { ...each, comments: its };
  });
  return { ...pull, reviews, baseRef, review, checks, mergeable, blockedBy };
}

function judgeChecks(
  checks: readonly HostedCheck[] | null,
  failedBefore: ReadonlySet<string>,
): FollowedPullRequest["checks"] {
  if (checks === null) return { state: "unknown", failed: [] };
  const ours = checks.filter(({ state, name }) => state === "failed" && !failedBefore.has(name));
  const failed = [...new Set(ours.map(({ name }) => name))].toSorted();
  if (failed.length > 0) return { state: "failed", failed: failed.slice(0, MAX_NAMES).map(toName) };
  return { state: checks.some(({ state }) => state === "pending") ? "pending" : "passed", failed };
}

function judgeReviews({ opinions, author, needsApproval }: PullFacts): FollowedPullRequest["review"] {
  const others = opinions.filter((opinion) => opinion.author !== author);
  if (others.some(({ state }) => state === "changes-requested")) return "changes-requested";
  return others.length > 0 && !needsApproval ? "approved" : "none";
}

function blockOf(
  { isMergeable, isDraft, mergeState }: PullFacts,
  checks: FollowedPullRequest["checks"]["state"],
  review: FollowedPullRequest["review"],
): FollowedPullRequest["blockedBy"] {
  if (isMergeable === false || mergeState === "dirty") return "conflicts";
  if (isDraft || mergeState === "draft") return "draft";
  if (mergeState === "behind") return "behind";
  if (mergeState !== "blocked") return null;
  if (checks === "failed" || checks === "pending") return "checks";
  return review === "approved" ? "other" : "reviews";
}

const MINUTE_MS = 60_000;
/** If an answer isn't final, we ask again after this time, then after twice as long, and so on. */
const UNKNOWN_MS = 5000;
const MAX_UNKNOWNS = 5;
/**
 * The time between two looks is a fraction of the time since the last change: one part of so many.
 */
const PARTS = { pending: 20, settled: 2 };
const MAX_MS = { pending: 10 * MINUTE_MS, settled: 6 * 60 * MINUTE_MS };
const UNSEEN_AFTER = { refusals: 3, ms: 10 * MINUTE_MS };
const UNSEEN_WAIT_MS = { first: 5 * MINUTE_MS, later: 60 * MINUTE_MS };

/** The record after a look. If `lookAt` is null, the pull request is no longer followed. */
export type AfterLook = Pick<FollowedJob, "record" | "memory"> & { lookAt: number | null };

/**
 * The result of a look. `updatedAt` is by the host's clock, and `listedAt` is what the list said.
 */
type Seen = { record: FollowedPullRequest; updatedAt: number; listedAt: number };

/** The pull request was seen. `pollMs` is the shortest time between two looks. */
export function afterSeen(
  followed: FollowedJob,
  { record, updatedAt, listedAt }: Seen,
  { nowMs, pollMs }: { nowMs: number; pollMs: number },
): AfterLook {
  const { memory } = followed;
  // True if the host answered from a copy that lags behind, or the list was ahead.
  const isStale = updatedAt < Math.max(memory.seenAt, listedAt);
  const isFinal = !isStale && (record.state !== "open" || record.mergeable !== null);
  const unknowns = isFinal ? 0 : memory.unknowns + 1;
  const stales = isStale ? memory.stales + 1 : 0;
  // If it stays behind, it must be right.
  const isOld = updatedAt < memory.seenAt && stales <= MAX_UNKNOWNS;
  const found = isOld ? (followed.record ?? record) : record;
  const seen = isFinal || unknowns > MAX_UNKNOWNS ? found : withKnownBlock(found, followed.record);
  const isSame = isDeepStrictEqual(seen, followed.record);
  const changedAt = isSame ? Math.min(memory.changedAt, nowMs) : nowMs;
  const seenAt = isOld ? memory.seenAt : updatedAt;
  const next = {
    record: seen,
    memory: { seenAt, changedAt, unknowns, stales, refusals: 0, refusedAt: null },
  };
  if (seen.state === "merged" || isOver(followed, next, nowMs)) return { ...next, lookAt: null };
  if (unknowns > 0 && unknowns <= MAX_UNKNOWNS) {
    return { ...next, lookAt: nowMs + UNKNOWN_MS * 2 ** (unknowns - 1) };
  }
  const pace = seen.checks.state === "pending" ? "pending" : "settled";
  const byAge = Math.min(MAX_MS[pace], (nowMs - changedAt) / PARTS[pace]);
  return { ...next, lookAt: Math.ceil(nowMs + Math.max(pollMs, byAge)) };
}

/**
 * The host forgets what blocks a pull request when its base branch moves, and finds out again.
 * Until it has, what was known of the same commit stands.
 */
function withKnownBlock(
  record: FollowedPullRequest,
  before: FollowedPullRequest | null,
): FollowedPullRequest {
  const isSame = before?.state === "open" && record.state === "open" && before.headSha === record.headSha;
  if (!isSame || record.mergeable !== null) return record;
  return { ...record, mergeable: before.mergeable, blockedBy: before.blockedBy };
}

/**
 * The pull request couldn't be seen. `isRefused` is true if the host says that it may not be seen
 * or doesn't exist.
 */
export function afterUnseen(followed: FollowedJob, isRefused: boolean, nowMs: number): AfterLook {
  const { record, memory } = followed;
  const refusals = memory.refusals + 1;
  const refusedAt = Math.min(memory.refusedAt ?? nowMs, nowMs);
  const isUnseen = isRefused && refusals >= UNSEEN_AFTER.refusals && nowMs - refusedAt >= UNSEEN_AFTER.ms;
  // People were already told that it was closed.
  const isVisible = record?.state === "closed" || (record?.isVisible !== false && !isUnseen);
  const next = { record: record && { ...record, isVisible }, memory: { ...memory, refusals, refusedAt } };
  const longestMs = isVisible ? UNSEEN_WAIT_MS.first : UNSEEN_WAIT_MS.later;
  const waitMs = isRefused ? longestMs : Math.min(longestMs, UNKNOWN_MS * 2 ** Math.min(refusals - 1, 10));
  return { ...next, lookAt: isOver(followed, next, nowMs) ? null : nowMs + waitMs };
}

function isOver(
  { beganAt }: FollowedJob,
  { record, memory }: Pick<FollowedJob, "record" | "memory">,
  nowMs: number,
): boolean {
  const openedAt = Math.max(record?.openedAt ?? 0, 0) || beganAt;
  return (
    nowMs >= openedAt + FOLLOWED_MS ||
    (record?.state === "closed" && nowMs >= memory.changedAt + CLOSED_FOLLOWED_MS)
  );
}
