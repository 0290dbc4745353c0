import { TurnFailedError } from "../../../base/run-error.ts";
import { alreadyUpToDate, jobBranch } from "../../../config/branches.ts";
import { findPulls, whyNotOpen } from "../../publish/branch-pulls.ts";
import { mergeMessageOf } from "../../publish/merge-message.ts";
import { readTurnNote, type TurnWork } from "../../publish/turn-note.ts";
import { commitTree } from "../../workspace/git/commit-tree.ts";
import { type BranchMerge, mergeCommits } from "../../workspace/git/merge.ts";
import { changedPaths } from "../../workspace/git/objects.ts";
import type { RunnerTurn, Success, TurnContext } from "../../turn-context.ts";
import type { TurnStart } from "../turn-start.ts";
import { keepEarlier } from "./keep-earlier.ts";
import { pushWork } from "./push-work.ts";
import { publishWork } from "./publish-work.ts";
import { type Resolved, resolveConflicts } from "./resolve-conflicts.ts";
import { runChecks } from "./run-checks.ts";

/**
 * Brings the branch of the job's pull request up to date: merges the base branch into it, with an
 * agent only where git can't. What is pushed always follows the branch as it was read, so nobody's
 * commits are lost: if somebody pushes meanwhile, this rejects with a `RefConflictError`, and the
 * turn starts again. Rejects with a `TurnFailedError` if people have to resolve conflicts.
 */
export async function bringUpToDate(
  turn: RunnerTurn,
  context: TurnContext,
  start: TurnStart,
): Promise<Success> {
  if (start.pushed !== null) return published(turn, context, start.pushed);
  const { mirror, onProgress } = context;
  const { jobId, project } = turn;
  const { baseBranch } = project;
  const { job, pulls } = start;
  if (pulls.open === null || job === null) return unchanged(whyNotOpen(pulls));
  if (pulls.open.baseRef !== baseBranch) {
    throw new TurnFailedError(
      `#${pulls.open.number} goes to another branch than ${baseBranch}, so it has to be updated by hand.`,
    );
  }
  const { base } = await mirror.use(() => mirror.tips(jobId));
  const parted = await mirror.use(() => mirror.mergeBase(base, job));
  if (parted === null) throw new TurnFailedError(`The branch has no history in common with ${baseBranch}.`);
  if (parted === base) return unchanged(alreadyUpToDate(baseBranch));
  onProgress(`merging ${baseBranch}`);
  const merge = { parted, job, base, ...(await mirror.use((git) => mergeCommits(git, job, base))) };
  const made = merge.conflicts.length === 0 ? null : await resolveConflicts(turn, context, start, merge);
  if (made?.kind === "unwanted") return unchanged(made.reason);
  const work = await mergedWork(turn, context, start, { merge, resolved: made });

  // People may have merged or closed it meanwhile.
  const now = await findPulls(turn, context);
  if (now.open === null) return unchanged(whyNotOpen(now));
  const pushed = await pushWork(turn, context, { job, pulls: now }, work);
  await made?.keepSession();
  return published(turn, context, pushed);
}

/** The result of a turn that has nothing to push. `reason` is for people. */
function unchanged(reason: string): Success {
  return { kind: "no-changes", summary: null, reason, leftOut: [] };
}

async function published(
  turn: RunnerTurn,
  context: TurnContext,
  pushed: Parameters<typeof publishWork>[2],
): Promise<Success> {
  const summary = `Merged ${turn.project.baseBranch} into the branch`;
  return { ...(await publishWork(turn, context, pushed)), summary };
}

/** Makes the commit of the merge, and checks what the branch changes then. */
async function mergedWork(
  turn: RunnerTurn,
  context: TurnContext,
  start: TurnStart,
  { merge, resolved }: { merge: BranchMerge; resolved: Resolved | null },
): Promise<TurnWork & { files: number }> {
  const { mirror, committer, clock } = context;
  const { jobId, project } = turn;
  const { job, base } = merge;
  const message = mergeMessageOf({
    ...turn,
    baseBranch: project.baseBranch,
    branch: jobBranch(project.pullRequests.branchPrefix, jobId),
    signedOffBy: project.commits.signOff ? `${committer.name} <${committer.email}>` : null,
  });
  const tree = resolved?.tree ?? merge.tree;
  const by = { committer, message, atMs: clock.wallMs() };
  const { commit, files } = await mirror.use(async (git) => {
    const commit = await commitTree(git, { ...by, tree, parents: [job, base] });
    return { commit, files: (await changedPaths(git, job, commit)).length };
  });
  const checked = resolved?.checked ?? (await runChecks(turn, context, { base, commit }));
  // Git's merge has no words that the turns before haven't been asked about.
  const note = resolved === null ? await readTurnNote(context.notes) : null;
  return {
    commit,
    files,
    summary: null,
    leftOut: resolved?.leftOut ?? [],
    notes: resolved?.notes ?? [],
    claims: null,
    context: resolved?.read ?? [],
    checks: checked.checks,
    hasBlockingFindings: checked.hasBlockingFindings,
    withheld: resolved?.withheld ?? note?.withheld ?? null,
    earlier: await keepEarlier(start.earlier, { from: base, to: commit }, turn, context),
  };
}
