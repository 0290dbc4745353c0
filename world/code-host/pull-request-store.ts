import { join } from "node:path";
import { z } from "zod";
import { LineComment } from "./line-comment.ts";
import { readJsonFile, replaceJsonFile } from "./json-file.ts";

/** A review. Its state is in GitHub's words. */
export const GivenReview = z.object({
  id: z.int().positive(),
  author: z.string(),
  state: z.enum(["APPROVED", "CHANGES_REQUESTED", "COMMENTED", "DISMISSED"]),
  body: z.string(),
  /** The head that was reviewed. */
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
  /** The full name of the fork that has its branch. Null if the repository itself has it. */
  fork: z.string().nullable().default(null),
  base: z.string(),
  state: z.enum(["open", "closed"]),
  isDraft: z.boolean().default(false),
  labels: z.array(z.string()).default([]),
  assignees: z.array(z.string()).default([]),
  /** People, and teams as `owner/team`, who were asked for a review and haven't given one since. */
  reviewers: z.array(z.string()).default([]),
  /** The reviews, oldest first. */
  reviews: z.array(GivenReview).default([]),
  comments: z.array(Comment).default([]),
  lineComments: z.array(LineComment).default([]),
  createdAt: z.string(),
  updatedAt: z.string(),
  closedAt: z.string().nullable(),
  mergedAt: z.string().nullable(),
  mergedBy: z.string().nullable().default(null),
  mergeCommitSha: z.string().nullable(),
  /**
   * The commit of the base branch when the pull request was closed or merged. While it is open, the
   * branch itself shows the commit.
   */
  baseSha: z.string().nullable(),
  /**
   * The commit at which its branches parted, as of the last time that it was seen open. After a
   * merge, its change starts there.
   */
  mergeBaseSha: z.string(),
});
export type PullRequest = z.infer<typeof PullRequest>;

const StoredPullRequests = z.object({ version: z.literal(1), pullRequests: z.array(PullRequest) });

/** The pull requests of one repository in one JSON file. Each change replaces the whole file. */
export class PullRequestStore {
  readonly #file: string;
  #pullRequests: PullRequest[] = [];

  constructor(dataDir: string, fullName: string) {
    this.#file = join(dataDir, "pull-requests", `${fullName}.json`);
  }

  /** Reads the file. Rejects with `CodeHostError` if it doesn't hold what was once written. */
  async load(): Promise<void> {
    const stored = await readJsonFile(this.#file, StoredPullRequests, "pull requests");
    this.#pullRequests = stored?.pullRequests ?? [];
  }

  /** Returns the pull requests in the order of their numbers. */
  all(): readonly PullRequest[] {
    return this.#pullRequests;
  }

  /**
   * Stores a new or changed pull request. It is on the disk when this resolves. Only one call may
   * run at a time.
   */
  async save(pullRequest: PullRequest): Promise<void> {
    const others = this.#pullRequests.filter(({ number }) => number !== pullRequest.number);
    const next = [...others, pullRequest].toSorted((one, other) => one.number - other.number);
    await replaceJsonFile(this.#file, { version: 1, pullRequests: next });
    this.#pullRequests = next;
  }
}
