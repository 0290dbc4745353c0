import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { CodeHostError } from "./errors.ts";

/** A pull request as it is stored. Times are ISO 8601, UTC, to the second. */
export const PullRequest = z.object({
  number: z.int().positive(),
  title: z.string(),
  body: z.string().nullable(),
  author: z.string(),
  head: z.string(),
  base: z.string(),
  state: z.enum(["open", "closed"]),
  isDraft: z.boolean().default(false),
  labels: z.array(z.string()).default([]),
  assignees: z.array(z.string()).default([]),
  /** People, and teams as `owner/team`, who were asked for a review. */
  reviewers: z.array(z.string()).default([]),
  createdAt: z.string(),
  updatedAt: z.string(),
  closedAt: z.string().nullable(),
  mergedAt: z.string().nullable(),
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
    const text = await readFile(this.#file, "utf8").catch((thrown: unknown) => {
      if (isMissing(thrown)) return null;
      throw thrown;
    });
    if (text === null) return;
    try {
      this.#pullRequests = StoredPullRequests.parse(JSON.parse(text)).pullRequests;
    } catch (cause) {
      throw new CodeHostError(`${this.#file} does not hold pull requests. Remove it to start without`, {
        cause,
      });
    }
  }

  /** In the order of their numbers. */
  all(): readonly PullRequest[] {
    return this.#pullRequests;
  }

  /** Stores a new or changed one, durably, before it resolves. One call at a time. */
  async save(pullRequest: PullRequest): Promise<void> {
    const others = this.#pullRequests.filter(({ number }) => number !== pullRequest.number);
    const next = [...others, pullRequest].toSorted((one, other) => one.number - other.number);
    await replaceFile(this.#file, `${JSON.stringify({ version: 1, pullRequests: next }, null, 2)}\n`);
    this.#pullRequests = next;
  }
}

async function replaceFile(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.new`;
  const handle = await open(draft, "w");
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
}
