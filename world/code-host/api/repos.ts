import type { Hono } from "hono";
import type { Host } from "../host.ts";
import { headBranch, type PullRequests } from "../pull-requests.ts";
import type { Repository } from "../repository.ts";
import { notFound } from "./errors.ts";
import type { ApiEnv } from "./env.ts";
import { branchShape, refShape, repositoryShape } from "./shapes.ts";

/** Returns the repository that a path names, with its pull requests. Throws GitHub's 404. */
export function mustFind(host: Host, owner: string, name: string): PullRequests {
  const found = host.find(owner, name);
  if (!found || host.rules.hiddenRepositories.has(found.repository.fullName)) throw notFound();
  return found;
}

export function addRepositoryRoutes(api: Hono<ApiEnv>, host: Host): void {
  api.get("/repos/:owner/:repo", async (context) => {
    const { repository } = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const defaultBranch = await repository.defaultBranch();
    const isPrivate = host.rules.privateRepositories.has(repository.fullName);
    if (isPrivate && !context.get("canPush")) throw notFound();
    const shape = repositoryShape(repository, defaultBranch, context.get("canPush"), host.links());
    const parent = host.rules.forks.get(repository.fullName);
    const made = parent === undefined ? {} : { fork: true, parent: { full_name: parent } };
    return context.json({
      ...shape,
      ...made,
      private: isPrivate,
      visibility: isPrivate ? "private" : "public",
    });
  });

  // A branch's name may have slashes, escaped or not.
  api.get("/repos/:owner/:repo/branches/:branch{.+}", async (context) => {
    const { repository, records } = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const name = context.req.param("branch");
    const sha = await repository.branchSha(name);
    if (sha === null) throw notFound();
    return context.json(branchShape({ name, sha }, records.protection(name), repository, host.links()));
  });

  // The commits and files that GitHub's answer also has are left out
  // (docs.github.com/rest/commits/commits).
  api.get("/repos/:owner/:repo/compare/:basehead{.+}", async (context) => {
    const { repository } = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const ends = context.req.param("basehead").split("...");
    const [base, head] = await Promise.all(ends.map((end) => shaOf(repository, end)));
    if (ends.length !== 2 || typeof base !== "string" || typeof head !== "string") throw notFound();
    const mergeBase = await repository.mergeBase(base, head);
    if (mergeBase === null) throw notFound();
    const [ahead, behind] = await Promise.all([
      repository.commitsBetween(mergeBase, head),
      repository.commitsBetween(mergeBase, base),
    ]);
    const isBehind = behind.length > 0;
    return context.json({
      status: ahead.length > 0 ? (isBehind ? "diverged" : "ahead") : isBehind ? "behind" : "identical",
      ahead_by: ahead.length,
      behind_by: behind.length,
      total_commits: ahead.length,
      base_commit: { sha: base },
      merge_base_commit: { sha: mergeBase },
    });
  });

  // Octokit escapes the slash after "heads", too.
  api.get("/repos/:owner/:repo/git/ref/:ref{.+}", async (context) => {
    const { repository } = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const name = /^heads\/(.+)$/.exec(context.req.param("ref"))?.[1] ?? "";
    const sha = await repository.branchSha(name);
    if (sha === null) throw notFound();
    return context.json(refShape(name, sha, repository, host.links()));
  });
}

/**
 * Resolves to the commit that a name stands for: a branch, with or without its owner, or a commit.
 */
export async function shaOf(repository: Repository, ref: string): Promise<string | null> {
  if (/^[0-9a-f]{40}$/.test(ref)) return ref;
  const branch = headBranch(ref, repository.owner);
  return branch === null ? null : repository.branchSha(branch);
}
