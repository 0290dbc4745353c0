import { isBaseBranch, isJobId } from "../branch.ts";
import { runAgent } from "./run-agent.ts";
import type { RunContext, Success } from "./run-context.ts";
import { TurnFailedError } from "./run-error.ts";
import type { RunnerTurn } from "./runner-turn.ts";
import { checkWork } from "./steps/check.ts";
import { openTree } from "./steps/open-tree.ts";
import { prepareTurn } from "./steps/prepare.ts";
import { pushWork } from "./steps/push.ts";
import { reportNothing, reportWork } from "./steps/report.ts";
import type { PushedWork } from "./steps/work.ts";

/**
 * Runs one turn: fetch, agent, commit, push, pull request. Rejects with a `TurnFailedError`, a `TransientRunError`, or the signal's
 * reason. Run again after a crash, it begins anew, unless the turn's commit was pushed already: then only the pull request is left to
 * do, and no agent runs a second time.
 */
export async function runTurn(turn: RunnerTurn, context: RunContext): Promise<Success> {
  assertNames(turn);
  const start = await prepareTurn(turn, context);
  if (start.pushed !== null) return reportWork(turn, context, start.pushed);

  let pushed: PushedWork;
  {
    await using tree = await openTree(turn, context, start);
    const ran = await work(tree.folders, turn, context);
    const change = await checkWork(tree, ran, turn, context);
    if (change.commit === null) return reportNothing(ran, change.leftOut);
    pushed = await pushWork(turn, context, start, { ...change, summary: ran.summary });
    // Only what the next turn finds done is for its agent to remember.
    await ran.keepSession();
  }
  return reportWork(turn, context, pushed);
}

async function work(
  folders: Parameters<typeof runAgent>[0],
  turn: RunnerTurn,
  context: RunContext,
): ReturnType<typeof runAgent> {
  context.onProgress("the agent is working");
  context.onAgent(true);
  const ran = await runAgent(folders, turn, context);
  context.onAgent(false);
  return ran;
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
