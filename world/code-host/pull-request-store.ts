import { join } from "node:path";
import { z } from "zod";
import { readJsonFile, replaceJsonFile } from "./json-file.ts";

/** A review, in GitHub's words for its state. */
export const GivenReview = z.object({
  id: z.int().positive(),
  author: z.string(),
  state: z.enum(["APPROVED", "CHANGES_REQUESTED", "COMMENTED", "DISMISSED"]),
  body: z.string(),
  /** The head that was looked at. */
  commitSha: z.string(),
  submittedAt: z.string(),
});
export type GivenReview = z.infer<typeof GivenReview>;

/** A comment in a pull request's conversation. */
export const Comment = z.object({
  id: z.int().positive(),
  author: z.string(),
  body: z.string(),
  createdAt: z.string(),
});
export type Comment = z.infer<typeof Comment>;

/** A pull request as it is stored. Times are ISO 8601, UTC, to the second. */
export const PullRequest = z.object({
  number: z.int().positive(),
  title: z.string(),
  body: z.string().nullable(),
  author: z.string(),
  head: z.string(),
  /** The full name of the fork that its branch is in. Null if it is in the repository itself. */
  fork: z.string().nullable().default(null),
  base: z.string(),
  state: z.enum(["open", "closed"]),
  isDraft: z.boolean().default(false),
  labels: z.array(z.string()).default([]),
  assignees: z.array(z.string()).default([]),
  /** People, and teams as `owner/team`, who were asked for a review and haven't given one since. */
  reviewers: z.array(z.string()).default([]),
  /** Oldest first. */
  reviews: z.array(GivenReview).default([]),
  comments: z.array(Comment).default([]),
  createdAt: z.string(),
  updatedAt: z.string(),
  closedAt: z.string().nullable(),
  mergedAt: z.string().nullable(),
  mergedBy: z.string().nullable().default(null),
  mergeCommitSha: z.string().nullable(),
  /**
   * Where the base branch was when the pull request was closed or merged; while it is open, the
   * branch itself tells.
   */
  baseSha: z.string().nullable(),
  /**
   * Where its branches had parted when it was last looked at open: what its change is counted from,
   * once merged.
   */
  mergeBaseSha: z.string(),
});
export type PullRequest = z.infer<typeof PullRequest>;

const StoredPullRequests = z.object({ version: z.literal(1), pullRequests: z.array(PullRequest) });

/** The pull requests of one repository in one JSON file, replaced as a whole by each change. */
export class PullRequestStore {
  readonly #file: string;
  #pullRequests: PullRequest[] = [];

  constructor(dataDir: string, fullName: string) {
    this.#file = join(dataDir, "pull-requests", `${fullName}.json`);
  }

  /** Reads what is there. Throws `CodeHostError` when that is not what was once written. */
  async load(): Promise<void> {
    const stored = await readJsonFile(this.#file, StoredPullRequests, "pull requests");
    this.#pullRequests = stored?.pullRequests ?? [];
  }

  /** In the order of their numbers. */
  all(): readonly PullRequest[] {
    return this.#pullRequests;
  }

  /** Stores a new or changed one, durably, before it resolves. One call at a time. */
  async save(pullRequest: PullRequest): Promise<void> {
    const others = this.#pullRequests.filter(({ number }) => number !== pullRequest.number);
    const next = [...others, pullRequest].toSorted((one, other) => one.number - other.number);
    await replaceJsonFile(this.#file, { version: 1, pullRequests: next });
    this.#pullRequests = next;
  }
}
