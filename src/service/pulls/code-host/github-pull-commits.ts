import { z } from "zod";
import { boundedList } from "./bounded-list.ts";
import type { GitHubApi } from "./github-api.ts";
import { unlessRefused } from "./github-fault.ts";
import { readPages } from "./read-pages.ts";

const REPOSITORY = "/repos/{owner}/{repo}";
/** GitHub lists no more commits of a pull request. https://docs.github.com/rest/pulls/pulls */
const MAX_COMMITS = 250;

const Sha = z.string().max(64);
const Listed = z.object({
  sha: Sha,
  commit: z.object({ tree: z.object({ sha: Sha }) }),
  parents: z.array(z.object({ sha: Sha })).max(100),
});
const Commit = z.object({ tree: z.object({ sha: Sha }) });

/** A commit of a pull request, with its tree and its parents. */
export type PullCommit = { sha: string; tree: string; parents: string[] };

/** Reads the commits of a pull request, oldest first. Null if it may have more than are listed. */
export async function readPullCommits(
  api: GitHubApi,
  number: number,
  signal: AbortSignal,
): Promise<PullCommit[] | null> {
  const asked = { doing: "Reading the commits", signal, schema: boundedList(Listed) };
  const listed = await readPages(api, asked, { route: `GET ${REPOSITORY}/pulls/${number}/commits` });
  if (listed.length >= MAX_COMMITS) return null;
  return listed.map(({ sha, commit, parents }) => ({
    sha,
    tree: commit.tree.sha,
    parents: parents.map((parent) => parent.sha),
  }));
}

/** Reads the tree of a commit. Null if the host doesn't have the commit anymore. */
export async function readTree(api: GitHubApi, sha: string, signal: AbortSignal): Promise<string | null> {
  const asked = { doing: "Reading a commit", signal, schema: Commit };
  const found = await unlessRefused(api.ask(asked, `GET ${REPOSITORY}/git/commits/${sha}`), [404, 422]);
  return found?.tree.sha ?? null;
}
