import type { Host } from "./host.ts";
import type { PullRequests } from "./pull-requests.ts";
import type { CommitPeople } from "./repository.ts";

/** The reason why a branch isn't merged into another. */
export type UpdateRefusal = "no-branch" | "head-moved" | "nothing-new" | "conflict" | "not-ours";

/** The result of a merge into a branch. `sha` is the new commit. */
export type Merged = { ok: true; sha: string } | { ok: false; why: UpdateRefusal };

/**
 * Merges the base into a pull request's branch. GitHub answers before it has done that, so the
 * merge is left to `finish`. If somebody pushes meanwhile, their push stays and the update is lost.
 * The branch of a fork is refused.
 */
export async function updateBranch(
  pullRequests: PullRequests,
  number: number,
  order: { expected: string | undefined; people: CommitPeople },
): Promise<{ ok: true; finish: () => Promise<void> } | { ok: false; why: UpdateRefusal }> {
  const { repository } = pullRequests;
  const pullRequest = pullRequests.find(number);
  const commits = pullRequest === undefined ? null : await pullRequests.commits(pullRequest);
  const isThere = pullRequest !== undefined && (await repository.headSha(pullRequest)) !== null;
  if (!isThere || commits === null) return { ok: false, why: "no-branch" };
  const { head, base, mergeBase } = commits;
  if (order.expected !== undefined && order.expected !== head) return { ok: false, why: "head-moved" };
  if (pullRequest.fork !== null) return { ok: false, why: "not-ours" };
  if (mergeBase === base) return { ok: false, why: "nothing-new" };
  const merged = await repository.mergeTree(head, base);
  if (!("tree" in merged)) return { ok: false, why: "conflict" };
  return {
    ok: true,
    async finish() {
      const message = `Merge branch '${pullRequest.base}' into ${pullRequest.head}\n`;
      const sha = await repository.commitTree(merged.tree, [head, base], message, order.people);
      await repository.moveRef(`refs/heads/${pullRequest.head}`, sha, head);
    },
  };
}

/** Merges a branch or a commit into a branch. This makes a new commit. */
export async function mergeInto(
  host: Host,
  pullRequests: PullRequests,
  order: { base: string; baseSha: string; headSha: string; message: string; people: CommitPeople },
): Promise<Merged> {
  const { repository } = pullRequests;
  const { base, baseSha, headSha, message, people } = order;
  if ((await repository.mergeBase(baseSha, headSha)) === headSha) return { ok: false, why: "nothing-new" };
  const merged = await repository.mergeTree(baseSha, headSha);
  if (!("tree" in merged)) return { ok: false, why: "conflict" };
  const sha = await repository.commitTree(merged.tree, [baseSha, headSha], message, people);
  if (!(await repository.moveRef(`refs/heads/${base}`, sha, baseSha))) {
    return { ok: false, why: "head-moved" };
  }
  await host.followPush(pullRequests);
  return { ok: true, sha };
}
