import type { Context, Hono } from "hono";
import { changedFiles } from "../changed-files.ts";
import type { Host } from "../host.ts";
import type { PullRequest } from "../pull-request-store.ts";
import { AUTHOR } from "../tokens.ts";
import { headBranch, type PullRequests } from "../pull-requests.ts";
import { ChangePullRequest, CreatePullRequest, MergePullRequest, readBody } from "./bodies.ts";
import { ApiRefusal, notFound, refusalOf, validationFailed } from "./errors.ts";
import type { ApiEnv } from "./env.ts";
import { pageOf } from "./paging.ts";
import { mustFind } from "./repos.ts";
import { fileShape, pullRequestShape, userShape } from "./shapes.ts";

const PULLS = "/repos/:owner/:repo/pulls";
const PULL = `${PULLS}/:number`;

/** The state until somebody asks whether it can be merged. */
export const UNKNOWN = { mergeable: null, state: "unknown" } as const;

type ApiContext = Context<ApiEnv>;

export function addPullRequestRoutes(api: Hono<ApiEnv>, host: Host): void {
  api.get(PULLS, async (context) => {
    const pullRequests = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const page = pageOf(context, listed(context, pullRequests, host), host.links().apiUrl);
    return context.json(
      await Promise.all(page.map((pullRequest) => brief(context, host, pullRequests, pullRequest))),
    );
  });

  api.post(PULLS, async (context) => {
    const pullRequests = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const { owner } = pullRequests.repository;
    const { title, body, head, base, draft } = await readBody(context, CreatePullRequest);
    if (title === "") throw validationFailed({ resource: "Issue", code: "missing_field", field: "title" });
    const fork = forkOf(head, pullRequests, host);
    const branch = headBranch(head, fork?.split("/")[0] ?? owner);
    if (branch === null) throw refusalOf({ kind: "invalid-field", field: "head" }, owner);
    if (draft && !host.rules.hasDrafts) {
      throw new ApiRefusal(422, "Draft pull requests are not supported in this repository.");
    }
    const author = loginOf(context);
    const wanted = { title, body: body ?? null, head: branch, fork, base, isDraft: draft, author };
    const made = await pullRequests.create(wanted);
    if (!made.ok) throw refusalOf(made.refusal, owner);
    return context.json(await full(context, host, pullRequests, made.value, UNKNOWN), 201);
  });

  api.get(PULL, async (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const mergeability = await pullRequests.mergeability(pullRequest);
    return context.json(await full(context, host, pullRequests, pullRequest, mergeability));
  });

  api.patch(PULL, async (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const change = await readBody(context, ChangePullRequest);
    const changed = await pullRequests.change(pullRequest.number, change, loginOf(context));
    if (!changed.ok) throw refusalOf(changed.refusal, pullRequests.repository.owner);
    const mergeability = await pullRequests.mergeability(changed.value);
    return context.json(await full(context, host, pullRequests, changed.value, mergeability));
  });

  api.get(`${PULL}/files`, async (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const { repository } = pullRequests;
    const commits = await pullRequests.commits(pullRequest);
    if (commits === null) return context.json([]);
    const files = await changedFiles(repository, commits.mergeBase, commits.head);
    const page = pageOf(context, files, host.links().apiUrl);
    return context.json(page.map((file) => fileShape(file, repository, commits.head, host.links())));
  });

  api.get(`${PULL}/merge`, (context) => {
    const { pullRequest } = named(context, host);
    if (pullRequest.mergedAt === null) throw notFound();
    return context.body(null, 204);
  });

  api.put(`${PULL}/merge`, async (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const order = await readBody(context, MergePullRequest);
    const method = order.merge_method;
    const merged = await pullRequests.merge(pullRequest.number, {
      method,
      title: order.commit_title,
      message: order.commit_message,
      sha: order.sha,
      by: loginOf(context),
    });
    if (!merged.ok) throw refusalOf(merged.refusal, pullRequests.repository.owner);
    return context.json({ sha: merged.value, merged: true, message: "Pull Request successfully merged" });
  });
}

/** Returns the caller's login. */
export function loginOf(context: ApiContext): string {
  const caller = context.get("caller");
  return typeof caller === "string" ? AUTHOR : caller.login;
}

export function named(
  context: ApiContext,
  host: Host,
): { pullRequests: PullRequests; pullRequest: PullRequest } {
  const pullRequests = mustFind(host, context.req.param("owner") ?? "", context.req.param("repo") ?? "");
  const number = context.req.param("number") ?? "";
  const pullRequest = /^\d{1,9}$/.test(number) ? pullRequests.find(Number(number)) : undefined;
  if (!pullRequest) throw notFound();
  return { pullRequests, pullRequest };
}

/** Returns the list that the query asks for, newest first unless it says otherwise. */
function listed(context: ApiContext, pullRequests: PullRequests, host: Host): PullRequest[] {
  const { state = "open", head, base, sort = "created", direction } = context.req.query();
  const { owner } = pullRequests.repository;
  const fork = head === undefined ? null : forkOf(head, pullRequests, host);
  const branch =
    head === undefined || head === "" ? undefined : headFilter(head, fork?.split("/")[0] ?? owner);
  const found = pullRequests
    .all()
    .filter(
      (pullRequest) => state === "all" || pullRequest.state === (state === "closed" ? "closed" : "open"),
    )
    .filter(
      (pullRequest) => branch === undefined || (pullRequest.head === branch && pullRequest.fork === fork),
    )
    .filter((pullRequest) => base === undefined || base === "" || pullRequest.base === base);
  const ordered =
    sort === "updated" ? found.toSorted((one, other) => one.updatedAt.localeCompare(other.updatedAt)) : found;
  return direction === "asc" ? [...ordered] : ordered.toReversed();
}

/** Returns the full name of the fork that `owner:branch` names, or null. */
function forkOf(head: string, { repository }: PullRequests, { rules }: Host): string | null {
  const owner = head.slice(0, Math.max(0, head.indexOf(":"))).toLowerCase();
  const forks = [...rules.forks].filter(([, parent]) => parent === repository.fullName);
  return forks.find(([name]) => name.toLowerCase().startsWith(`${owner}/`))?.[0] ?? null;
}

/**
 * Returns the branch to filter by. GitHub ignores a `head` without an owner. Null matches no
 * branch.
 */
function headFilter(head: string, owner: string): string | null | undefined {
  return head.includes(":") ? headBranch(head, owner) : undefined;
}

async function brief(context: ApiContext, host: Host, pullRequests: PullRequests, pullRequest: PullRequest) {
  const { repository } = pullRequests;
  return pullRequestShape(
    {
      repository,
      pullRequest,
      defaultBranch: await repository.defaultBranch(),
      commits: await pullRequests.commits(pullRequest),
      canPush: context.get("canPush"),
    },
    host.links(),
  );
}

/** Resolves to a pull request with the fields that GitHub leaves out of lists. */
export async function full(
  context: ApiContext,
  host: Host,
  pullRequests: PullRequests,
  pullRequest: PullRequest,
  { mergeable, state }: Awaited<ReturnType<PullRequests["mergeability"]>>,
) {
  const { repository } = pullRequests;
  const commits = await pullRequests.commits(pullRequest);
  const files = commits === null ? [] : await changedFiles(repository, commits.mergeBase, commits.head);
  const count =
    commits === null ? 0 : (await repository.commitsBetween(commits.mergeBase, commits.head)).length;
  const isMerged = pullRequest.mergedAt !== null;
  return {
    ...(await brief(context, host, pullRequests, pullRequest)),
    merged: isMerged,
    mergeable,
    rebaseable: false,
    mergeable_state: state,
    merged_by: pullRequest.mergedBy === null ? null : userShape(pullRequest.mergedBy, "User", host.links()),
    comments: pullRequest.comments.length,
    review_comments: pullRequest.lineComments.length,
    maintainer_can_modify: false,
    commits: count,
    additions: files.reduce((sum, file) => sum + file.additions, 0),
    deletions: files.reduce((sum, file) => sum + file.deletions, 0),
    changed_files: files.length,
  };
}
