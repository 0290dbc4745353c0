import { cut } from "../../src/core/text/text.ts";
import {
  MAX_NAMES,
  MAX_REVIEWS,
  type WireFollowedPullRequest,
} from "../../src/job-client/pull-request-schema.ts";
import { SHOWN_CHARS } from "../../src/core/ports/reading.ts";
import { oneLine, printableText } from "../base/printable-text.ts";
import type { HostedCheck, PullFacts } from "../code-host/code-host.ts";
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
