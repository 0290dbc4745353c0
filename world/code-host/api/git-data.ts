import type { Hono } from "hono";
import type { Host } from "../host.ts";
import type { PullRequests } from "../pull-requests.ts";
import type { Repository } from "../repository.ts";
import { ChangeRef, CreateBlob, CreateCommit, CreateTree, readBody } from "./bodies.ts";
import type { ApiEnv } from "./env.ts";
import { ApiRefusal, notFound } from "./errors.ts";
import { pageOf } from "./paging.ts";
import { loginOf, named } from "./pulls.ts";
import { mustFind } from "./repos.ts";
import { idOf, type Links, refShape } from "./shapes.ts";

const GIT = "/repos/:owner/:repo/git";
const SHA = ":sha{[0-9a-f]{40}}";

/**
 * Adds the routes for git's objects and branches, one by one (docs.github.com/rest/git/blobs,
 * /trees, /commits, /refs), and for the commits of a pull request. The words of refusals are those
 * that people quote.
 */
export function addGitDataRoutes(api: Hono<ApiEnv>, host: Host): void {
  api.post(`${GIT}/blobs`, async (context) => {
    const { repository } = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const { content, encoding } = await readBody(context, CreateBlob);
    const sha = await repository.writeBlob(Buffer.from(content, encoding));
    return context.json({ sha, url: urlOf(repository, host.links(), "blobs", sha) }, 201);
  });

  api.post(`${GIT}/trees`, async (context) => {
    const { repository } = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const { base_tree: base = null, tree } = await readBody(context, CreateTree);
    const entries = await Promise.all(
      tree.map(async ({ path, mode, sha, content }) => ({
        path,
        mode,
        sha: content === undefined ? (sha ?? null) : await repository.writeBlob(Buffer.from(content)),
      })),
    );
    const sha = await repository.writeTree(base, entries);
    if (sha === null) throw new ApiRefusal(422, "GitRPC::BadObjectState");
    return context.json(await treeShape(repository, sha, false, host.links()), 201);
  });

  api.get(`${GIT}/trees/${SHA}`, async (context) => {
    const { repository } = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const isDeep = context.req.query("recursive") !== undefined;
    return context.json(await treeShape(repository, context.req.param("sha"), isDeep, host.links()));
  });

  api.post(`${GIT}/commits`, async (context) => {
    const { repository } = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const { message, tree, parents, author, committer } = await readBody(context, CreateCommit);
    if ((await repository.kindOf(tree)) !== "tree") throw new ApiRefusal(422, "Tree SHA does not exist");
    const kinds = await Promise.all(parents.map(async (parent) => repository.kindOf(parent)));
    if (!kinds.every((kind) => kind === "commit")) {
      throw new ApiRefusal(422, "Parent SHA does not exist or is not a commit object");
    }
    const login = loginOf(context);
    const own = { name: login, email: `${idOf("user", login)}+${login}@users.noreply.github.com` };
    const people = { author: author ?? own, committer: committer ?? author ?? own };
    const sha = await repository.commitTree(tree, parents, message, people);
    return context.json(await gitCommitShape(repository, sha, host.links()), 201);
  });

  api.get(`${GIT}/commits/${SHA}`, async (context) => {
    const { repository } = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const sha = context.req.param("sha");
    if (!(await repository.hasCommit(sha))) throw notFound();
    return context.json(await gitCommitShape(repository, sha, host.links()));
  });

  api.get("/repos/:owner/:repo/pulls/:number/commits", async (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const { repository } = pullRequests;
    const commits = await pullRequests.commits(pullRequest);
    if (commits === null) return context.json([]);
    const all = await repository.commitsBetween(commits.base, commits.head);
    const page = pageOf(context, all, host.links().apiUrl);
    const shapes = page.map(async ({ sha }) => commitShape(repository, sha, host.links()));
    return context.json(await Promise.all(shapes));
  });

  // Octokit escapes the slash after "heads", too.
  api.patch(`${GIT}/refs/:ref{.+}`, async (context) => {
    const pullRequests = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const branch = /^heads\/(.+)$/.exec(context.req.param("ref"))?.[1] ?? "";
    const { sha, force } = await readBody(context, ChangeRef);
    await moveBranch(pullRequests, branch, sha, force);
    await host.followPush(pullRequests);
    return context.json(refShape(branch, sha, pullRequests.repository, host.links()));
  });
}

async function moveBranch(
  { repository }: PullRequests,
  branch: string,
  sha: string,
  isForced: boolean,
): Promise<void> {
  const before = await repository.branchSha(branch);
  if (before === null) throw new ApiRefusal(422, "Reference does not exist");
  if (!(await repository.hasCommit(sha))) throw new ApiRefusal(422, "Object does not exist");
  const isForward = (await repository.mergeBase(before, sha)) === before;
  const isMoved = (isForced || isForward) && (await repository.moveRef(`refs/heads/${branch}`, sha, before));
  if (!isMoved) throw new ApiRefusal(422, "Update is not a fast forward");
}

function urlOf({ fullName }: Repository, { apiUrl }: Links, kind: string, sha: string): string {
  return `${apiUrl}/repos/${fullName}/git/${kind}/${sha}`;
}

async function treeShape(repository: Repository, sha: string, isDeep: boolean, links: Links) {
  const entries = await repository.tree(sha, isDeep);
  if (entries === null) throw notFound();
  return {
    sha,
    url: urlOf(repository, links, "trees", sha),
    tree: entries.map((entry) => ({
      path: entry.path,
      mode: entry.mode,
      type: entry.kind,
      sha: entry.sha,
      ...(entry.size === null ? {} : { size: entry.size }),
      url: urlOf(repository, links, `${entry.kind}s`, entry.sha),
    })),
    truncated: false,
  };
}

/** Resolves to a commit as git has it. */
async function gitCommitShape(repository: Repository, sha: string, links: Links) {
  const commit = await repository.commit(sha);
  return {
    sha,
    node_id: `C_${idOf("commit", sha)}`,
    url: urlOf(repository, links, "commits", sha),
    html_url: `${links.url}/${repository.fullName}/commit/${sha}`,
    author: commit.author,
    committer: commit.committer,
    tree: { sha: commit.tree, url: urlOf(repository, links, "trees", commit.tree) },
    message: commit.message,
    parents: commit.parents.map((parent) => ({
      sha: parent,
      url: urlOf(repository, links, "commits", parent),
      html_url: `${links.url}/${repository.fullName}/commit/${parent}`,
    })),
    verification: { verified: false, reason: "unsigned", signature: null, payload: null, verified_at: null },
  };
}

/** Resolves to a commit as GitHub shows it: git's commit, and the accounts of its people. */
export async function commitShape(repository: Repository, sha: string, links: Links) {
  const { author, committer, message, tree, parents, ...shape } = await gitCommitShape(
    repository,
    sha,
    links,
  );
  const url = `${links.apiUrl}/repos/${repository.fullName}/commits`;
  return {
    ...shape,
    url: `${url}/${sha}`,
    comments_url: `${url}/${sha}/comments`,
    commit: { author, committer, message, tree, url: shape.url, comment_count: 0 },
    author: null,
    committer: null,
    parents: parents.map((parent) => ({ ...parent, url: `${url}/${parent.sha}` })),
  };
}
