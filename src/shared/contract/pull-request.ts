import { hash } from "node:crypto";
import { z } from "zod";
import { readingHints } from "./lenient.ts";
import { Count, SHOWN_CHARS, Time } from "./reading.ts";

const DAY_MS = 86_400_000;
/** How long an open pull request is followed, by the service and in its thread, milliseconds. */
export const FOLLOWED_MS = 90 * DAY_MS;
/** How long a closed one is followed, because it may be opened again, milliseconds. */
export const CLOSED_FOLLOWED_MS = 14 * DAY_MS;

/** The most reviews that a record shows, and names in each of its lists. */
export const MAX_REVIEWS = 20;
export const MAX_NAMES = 20;
/** The most comments on lines that a review shows. */
export const MAX_REVIEW_COMMENTS = 5;
/** The most failed checks whose words are shown. */
export const MAX_REASONS = 5;
/** The most changed pages that a record names. */
export const MAX_PAGES = 20;
/** The most pull requests that a record names as overlapping. */
export const MAX_OVERLAPS = 10;
/** Longer than any address shown as a link. A cut address never is one. */
export const MAX_URL_CHARS = 3000;

const Address = z.string().max(MAX_URL_CHARS).register(readingHints, { isWhole: true });
const Line = z.string().max(SHOWN_CHARS.line);
const Name = z.string().max(SHOWN_CHARS.path);

/** A review without an id is what it says: the same review has the same id. */
function idOfReview({ author, words, state, at }: Record<string, unknown>): string {
  const atMs = typeof at === "string" ? Date.parse(at) : null;
  return hash("sha256", JSON.stringify({ author, words, state, at: atMs }));
}

/** A comment that a review makes on a line (untrusted text, bounded). */
export const ReviewComment = z.object({
  path: Name.describe("The file."),
  line: Count.nullable().default(null).describe("The line, or null if it isn't there anymore."),
  words: z
    .string()
    .max(SHOWN_CHARS.reason)
    .register(readingHints, { ifUnreadable: "" })
    .describe("What it says."),
});
export type ReviewComment = z.infer<typeof ReviewComment>;

/** A review of a pull request (untrusted text, bounded). */
export const Review = z.object({
  id: z
    .string()
    .min(1)
    .max(SHOWN_CHARS.line)
    .register(readingHints, { isWhole: true, ifUnreadable: idOfReview })
    .describe("The review's id."),
  author: Name.describe("Who wrote it."),
  isBot: z
    .boolean()
    .optional()
    .describe("True if a program wrote it. The agent answers people alone. Otherwise absent."),
  words: z
    .string()
    .max(SHOWN_CHARS.reason)
    .register(readingHints, { ifUnreadable: "" })
    .describe("What they wrote."),
  state: z.enum(["approved", "changes-requested", "commented"]).describe("What they chose."),
  at: Time.describe("When it was written."),
  headSha: Line.nullable().default(null).describe("The commit that was reviewed, or null if it isn't known."),
  comments: z
    .array(ReviewComment)
    .max(MAX_REVIEW_COMMENTS)
    .optional()
    .describe("Its first comments on lines, at most 5."),
});

/** A changed page of a pull request (untrusted text, bounded). */
export const PullRequestPage = z.object({
  path: Name.describe("The file."),
  status: z.enum(["added", "changed", "removed"]).describe("What happened to it."),
  additions: Count.nullable().describe("Added lines, or null if it isn't text."),
  deletions: Count.nullable().describe("Removed lines, or null if it isn't text."),
  words: Line.nullable().default(null).describe("What the agent says of it, or null."),
});
export type PullRequestPage = z.infer<typeof PullRequestPage>;

/** Why a check failed, in its own words (untrusted text, bounded). */
export const FailedCheck = z.object({
  name: Name.describe("The check's name."),
  words: z
    .string()
    .max(SHOWN_CHARS.reason)
    .register(readingHints, { ifUnreadable: "" })
    .describe("The first lines that it says."),
  url: z.string().max(MAX_URL_CHARS).nullable().default(null).describe("Its page, or null."),
});
export type FailedCheck = z.infer<typeof FailedCheck>;

/** What the checks of a pull request's newest commit come to (untrusted text, bounded). */
export const PullRequestChecks = z
  .object({
    state: z
      .enum(["pending", "failed", "passed", "unknown"])
      .describe("`unknown` if the code host doesn't let the service read them."),
    failed: z
      .array(Name)
      .max(MAX_NAMES)
      .describe("The names of those that failed and didn't fail before the change."),
    reasons: z
      .array(FailedCheck)
      .max(MAX_REASONS)
      .optional()
      .describe("Why the first of them failed, as far as they say so."),
  })
  .register(readingHints, { ifUnreadable: { state: "unknown", failed: [] } })
  .describe("The checks of the newest commit.");

/**
 * Everything that is told of a job's pull request (untrusted text, bounded). {@link
 * FollowedPullRequest} and {@link LeftPullRequest} are parts of it.
 */
export const JobPullRequest = z.object({
  url: z.string().max(MAX_URL_CHARS).describe("Its page."),
  number: z.int().min(1).describe("Its number at the code host."),
  title: Line.describe("Its title."),
  state: z.enum(["open", "closed", "merged"]).describe("Whether it is open, closed or merged."),
  files: Count.nullable().describe("Changed files."),
  additions: Count.nullable().describe("Added lines."),
  deletions: Count.nullable().describe("Removed lines."),
  headRef: Line.describe("Its branch."),
  isDraft: z.boolean().register(readingHints, { ifUnreadable: false }).describe("Whether it is a draft."),
  isEmpty: z
    .boolean()
    .optional()
    .describe("True if merging it would change nothing anymore. Otherwise absent."),
  pages: z
    .array(PullRequestPage)
    .max(MAX_PAGES)
    .optional()
    .describe("Its first changed files, at most 20, with what the agent says of each."),
  review: z
    .enum(["none", "approved", "changes-requested"])
    .register(readingHints, { ifUnreadable: "none" })
    .describe("The result of all reviews, counting each reviewer's newest."),
  checks: PullRequestChecks,
  reviews: z.array(Review).max(MAX_REVIEWS).describe("The newest 20, the oldest first."),
  waitingFor: z.array(Name).max(MAX_NAMES).describe("Reviewers who were asked and haven't reviewed yet."),
  mergeable: z.boolean().nullable().describe("Whether it can be merged, or null while that isn't known."),
  blockedBy: z
    .enum(["conflicts", "checks", "reviews", "draft", "behind", "other"])
    .nullable()
    .describe("Why it can't be merged. Null if it can, or if the code host doesn't say."),
  headSha: Line.describe("The newest commit. Everything here is about it."),
  isVisible: z
    .boolean()
    .register(readingHints, { ifUnreadable: true })
    .describe("False if the service can't see it anymore. This is what it saw last."),
  openedAt: Time.describe("When it was opened."),
  baseRef: Line.optional().describe("The branch that it goes to."),
  overlaps: z
    .array(Address)
    .max(MAX_OVERLAPS)
    .optional()
    .describe("Pages of the service's other open pull requests that change the same lines."),
  preview: Address.optional().describe("Where its pages can be looked at before the merge."),
  live: Address.optional().describe("Where the change can be seen after the merge."),
  roundsLeft: Count.optional().describe(
    "How many more times the agent may answer reviews and failed checks. Absent if that isn't known.",
  ),
});

/** A pull request as its turn left it. */
export const LeftPullRequest = JobPullRequest.pick({
  url: true,
  number: true,
  title: true,
  state: true,
  files: true,
  additions: true,
  deletions: true,
  headRef: true,
  headSha: true,
  isDraft: true,
  isEmpty: true,
  pages: true,
  overlaps: true,
})
  .partial({ isDraft: true })
  .meta({
    id: "PullRequest",
    description:
      "A pull request as the turn left it, or null if the code host didn't say. What the code host " +
      "didn't say of it is null or absent.",
  });
export type LeftPullRequest = z.infer<typeof LeftPullRequest>;

/** A job's newest pull request as it stands at the code host now. */
export const FollowedPullRequest = JobPullRequest.omit({
  files: true,
  additions: true,
  deletions: true,
  headRef: true,
  isEmpty: true,
  pages: true,
}).meta({ id: "FollowedPullRequest", description: "The job's newest pull request as it stands now." });
export type FollowedPullRequest = z.infer<typeof FollowedPullRequest>;
