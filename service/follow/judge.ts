import { isDeepStrictEqual } from "node:util";
import { SHOWN_CHARS } from "../../src/core/ports/reading.ts";
import { cut } from "../../src/core/text/text.ts";
import { MAX_NAMES, MAX_REVIEWS, type WireFollowedPullRequest } from "../../src/job-client/report-schema.ts";
import { oneLine, printableText } from "../base/printable-text.ts";
import type { HostedCheck, PullFacts } from "../code-host/code-host.ts";
import type { FollowedJob } from "../jobs/followed-store.ts";
import { toTimestamp } from "../jobs/job.ts";

/**
 * The checks that count: where the host says which are required, only those. Null: they can't be
 * read.
 */
export function countingChecks({ checks }: PullFacts): HostedCheck[] | null {
  const required = checks?.filter(({ isRequired }) => isRequired === true) ?? [];
  return required.length > 0 ? required : checks;
}

/** What a pull request comes to, bounded. `failedBefore`: the checks that fail without it, too. */
export function toFollowed(facts: PullFacts, failedBefore: ReadonlySet<string>): WireFollowedPullRequest {
  const { state, isDraft, author } = facts;
  const checks = judgeChecks(countingChecks(facts), failedBefore);
  const review = judgeReviews(facts);
  const blockedBy = state === "open" ? blockOf(facts, checks.state, review) : null;
  const canMerge = facts.isMergeable === null ? null : blockedBy === null;
  return {
    url: facts.url,
    number: facts.number,
    title: oneLine(facts.title, SHOWN_CHARS.line),
    state,
    isDraft,
    review,
    checks: { state: checks.state, failed: checks.failed.map(toName).slice(0, MAX_NAMES) },
    reviews: facts.reviews
      .filter((each) => each.author !== author && (each.state !== "commented" || each.words.trim() !== ""))
      .slice(-MAX_REVIEWS)
      .map(({ id, words, at, ...each }) => ({
        id: cut(id, SHOWN_CHARS.line),
        author: toName(each.author),
        words: cut(printableText(words).trim(), SHOWN_CHARS.reason),
        state: each.state,
        at: toTimestamp(at),
      })),
    waitingFor: state === "open" ? facts.requested.map(toName).slice(0, MAX_NAMES) : [],
    mergeable: state === "open" ? canMerge : null,
    blockedBy,
    headSha: oneLine(facts.headSha, SHOWN_CHARS.line),
    isVisible: true,
    openedAt: toTimestamp(facts.openedAt),
  };
}

function toName(name: string): string {
  return oneLine(name, SHOWN_CHARS.path);
}

function judgeChecks(
  checks: readonly HostedCheck[] | null,
  failedBefore: ReadonlySet<string>,
): WireFollowedPullRequest["checks"] {
  if (checks === null) return { state: "unknown", failed: [] };
  const ours = checks.filter(({ state, name }) => state === "failed" && !failedBefore.has(name));
  const failed = [...new Set(ours.map(({ name }) => name))].toSorted();
  if (failed.length > 0) return { state: "failed", failed };
  return { state: checks.some(({ state }) => state === "pending") ? "pending" : "passed", failed };
}

function judgeReviews({ opinions, author, needsApproval }: PullFacts): WireFollowedPullRequest["review"] {
  const others = opinions.filter((opinion) => opinion.author !== author);
  if (others.some(({ state }) => state === "changes-requested")) return "changes-requested";
  return others.length > 0 && !needsApproval ? "approved" : "none";
}

function blockOf(
  { isMergeable, isDraft, mergeState }: PullFacts,
  checks: WireFollowedPullRequest["checks"]["state"],
  review: WireFollowedPullRequest["review"],
): WireFollowedPullRequest["blockedBy"] {
  if (isMergeable === false || mergeState === "dirty") return "conflicts";
  if (isDraft || mergeState === "draft") return "draft";
  if (mergeState === "behind") return "behind";
  if (mergeState !== "blocked") return null;
  if (checks === "failed" || checks === "pending") return "checks";
  return review === "approved" ? "other" : "reviews";
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** A pull request isn't followed for longer. */
const FOLLOWED_MS = 90 * DAY_MS;
/** A closed one may be opened again. */
const CLOSED_MS = 14 * DAY_MS;
/** An answer that isn't final is asked for again so soon, then after twice as long, and so on. */
const UNKNOWN_MS = 5000;
const MAX_UNKNOWNS = 5;
/** The time since the last change, in parts of which it is looked at. */
const PARTS = { pending: 20, settled: 2 };
const MAX_MS = { pending: 10 * MINUTE_MS, settled: 6 * 60 * MINUTE_MS };
const UNSEEN_AFTER = { refusals: 3, ms: 10 * MINUTE_MS };
const UNSEEN_WAIT_MS = { first: 5 * MINUTE_MS, later: 60 * MINUTE_MS };

/** What following a pull request comes to after a look; `lookAt` null: it is followed no more. */
export type AfterLook = Pick<FollowedJob, "record" | "memory"> & { lookAt: number | null };

/** What a look brought. `updatedAt`: by the host's clock; `listedAt`: what a list said of that. */
type Seen = { record: WireFollowedPullRequest; updatedAt: number; listedAt: number };

/** It was seen. `pollMs`: how often it may be looked at. */
export function afterSeen(
  followed: FollowedJob,
  { record, updatedAt, listedAt }: Seen,
  { nowMs, pollMs }: { nowMs: number; pollMs: number },
): AfterLook {
  const { memory } = followed;
  // A copy of the host's that lags behind, or a list that is ahead of it.
  const isStale = updatedAt < Math.max(memory.seenAt, listedAt);
  const isFinal = !isStale && (record.state !== "open" || record.mergeable !== null);
  const unknowns = isFinal ? 0 : memory.unknowns + 1;
  // One that stays behind is the truth now.
  const isOld = updatedAt < memory.seenAt && unknowns <= MAX_UNKNOWNS;
  const seen = isOld ? (followed.record ?? record) : record;
  const isSame = isDeepStrictEqual(seen, followed.record);
  const changedAt = isSame ? Math.min(memory.changedAt, nowMs) : nowMs;
  const seenAt = isOld ? memory.seenAt : updatedAt;
  const next = { record: seen, memory: { seenAt, changedAt, unknowns, refusals: 0, refusedAt: null } };
  if (seen.state === "merged" || isOver(followed, next, nowMs)) return { ...next, lookAt: null };
  if (unknowns > 0 && unknowns <= MAX_UNKNOWNS) {
    return { ...next, lookAt: nowMs + UNKNOWN_MS * 2 ** (unknowns - 1) };
  }
  const pace = seen.checks.state === "pending" ? "pending" : "settled";
  const byAge = Math.min(MAX_MS[pace], (nowMs - changedAt) / PARTS[pace]);
  return { ...next, lookAt: Math.ceil(nowMs + Math.max(pollMs, byAge)) };
}

/** It couldn't be seen. `isRefused`: the host says that it may not be, or that it isn't there. */
export function afterUnseen(followed: FollowedJob, isRefused: boolean, nowMs: number): AfterLook {
  const { record, memory } = followed;
  const refusals = memory.refusals + 1;
  const refusedAt = Math.min(memory.refusedAt ?? nowMs, nowMs);
  const isUnseen = isRefused && refusals >= UNSEEN_AFTER.refusals && nowMs - refusedAt >= UNSEEN_AFTER.ms;
  // People were told how a closed one ended.
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
  const openedAt = Math.max(Date.parse(record?.openedAt ?? ""), 0) || beganAt;
  return (
    nowMs >= openedAt + FOLLOWED_MS || (record?.state === "closed" && nowMs >= memory.changedAt + CLOSED_MS)
  );
}
