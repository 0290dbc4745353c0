import { TurnFailedError } from "../../../base/run-error.ts";
import { jobBranch } from "../../../config/branches.ts";
import type { HostedPullRequest } from "../../../pulls/code-host/github-code-host.ts";
import type { BranchPulls } from "../../publish/branch-pulls.ts";
import { holdsPush, turnKeyOf } from "../../publish/earlier-push.ts";
import { RefConflictError } from "../../workspace/git/git-fault.ts";
import { changedPaths } from "../../workspace/git/objects.ts";
import { reapply } from "../../workspace/git/reapply.ts";
import { firstOf } from "../../publish/publish.ts";
import { readTurnNote, type TurnWork, writeTurnNote } from "../../publish/turn-note.ts";
import type { TurnContext, RunnerTurn } from "../../turn-context.ts";
import type { PushedWork, TurnStart } from "../turn-start.ts";
import { commitByApi } from "./commit-by-api.ts";
import { runChecks } from "./run-checks.ts";

/**
 * Pushes the turn's commit. Notes that before and after, so that this turn never runs a second
 * agent, whatever happens to the branch later.
 */
export async function pushWork(
  turn: RunnerTurn,
  context: TurnContext,
  { job, pulls: { open, own } }: Pick<TurnStart, "job" | "pulls">,
  { files, ...work }: TurnWork & { files: number },
): Promise<PushedWork> {
  const { mirror, commitHost, notes, clock, onProgress } = context;
  const { jobId, requester } = turn;
  const note = {
    version: 1 as const,
    ...work,
    turnKey: turnKeyOf(turn),
    pushedAt: null,
    requester: requester && { name: requester.name, link: requester.link },
    openPull: open?.number ?? null,
    newestPull: own[0]?.number ?? null,
  };
  const before = await readTurnNote(notes);
  await writeTurnNote(notes, { ...note, isPushed: false });
  onProgress(`pushing ${files} changed ${files === 1 ? "file" : "files"}`);
  let { commit } = work;
  try {
    if (commitHost === null) await mirror.use(() => mirror.push(jobId, commit, job));
    else
      commit = await commitByApi(commitHost, context, {
        jobId,
        branch: jobBranch(turn.project.pullRequests.branchPrefix, jobId),
        commit,
        expected: job,
      });
  } catch (error) {
    // Refused for certain, so the branch is as it was.
    const isRefused = error instanceof RefConflictError || error instanceof TurnFailedError;
    if (isRefused) await writeTurnNote(notes, before);
    throw error;
  }
  const pushed = { ...note, commit, isPushed: true, pushedAt: clock.now() };
  await writeTurnNote(notes, pushed);
  context.report({ pushed: commit });
  return {
    ...work,
    commit,
    push: { commit, turnKey: note.turnKey, tip: commit, isInBase: false, note: pushed },
  };
}

/**
 * A person may merge the pull request in the moment of the push, perhaps as a different commit. A
 * new one would show that change again. So the turn's own change goes on from the base branch, as
 * it would have a moment before. Resolves to what is pushed then. If somebody needs the branch as
 * it is, or the change doesn't fit onto the base branch, it stays. Null if the base branch has the
 * change already.
 */
export async function goOnAfterMerge(
  turn: RunnerTurn,
  context: TurnContext,
  pushed: PushedWork,
  pulls: BranchPulls,
): Promise<PushedWork | null> {
  const { mirror, committer, clock, onProgress } = context;
  const { jobId, project } = turn;
  const { push, ...work } = pushed;
  const { commit } = push;
  if (push.isInBase || push.tip !== commit || pulls.open !== null) return pushed;
  const parent = await mirror.use((git) => git.text(["rev-parse", `${commit}^`]));
  if (!pulls.areDoneAt(parent)) return pushed;
  const isTurns = (pull: HostedPullRequest) => mirror.use(() => holdsPush(mirror, jobId, pull, push));
  if ((await firstOf(pulls.own, isTurns)) !== null) return pushed;
  const made = await mirror.fetch({ ...project, jobId }, async (git) => {
    const { base, job } = await mirror.tips(jobId);
    const mergeBase = await mirror.mergeBase(base, parent);
    // Somebody else changed the branch, or the base branch has the merged commits themselves.
    if (job !== commit || mergeBase === parent) return null;
    const onBase = await reapply(git, { commit, from: parent, onto: base, committer, atMs: clock.wallMs() });
    return { ...onBase, base, files: (await changedPaths(git, parent, commit)).length };
  });
  if (made === null || made.kind === "conflict") return pushed;
  if (made.kind === "contained") return null;
  onProgress("going on from the base branch, because the pull request was merged");
  const { base, files } = made;
  const { blocking: _, ...checked } = await runChecks(turn, context, { base, commit: made.commit });
  const onBase = { ...work, ...checked, commit: made.commit, files };
  return await pushWork(turn, context, { job: commit, pulls }, onBase);
}
