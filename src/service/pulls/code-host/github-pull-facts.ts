import { z } from "zod";
import { type FollowedPullRequest, MAX_NAMES, MAX_REVIEWS } from "../../../shared/contract/pull-request.ts";
import { SHOWN_CHARS } from "../../../shared/contract/reading.ts";
import { cut, startOf } from "../../../shared/text/text.ts";
import { oneLine, printableText } from "../../base/printable-text.ts";
import type { HostedPage } from "../../config/page-address.ts";
import { Account } from "./account.ts";
import { listOf } from "./bounded-list.ts";
import { checksQuery, type HostedCheck } from "./github-checks.ts";

/**
 * A pull request's current state at its host (untrusted), cut to the size that is shown, and beside
 * it what is needed to judge the rest of it.
 */
export type PullFacts = Omit<
  FollowedPullRequest,
  "review" | "checks" | "mergeable" | "blockedBy" | "preview" | "live"
> & {
  headRef: string;
  baseRef: string;
  /** Who opened it. */
  author: string;
  /** Epoch milliseconds, by the host's clock. */
  updatedAt: number;
  /** True if there are no conflicts. Null while the host is finding out. */
  isMergeable: boolean | null;
  /** GitHub's `mergeable_state`, in lower case. */
  mergeState: string;
  /** True if the branch rules require more approvals. */
  needsApproval: boolean;
  /**
   * Each reviewer's newest review that is neither just a comment nor dismissed. If the host says
   * who may write to the repository, only theirs.
   */
  opinions: { author: string; state: Chosen }[];
  /** Null if they can't be read. */
  checks: HostedCheck[] | null;
  /** Where the newest commit was deployed to, newest first. Empty if nobody asked. */
  deployedTo: string[];
  /** The first files that it adds or changes. Empty if nobody asked. */
  pages: HostedPage[];
};

/**
 * The result of looking at a pull request. `unreadable` means that the answer doesn't match the
 * API's documentation.
 */
export type PullLook = PullFacts | "not-there" | "unreadable";

/** A time as GitHub writes it, read as epoch milliseconds. */
export const HostTime = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

/** REST writes states in lower case, GraphQL in upper case. */
const Word = z.string().transform((word) => word.toLowerCase());

/** The most reviews whose text is read. */
const MAX_WORDS = 30;

/**
 * The part of a GraphQL query that asks for a pull request, with the names that REST uses.
 * https://docs.github.com/en/graphql/reference/objects#pullrequest
 */
export function pullQuery(
  number: number,
  { readsTeams, readsPreviews }: { readsTeams: boolean; readsPreviews: boolean },
): string {
  return `p${number}: pullRequest(number: ${number}) {
    number html_url: url title state draft: isDraft created_at: createdAt updated_at: updatedAt
    headRef: headRefName headSha: headRefOid baseRef: baseRefName
    mergeable mergeable_state: mergeStateStatus reviewDecision
    user: author { __typename login }
    opinions: latestOpinionatedReviews(first: 100, writersOnly: true) {
      nodes { state user: author { __typename login } }
    }
    reviews(last: ${MAX_WORDS}, states: [APPROVED, CHANGES_REQUESTED, COMMENTED]) {
      nodes {
        id: fullDatabaseId state body submitted_at: submittedAt commit { oid }
        user: author { __typename login } mayWrite: authorCanPushToRepository
      }
    }
    requested: reviewRequests(first: 20) { nodes { requestedReviewer {
      ... on User { login } ... on Bot { login } ... on Mannequin { login }
      ${readsTeams ? "... on Team { login: combinedSlug }" : ""}
    } } }
    ${checksQuery(number)}
    ${readsPreviews ? PREVIEWS : ""}
  }`;
}

const MAX_DEPLOYMENTS = 20;
const MAX_STATUSES = 5;
const MAX_PAGES = 50;
/** https://docs.github.com/en/graphql/reference/objects#deployment */
const PREVIEWS = `newest: commits(last: 1) { nodes { commit { deployments(last: ${MAX_DEPLOYMENTS}) { nodes {
    statuses(first: ${MAX_STATUSES}) { nodes { state environmentUrl } }
  } } } } }
  changed: files(first: ${MAX_PAGES}) { nodes { path additions changeType } }`;
const Deployment = z.object({
  statuses: listOf(z.object({ state: Word, environmentUrl: z.string().max(2000).nullish() })),
});
const Deployed = z.object({ commit: z.object({ deployments: listOf(Deployment) }) });
const ChangedFile = z.object({ path: z.string(), additions: z.int(), changeType: Word });

const Opinion = z.object({
  state: Word,
  user: Account,
  /** Absent if the host doesn't say. */
  mayWrite: z.boolean().nullish(),
});
const Review = Opinion.extend({
  id: z.union([z.int(), z.string()]).nullish(),
  body: z.string().nullish(),
  submitted_at: HostTime,
  commit_id: z.string().nullish(),
  commit: z.object({ oid: z.string() }).nullish(),
});
/** A pull request with REST's names (which our GraphQL query uses, too), flattened. */
const Pull = z.object({
  number: z.int().positive(),
  html_url: z.url({ protocol: /^https?$/ }).max(2000),
  title: z.string(),
  state: Word.pipe(z.enum(["open", "closed", "merged"])),
  merged_at: z.string().nullish(),
  draft: z.boolean().nullish(),
  created_at: HostTime,
  updated_at: HostTime,
  headRef: z.string(),
  headSha: z.string(),
  baseRef: z.string(),
  user: Account,
  mergeable: z.union([z.boolean(), z.string()]).nullish(),
  mergeable_state: Word.nullish(),
  reviewDecision: z.string().nullish(),
  opinions: listOf(Opinion),
  reviews: listOf(Review),
  newest: listOf(Deployed, 1),
  changed: listOf(ChangedFile),
  requested: listOf(z.object({ requestedReviewer: z.object({ login: z.string() }) })),
});

/** Reads a pull request from either API's answer. `checks` are null if they can't be read. */
export function toLook(told: unknown, checks: HostedCheck[] | null): PullFacts | "unreadable" {
  const parsed = Pull.safeParse(told);
  if (!parsed.success) return "unreadable";
  const { mergeable = null, merged_at: mergedAt, ...pull } = parsed.data;
  const state = pull.state === "closed" && mergedAt ? "merged" : pull.state;
  const requested = pull.requested.map(({ requestedReviewer: { login } }) => toName(login));
  return {
    number: pull.number,
    url: pull.html_url,
    title: toLine(pull.title),
    state,
    isDraft: pull.draft === true,
    reviews: pull.reviews
      .flatMap((review) => toReview(review, pull.user.login))
      .slice(-MAX_REVIEWS)
      .map(cutReview),
    // The people, and the teams as `owner/team`, whose review was requested.
    waitingFor: state === "open" ? requested.slice(0, MAX_NAMES) : [],
    headSha: toLine(pull.headSha),
    isVisible: true,
    openedAt: inSeconds(pull.created_at),
    headRef: pull.headRef,
    baseRef: pull.baseRef,
    author: pull.user.login,
    updatedAt: pull.updated_at,
    isMergeable:
      mergeable === null || mergeable === "UNKNOWN" ? null : [true, "MERGEABLE"].includes(mergeable),
    mergeState: pull.mergeable_state ?? "unknown",
    needsApproval: pull.reviewDecision === "REVIEW_REQUIRED",
    opinions: opinionsOf(pull.opinions),
    checks,
    deployedTo: deployedTo(pull.newest),
    pages: pull.changed.filter(({ changeType }) => changeType !== "deleted"),
  };
}

/**
 * The addresses of deployments, newest first. GitHub marks a deployment as inactive when another
 * pull request is deployed to an environment of that name, but its preview is still there.
 */
function deployedTo(commits: readonly z.infer<typeof Deployed>[]): string[] {
  return commits
    .flatMap(({ commit }) => commit.deployments)
    .toReversed()
    .flatMap(({ statuses }) => statuses.find(({ state }) => state === "success")?.environmentUrl || []);
}

type Reviewed = FollowedPullRequest["reviews"][number];

/**
 * A review, unless it is the author's own, says nothing, or doesn't count. Of people who may not
 * write to the repository, it is a comment, whatever they choose: so the host takes it, too.
 */
function toReview(
  { user: { login: author, isBot }, body, mayWrite, ...review }: z.infer<typeof Review>,
  opener: string,
): Reviewed[] {
  const chosen = REVIEWS[review.state];
  const state = mayWrite === false && chosen !== undefined ? "commented" : chosen;
  const words = body ?? "";
  if (state === undefined || author === opener) return [];
  if (state === "commented" && words.trim() === "") return [];
  const id = String(review.id || `${author} ${review.submitted_at}`);
  const headSha = review.commit_id ?? review.commit?.oid ?? null;
  const at = inSeconds(review.submitted_at);
  return [{ id, author, ...(isBot && { isBot }), words, state, at, headSha }];
}

function cutReview({ id, author, words, headSha, ...review }: Reviewed): Reviewed {
  return {
    id: cut(id, SHOWN_CHARS.line),
    author: toName(author),
    words: cut(printableText(startOf(words, MAX_READ_CHARS)).trim(), SHOWN_CHARS.reason),
    ...review,
    headSha: headSha && toLine(headSha),
  };
}

/** More isn't read, because this thread serves everybody. Less is shown. */
const MAX_READ_CHARS = 8000;

function toLine(text: string, maxLength: number = SHOWN_CHARS.line): string {
  return oneLine(startOf(text, MAX_READ_CHARS), maxLength);
}

/** A name of a person, a team or a check, in one line and cut to the size that is shown. */
export function toName(name: string): string {
  return toLine(name, SHOWN_CHARS.path);
}

/** The time as it is sent. Parts of a second of it would look like a change. */
function inSeconds(atMs: number): number {
  return Math.floor(atMs / 1000) * 1000;
}

type Chosen = "approved" | "changes-requested";
/** Other states, such as pending or dismissed reviews, don't count. */
const REVIEWS: Record<string, Chosen | "commented" | undefined> = {
  approved: "approved",
  changes_requested: "changes-requested",
  commented: "commented",
};

/** The newest opinion of each reviewer who counts. The list must be oldest first. */
function opinionsOf(told: readonly z.infer<typeof Opinion>[]): PullFacts["opinions"] {
  const newest = new Map<string, PullFacts["opinions"][number]>();
  for (const { user, state: word, mayWrite } of told) {
    if (mayWrite === false) continue;
    const author = user.login;
    const state = REVIEWS[word];
    if (word === "dismissed") newest.delete(author);
    else if (state !== undefined && state !== "commented") newest.set(author, { author, state });
  }
  return [...newest.values()];
}
