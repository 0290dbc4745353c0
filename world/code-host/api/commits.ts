import type { Hono } from "hono";
import type { Host } from "../host.ts";
import type { PullRequests } from "../pull-requests.ts";
import type { Holder } from "../tokens.ts";
import { CreateRef, readBody } from "./bodies.ts";
import type { ApiEnv } from "./env.ts";
import { ApiRefusal } from "./errors.ts";
import { fault } from "./graphql-faults.ts";
import { mustFind } from "./repos.ts";
import { idOf, refShape } from "./shapes.ts";

const NOWHERE = "0".repeat(40);
/** The author of commits that are made on GitHub's own pages. */
export const WEB_FLOW = { name: "GitHub", email: "noreply@github.com" };

/** Adds the REST routes for branches (docs.github.com/rest/git/refs). */
export function addRefRoutes(api: Hono<ApiEnv>, host: Host): void {
  api.post("/repos/:owner/:repo/git/refs", async (context) => {
    const pullRequests = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const { repository } = pullRequests;
    const { ref, sha } = await readBody(context, CreateRef);
    const name = /^refs\/heads\/(.+)$/.exec(ref)?.[1] ?? "";
    if ((await repository.branchSha(name)) !== null) throw new ApiRefusal(422, "Reference already exists");
    if (!(await repository.moveRef(ref, sha, null))) throw new ApiRefusal(422, "Object does not exist");
    return context.json(refShape(name, sha, repository, host.links()), 201);
  });
}

export type CommitInput = {
  branch: { repositoryNameWithOwner?: string | null; branchName?: string | null };
  expectedHeadOid: string;
  message: { headline: string; body?: string | null };
  fileChanges?: {
    additions?: { path: string; contents: string }[] | null;
    deletions?: { path: string }[] | null;
  } | null;
};

/**
 * See `createCommitOnBranch` in docs.github.com/graphql/reference/mutations. Commits aren't signed
 * here.
 */
export async function createCommitOnBranch(
  pullRequests: PullRequests,
  caller: Holder,
  { branch, expectedHeadOid: parent, message, fileChanges }: CommitInput,
): Promise<object> {
  const { repository } = pullRequests;
  const stale = fault(
    "STALE_DATA",
    `Expected branch to point to "${parent}" but it did not.  Pull and try again.`,
  );
  const ref = `refs/heads/${branch.branchName ?? ""}`;
  if ((await repository.branchSha(branch.branchName ?? "")) !== parent) throw stale;
  const id = idOf("user", caller.login);
  const oid = await repository.commitFiles({
    parent,
    additions: (fileChanges?.additions ?? []).map(({ path, contents }) => ({
      path,
      contents: Buffer.from(contents, "base64"),
    })),
    deletions: (fileChanges?.deletions ?? []).map(({ path }) => path),
    message: `${message.headline}\n\n${message.body ?? ""}`.trimEnd(),
    author: { name: caller.login, email: `${id}+${caller.login}@users.noreply.github.com` },
    committer: WEB_FLOW,
  });
  if (oid === null) throw fault("UNPROCESSABLE", "A path was requested for deletion which does not exist");
  if (!(await repository.moveRef(ref, oid, parent))) throw stale;
  await pullRequests.followBranches();
  return { commit: { oid } };
}

export type RefsInput = {
  repositoryId: string;
  refUpdates: { name: string; beforeOid?: string | null; afterOid: string; force?: boolean | null }[];
};

/** See `updateRefs` there. It takes one branch, which must be moved by force. */
export async function updateRefs(
  pullRequests: PullRequests | undefined,
  { repositoryId, refUpdates }: RefsInput,
): Promise<object> {
  const [update] = refUpdates;
  if (pullRequests === undefined) {
    throw fault("NOT_FOUND", `Could not resolve to a node with the global id of '${repositoryId}'`);
  }
  if (update === undefined || refUpdates.length > 1 || update.force !== true || update.afterOid === NOWHERE) {
    throw fault("NOT_EMULATED", "This stand-in moves one branch by force.");
  }
  const { name, beforeOid, afterOid } = update;
  const before = beforeOid === NOWHERE ? null : (beforeOid ?? null);
  if (!(await pullRequests.repository.moveRef(name, afterOid, before))) {
    throw fault("UNPROCESSABLE", `Reference ${name} is not at ${beforeOid}`);
  }
  await pullRequests.followBranches();
  return { clientMutationId: null };
}
