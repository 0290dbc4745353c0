import { z } from "zod";
import { readableItems } from "../../../shared/contract/reading.ts";
import { MAX_ITEMS } from "./bounded-list.ts";

/** The state of a check on a pull request's newest commit. */
export type HostedCheck = {
  name: string;
  state: "pending" | "failed" | "passed";
  /** Null if the host doesn't say. */
  isRequired: boolean | null;
};

/**
 * The result of looking at a pull request. `unreadable` means that the answer doesn't match the
 * API's documentation.
 */
export type PullLook = ReturnType<typeof toLook> | "not-there";

/** A pull request's current state at its host, in the host's words (untrusted, unbounded). */
export type PullFacts = Exclude<PullLook, string>;

/** A person's login at the code host. Their account may have been deleted. */
const Login = z
  .object({ login: z.string() })
  .nullish()
  .transform((person) => person?.login ?? "ghost");

/** A time as GitHub writes it, read as epoch milliseconds. */
export const HostTime = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

/** REST writes states in lower case, GraphQL in upper case. */
const Word = z.string().transform((word) => word.toLowerCase());

/** A list from either API, without null and unreadable items: the last ones. */
export function listOf<T extends z.ZodType>(item: T, max = MAX_ITEMS) {
  const Items = z.array(z.unknown());
  return Items.or(z.object({ nodes: Items }).transform(({ nodes }) => nodes))
    .nullish()
    .transform((items) => items?.slice(-max) ?? [])
    .pipe(readableItems(item, max));
}

const PASSED = ["success", "neutral", "skipped"];
const PENDING = ["pending", "expected"];
const IsRequired = z.boolean().nullish().default(null);
const CheckRun = z.object({
  name: z.string(),
  status: Word,
  conclusion: Word.nullish(),
  isRequired: IsRequired,
});
const CommitStatus = z.object({ context: z.string(), state: Word, isRequired: IsRequired });
/** A check run or a commit status. */
export const ReadCheck = z.union([
  CheckRun.transform(({ name, status, conclusion, isRequired }): HostedCheck => {
    const hasPassed = PASSED.includes(conclusion ?? "neutral");
    return { name, state: status !== "completed" ? "pending" : hasPassed ? "passed" : "failed", isRequired };
  }),
  CommitStatus.transform(({ context: name, state, isRequired }): HostedCheck => {
    const ended = state === "success" ? "passed" : "failed";
    return { name, state: PENDING.includes(state) ? "pending" : ended, isRequired };
  }),
]);

const Opinion = z.object({ state: Word, user: Login });
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
  user: Login,
  mergeable: z.union([z.boolean(), z.string()]).nullish(),
  mergeable_state: Word.nullish(),
  reviewDecision: z.string().nullish(),
  opinions: listOf(Opinion),
  reviews: listOf(Review),
  requested: listOf(z.object({ requestedReviewer: z.object({ login: z.string() }) })),
});

/** Reads a pull request from either API's answer. `checks` are null if they can't be read. */
export function toLook(told: unknown, checks: HostedCheck[] | null) {
  const parsed = Pull.safeParse(told);
  if (!parsed.success) return "unreadable";
  const { state, mergeable = null, ...pull } = parsed.data;
  return {
    number: pull.number,
    url: pull.html_url,
    title: pull.title,
    state: state === "closed" && pull.merged_at ? "merged" : state,
    isDraft: pull.draft === true,
    headRef: pull.headRef,
    /** Its newest commit. */
    headSha: pull.headSha,
    baseRef: pull.baseRef,
    /** Who opened it. */
    author: pull.user,
    /** Epoch milliseconds, by the host's clock. */
    openedAt: pull.created_at,
    updatedAt: pull.updated_at,
    /** True if there are no conflicts. Null while the host is finding out. */
    isMergeable:
      mergeable === null || mergeable === "UNKNOWN" ? null : [true, "MERGEABLE"].includes(mergeable),
    /** GitHub's `mergeable_state`, in lower case. */
    mergeState: pull.mergeable_state ?? "unknown",
    /** True if the branch rules require more approvals. */
    needsApproval: pull.reviewDecision === "REVIEW_REQUIRED",
    /** Each reviewer's newest review that is neither just a comment nor dismissed. */
    opinions: opinionsOf(pull.opinions),
    /** The newest reviews, oldest first. */
    reviews: pull.reviews.flatMap(({ user: author, body, submitted_at: at, ...review }) => {
      const chosen = REVIEWS[review.state];
      if (chosen === undefined) return [];
      const id = String(review.id ?? `${author} ${at}`);
      /** The commit that was reviewed. Null if the host doesn't say. */
      const headSha = review.commit_id ?? review.commit?.oid ?? null;
      return [{ id, author, words: body ?? "", state: chosen, at, headSha }];
    }),
    /** The people, and the teams as `owner/team`, whose review was requested. */
    requested: pull.requested.map(({ requestedReviewer: { login } }) => login),
    /** Null if they can't be read. */
    checks,
  };
}

type Chosen = "approved" | "changes-requested";
/** Other states, such as pending or dismissed reviews, don't count. */
const REVIEWS: Record<string, Chosen | "commented" | undefined> = {
  approved: "approved",
  changes_requested: "changes-requested",
  commented: "commented",
};

/** Each reviewer's newest opinion. The list must be oldest first. */
function opinionsOf(told: readonly z.infer<typeof Opinion>[]) {
  const newest = new Map<string, { author: string; state: Chosen }>();
  for (const { user: author, state: word } of told) {
    const state = REVIEWS[word];
    if (word === "dismissed") newest.delete(author);
    else if (state !== undefined && state !== "commented") newest.set(author, { author, state });
  }
  return [...newest.values()];
}
