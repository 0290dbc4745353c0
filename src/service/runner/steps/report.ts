import { jobBranch } from "../../branch.ts";
import { refusedText } from "../agents/ending.ts";
import { holdsPush } from "../earlier-push.ts";
import type { HostedPullRequest } from "../publish/code-host.ts";
import { publish } from "../publish/publish.ts";
import type { AgentRunResult } from "../run-agent.ts";
import type { RunContext, Success } from "../run-context.ts";
import { TurnFailedError } from "../run-error.ts";
import type { RunnerTurn } from "../runner-turn.ts";
import type { PushedWork } from "./work.ts";

/** The result of a turn whose work is pushed: finds or opens its pull request, where there is a code host. */
export async function reportWork(
  turn: RunnerTurn,
  context: RunContext,
  pushed: PushedWork,
): Promise<Success> {
  const { codeHost, redact, signal } = context;
  const { commit, summary, leftOut, earlier } = pushed;
  const branch = jobBranch(turn.jobId);
  if (earlier?.isInBase !== true) context.onPushed(branch);
  if (codeHost === null) return { kind: "branch", branch, summary, leftOut };
  const { baseBranch } = turn.project;
  const isTurns = (pull: HostedPullRequest) => earlier !== null && holdsPush(pull, earlier);
  if (earlier?.isInBase && !(await codeHost.find(branch, signal)).some((pull) => holdsPush(pull, earlier))) {
    const said = `The changes are in ${baseBranch} already.`;
    return { kind: "no-changes", summary, reason: said, leftOut };
  }
  context.onProgress("opening the pull request");
  const pullRequest = await publish({
    codeHost,
    branch,
    baseBranch,
    commit,
    isTurns,
    turn: { ...turn, summary, leftOut },
    redact,
    signal,
  });
  return { kind: "pull-request", prLink: pullRequest.url, pullRequest, summary, leftOut };
}

/**
 * The result of a run that left nothing to commit. Throws where the model's trouble may be the reason: not every agent that stops because of it
 * says that it failed.
 */
export function reportNothing(
  { summary, refused, modelTrouble }: Pick<AgentRunResult, "summary" | "refused" | "modelTrouble">,
  leftOut: string[],
): Success {
  if (modelTrouble !== null && leftOut.length === 0) {
    const said = summary === null ? "" : `The agent said: ${summary}`;
    throw new TurnFailedError(modelTrouble.reason, { details: [modelTrouble.advice, said] });
  }
  return { kind: "no-changes", summary, reason: reasonOf(refused, leftOut), leftOut };
}

/** Why nothing came of a run in which the agent did something, or wanted to; null: it says so itself. */
function reasonOf(refused: readonly string[], leftOut: readonly string[]): string | null {
  const outside =
    leftOut.length === 0
      ? null
      : `Only files that can't be part of this project's docs were changed: ${leftOut.join(", ")}.`;
  const reasons = [outside, refusedText(refused)].filter((text) => text !== null);
  return reasons.length === 0 ? null : reasons.join(" ");
}
