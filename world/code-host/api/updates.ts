import type { Context, Hono } from "hono";
import { mergeInto, updateBranch, type UpdateRefusal } from "../branch-updates.ts";
import type { Host } from "../host.ts";
import type { CommitPeople } from "../repository.ts";
import { MergeBranch, readBody, UpdateBranch } from "./bodies.ts";
import { WEB_FLOW } from "./commits.ts";
import type { ApiEnv } from "./env.ts";
import { ApiRefusal } from "./errors.ts";
import { commitShape } from "./git-data.ts";
import { loginOf, named } from "./pulls.ts";
import { mustFind, shaOf } from "./repos.ts";
import { idOf } from "./shapes.ts";

/** GitHub's words as people quote them, with its own apostrophe. Those for a fork are made up. */
const REFUSALS: Record<UpdateRefusal, [status: 403 | 422, message: string]> = {
  "no-branch": [422, "head ref does not exist"],
  "head-moved": [422, "expected head sha didn’t match current head ref."],
  "nothing-new": [422, "There are no new commits on the base branch."],
  conflict: [422, "merge conflict between base and head"],
  "not-ours": [403, "Must have permission to write to the head repository."],
};

/**
 * Adds the routes that bring branches up to date (docs.github.com/rest/pulls/pulls,
 * /rest/branches/branches).
 */
export function addUpdateRoutes(api: Hono<ApiEnv>, host: Host): void {
  api.put("/repos/:owner/:repo/pulls/:number/update-branch", async (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const { number } = pullRequest;
    const { expected_head_sha: expected } = await readBody(context, UpdateBranch);
    const started = await updateBranch(pullRequests, number, { expected, people: peopleOf(context) });
    if (!started.ok) throw new ApiRefusal(...REFUSALS[started.why]);
    host.later(async () => {
      await started.finish();
      await host.followPush(pullRequests);
    });
    const url = `${host.links().url}/repos/${pullRequests.repository.fullName}/pulls/${number}`;
    return context.json({ message: "Updating pull request branch.", url }, 202);
  });

  api.post("/repos/:owner/:repo/merges", async (context) => {
    const pullRequests = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const { repository } = pullRequests;
    const { base, head, commit_message: message } = await readBody(context, MergeBranch);
    const baseSha = await repository.branchSha(base);
    if (baseSha === null) throw new ApiRefusal(404, "Base does not exist");
    const headSha = await shaOf(repository, head);
    if (headSha === null || !(await repository.hasCommit(headSha))) {
      throw new ApiRefusal(404, "Head does not exist");
    }
    const text = message ?? `Merge ${head} into ${base}`;
    const people = peopleOf(context);
    const merged = await mergeInto(host, pullRequests, { base, baseSha, headSha, message: text, people });
    if (merged.ok) return context.json(await commitShape(repository, merged.sha, host.links()), 201);
    if (merged.why === "nothing-new") return context.body(null, 204);
    throw new ApiRefusal(409, merged.why === "conflict" ? "Merge conflict" : "Base branch was modified");
  });
}

/** Returns the people of a commit. Its author is the caller. */
function peopleOf(context: Context<ApiEnv>): CommitPeople {
  const name = loginOf(context);
  const email = `${idOf("user", name)}+${name}@users.noreply.github.com`;
  return { author: { name, email }, committer: WEB_FLOW };
}
