import { isBaseBranch, isJobId } from "../config/branch.ts";
import { TurnFailedError } from "../base/run-error.ts";
import { allowPublishing } from "./steps/allow-publishing.ts";
import { openContexts } from "./steps/open-contexts.ts";
import { openTree } from "./steps/open-tree.ts";
import { prepareTurn } from "./steps/prepare.ts";
import { publishWork, reportNothing, reportWork } from "./steps/report.ts";
import { workInRounds } from "./steps/work-in-rounds.ts";
import type { RunContext, RunnerTurn, Success } from "./turn.ts";

/**
 * Runs one turn: prepare, work, check, publish, report. Rejects with a `TurnFailedError`, a
 * `TransientRunError`, or the signal's reason. Run again after a crash, it begins anew, unless the
 * turn's commit was pushed already: then only the pull request is left to do, and no agent runs a
 * second time.
 */
export async function runTurn(turn: RunnerTurn, context: RunContext): Promise<Success> {
  assertNames(turn);
  const start = await prepareTurn(turn, context);
  if (start.pushed !== null) return reportWork(turn, context, start.pushed);

  using opened = await openContexts(turn, context);
  const { contexts, read } = opened;
  using tree = await openTree(context, start.commit, turn.jobId);
  const { ran, ...work } = await workInRounds(tree, turn, context, { ...start, contexts });
  const { commit } = work;
  if (commit === null) return { ...reportNothing(ran, work.leftOut), ...read };

  if (!(await allowPublishing(turn, context, { from: tree.commit, commit, contexts }))) {
    const reason = "The words stay unpublished. To change the docs without them, say it in your own words.";
    return { kind: "no-changes", summary: null, reason, leftOut: work.leftOut, ...read };
  }
  const pushed = await publishWork(turn, context, start, { ...work, ...read, commit, summary: ran.summary });
  // Only what the next turn finds done is for its agent to remember.
  await ran.keepSession();
  return await reportWork(turn, context, pushed);
}

/** Throws unless the job can name a branch and a folder, and the project's branch can be a base. */
function assertNames({ jobId, project }: RunnerTurn): void {
  if (!isJobId(jobId)) {
    throw new TurnFailedError(`The job id ${JSON.stringify(jobId.slice(0, 100))} cannot name a branch.`);
  }
  if (!isBaseBranch(project.baseBranch)) {
    const named = JSON.stringify(project.baseBranch.slice(0, 100));
    throw new TurnFailedError("The project's base branch isn't set up correctly.", {
      details: [`${named} can't be a base branch. Correct the project's baseBranch.`],
    });
  }
}
