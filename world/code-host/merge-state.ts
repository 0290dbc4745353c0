import type { PullRequest, GivenReview } from "./pull-request-store.ts";
import { type Annotation, latestBy, type Protection, type CommitRecords } from "./commit-records.ts";

export type CheckState = "expected" | "pending" | "failing" | "passed";

/** A check run or a commit status, in one form. */
export type Check = {
  name: string;
  state: CheckState;
  isRequired: boolean;
  /** A sentence about the result. */
  summary: string | null;
  text: string | null;
  annotations: readonly Annotation[];
  /** Where people read more. */
  link: string | null;
};

/**
 * GitHub's `mergeable_state`, in the words of `MergeStateStatus` in its GraphQL reference. It is
 * `unknown` until it is clear whether there are conflicts.
 */
export type MergeState = "behind" | "blocked" | "clean" | "dirty" | "draft" | "unknown" | "unstable";

const NOTHING_SAID = { summary: null, text: null, annotations: [], link: null };

/** Returns every check of a commit, and the required checks that haven't reported. */
export function checksOf(records: CommitRecords, sha: string, protection: Protection | null): Check[] {
  const required = new Set(protection?.requiredChecks);
  const heard = [
    ...latestBy(records.checkRuns(sha), ({ name }) => name).map(
      ({ name, status, conclusion, title, summary, text, annotations, detailsUrl }) => ({
        name,
        text,
        annotations,
        link: detailsUrl,
        state: status === "completed" ? stateOfConclusion(conclusion) : ("pending" as const),
        summary: title ?? summary,
      }),
    ),
    ...latestBy(records.statuses(sha), ({ context }) => context).map(
      ({ context, state, description, targetUrl }) => ({
        name: context,
        text: null,
        annotations: [],
        link: targetUrl,
        state:
          state === "success"
            ? ("passed" as const)
            : state === "pending"
              ? ("pending" as const)
              : ("failing" as const),
        summary: description,
      }),
    ),
  ];
  const names = new Set(heard.map(({ name }) => name));
  const missing = [...required].filter((name) => !names.has(name));
  return [
    ...heard.map((check) => ({ ...check, isRequired: required.has(check.name) })),
    ...missing.map((name) => ({ name, state: "expected" as const, isRequired: true, ...NOTHING_SAID })),
  ];
}

/** A skipped or neutral check counts as passed (docs.github.com, "About protected branches"). */
function stateOfConclusion(conclusion: string | null): CheckState {
  return conclusion === "success" || conclusion === "neutral" || conclusion === "skipped"
    ? "passed"
    : "failing";
}

/**
 * Returns each person's newest opinion. A comment isn't one, and a dismissed review takes one back.
 */
export function opinionsOf({ reviews }: PullRequest): GivenReview[] {
  const opinions = reviews.filter(({ state }) => state !== "COMMENTED");
  return latestBy(opinions, ({ author }) => author).filter(({ state }) => state !== "DISMISSED");
}

/** Returns GitHub's `reviewDecision`. Null if the branch's rules don't ask for reviews. */
export function reviewDecisionOf(
  pullRequest: PullRequest,
  protection: Protection | null,
): "APPROVED" | "CHANGES_REQUESTED" | "REVIEW_REQUIRED" | null {
  const opinions = opinionsOf(pullRequest);
  const needed = protection?.approvals ?? 0;
  if (needed === 0) return null;
  if (opinions.some(({ state }) => state === "CHANGES_REQUESTED")) return "CHANGES_REQUESTED";
  return opinions.length < needed ? "REVIEW_REQUIRED" : "APPROVED";
}

/**
 * Returns the reasons of a branch's rules against a merge, in the words of GitHub's 405. Empty if
 * there are none. The words are those that people quote: "Required status check "ci" is failing.",
 * "2 of 2 required status checks have not succeeded: 1 expected and 1 pending." Those for requested
 * changes are made up.
 */
export function rulesAgainst(
  pullRequest: PullRequest,
  protection: Protection | null,
  checks: readonly Check[],
): string[] {
  if (protection === null) return [];
  const decision = reviewDecisionOf(pullRequest, protection);
  const { approvals } = protection;
  const needed = `approving review${approvals === 1 ? " is" : "s are"} required`;
  const reviews =
    decision === null || decision === "APPROVED"
      ? []
      : decision === "CHANGES_REQUESTED"
        ? ["Changes have been requested by a reviewer with write access."]
        : [`At least ${approvals} ${needed} by reviewers with write access.`];
  const required = checks.filter(({ isRequired }) => isRequired);
  const unmet = required.filter(({ state }) => state !== "passed");
  const [first] = unmet;
  if (first === undefined) return reviews;
  const words = (state: CheckState) => (state === "pending" ? "in progress" : state);
  if (required.length === 1) {
    return [...reviews, `Required status check "${first.name}" is ${words(first.state)}.`];
  }
  const counts = (["expected", "failing", "pending"] as const)
    .map((state) => ({ state, count: unmet.filter((check) => check.state === state).length }))
    .filter(({ count }) => count > 0)
    .map(({ state, count }) => `${count} ${words(state)}`);
  const [one = "", ...others] = counts;
  const told = others.length === 0 ? one : `${counts.slice(0, -1).join(", ")} and ${counts.at(-1) ?? ""}`;
  return [
    ...reviews,
    `${unmet.length} of ${required.length} required status checks have not succeeded: ${told}.`,
  ];
}

/** Returns the merge state. If several apply, it is the one that GitHub reports. */
export function mergeStateOf(facts: {
  pullRequest: PullRequest;
  protection: Protection | null;
  checks: readonly Check[];
  hasConflicts: boolean | null;
  isBehind: boolean;
}): MergeState {
  const { pullRequest, protection, checks, hasConflicts, isBehind } = facts;
  if (hasConflicts === null) return "unknown";
  if (hasConflicts) return "dirty";
  if (pullRequest.isDraft) return "draft";
  if (rulesAgainst(pullRequest, protection, checks).length > 0) return "blocked";
  if (protection?.isStrict === true && isBehind) return "behind";
  return checks.every(({ state }) => state === "passed") ? "clean" : "unstable";
}
