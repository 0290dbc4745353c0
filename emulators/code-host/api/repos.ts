import type { Hono } from "hono";
import type { Host } from "../host.ts";
import type { PullRequests } from "../pull-requests.ts";
import { notFound } from "./errors.ts";
import type { ApiEnv } from "./env.ts";
import { branchShape, refShape, repositoryShape } from "./shapes.ts";

/** The repository that a path names, with its pull requests. Throws GitHub's 404. */
export function mustFind(host: Host, owner: string, name: string): PullRequests {
  const found = host.find(owner, name);
  if (!found) throw notFound();
  return found;
}

export function addRepositoryRoutes(api: Hono<ApiEnv>, host: Host): void {
  api.get("/repos/:owner/:repo", async (context) => {
    const { repository } = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const defaultBranch = await repository.defaultBranch();
    const isPrivate = host.rules.privateRepositories.has(repository.fullName);
    if (isPrivate && !context.get("canPush")) throw notFound();
    const shape = repositoryShape(repository, defaultBranch, context.get("canPush"), host.links());
    return context.json({ ...shape, private: isPrivate, visibility: isPrivate ? "private" : "public" });
  });

  // A branch's name may hold slashes, escaped or not.
  api.get("/repos/:owner/:repo/branches/:branch{.+}", async (context) => {
    const { repository } = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const name = context.req.param("branch");
    const sha = await repository.branchSha(name);
    if (sha === null) throw notFound();
    return context.json(branchShape({ name, sha }, repository, host.links()));
  });

  // Octokit sends the slash after "heads" escaped, too.
  api.get("/repos/:owner/:repo/git/ref/:ref{.+}", async (context) => {
    const { repository } = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const name = /^heads\/(.+)$/.exec(context.req.param("ref"))?.[1] ?? "";
    const sha = await repository.branchSha(name);
    if (sha === null) throw notFound();
    return context.json(refShape(name, sha, repository, host.links()));
  });
}
