import { mayAsk } from "../../../config/agent-presets.ts";
import { TransientRunError, TurnFailedError } from "../../../base/run-error.ts";
import type { HostedPullRequest } from "../../../pulls/code-host/github-code-host.ts";
import { findPulls, howEnded } from "../../publish/branch-pulls.ts";
import { RefConflictError } from "../../workspace/git/git-fault.ts";
import { reapply } from "../../workspace/git/reapply.ts";
import { isNothingLeft } from "../../publish/whole-change.ts";
import type { TurnContext, RunnerTurn } from "../../turn-context.ts";
import type { TurnStart } from "../turn-start.ts";
import type { Worked } from "./work-in-rounds.ts";
import { readChange } from "./describe.ts";
import { runChecks } from "./run-checks.ts";

type Committed = Pick<Worked, "checks" | "hasBlockingFindings"> & { commit: string };
/** Where to push, and what. */
type Ready<Work> = { kind: "ready"; start: TurnStart; work: Work };
/** `reason` is for people. */
type Unwanted = { kind: "unwanted"; reason: string };

/**
 * Finds out what people did with the pull request while the agent worked, right before the push. If
 * they merged it, the turn's change goes on from the base branch. If they closed it, the requester
 * is asked whether another may be opened. Rejects with a `TransientRunError` if the turn has to run
 * again from how things stand now, and with a `TurnFailedError` if nobody can be asked, or nobody
 * answers.
 */
export async function lookAgain<Work extends Committed>(
  turn: RunnerTurn,
  context: TurnContext,
  before: TurnStart,
  work: Work,
): Promise<Ready<Work> | Unwanted> {
  const { codeHost, mirror } = context;
  const { jobId, project } = turn;
  const ready = { kind: "ready" as const, start: before, work };
  // There is no branch yet, so nobody can have done anything with it.
  if (codeHost === null || (before.job === null && before.pulls.own.length === 0)) return ready;
  for (let isAllowed = false; ; isAllowed = true) {
    const pulls = await findPulls(turn, context);
    const areDone = pulls.areDoneAt(before.job);
    // The work isn't on top of the branch, so the push would take away what somebody needs by now.
    if (before.job !== null && before.commit !== before.job && !areDone) {
      throw new RefConflictError("The merged branch is in use again.");
    }
    if (pulls.open !== null) return { ...ready, start: { ...before, pulls } };
    const { base, job } = await mirror.fetch({ ...project, jobId }, () => mirror.tips(jobId));
    if (job !== before.job && !(areDone && job === null)) {
      throw new RefConflictError("The branch changed meanwhile.");
    }
    const closedSince = pulls.closedSince(before.pulls.own);
    if (closedSince !== null && !isAllowed) {
      // Then no other one is opened, so there is nothing to ask.
      const change = await readChange(turn, context, work.commit, pulls.mergedHead);
      if (isNothingLeft(change)) return { ...ready, start: { ...before, pulls, job } };
      if (!(await mayOpenAnother(turn, context, closedSince))) {
        return { kind: "unwanted", reason: `Nothing was published, because ${howEnded(closedSince)}.` };
      }
      // People may have done more until there was an answer.
      continue;
    }
    const start = { ...before, pulls, job };
    const isOnMerged = areDone && before.commit === before.job;
    return isOnMerged ? goOnFromBase(turn, context, { ...start, base }, work) : { ...ready, start };
  }
}

/** `base` in `start` is the newest commit of the base branch. */
async function goOnFromBase<Work extends Committed>(
  turn: RunnerTurn,
  context: TurnContext,
  start: TurnStart,
  work: Work,
): Promise<Ready<Work> | Unwanted> {
  const { mirror, committer, clock, onProgress } = context;
  const { base } = start;
  onProgress("going on from the base branch, because the pull request was merged");
  const change = { commit: work.commit, from: start.commit, onto: base, committer, atMs: clock.wallMs() };
  const made = await mirror.use((git) => reapply(git, change));
  switch (made.kind) {
    case "conflict":
      throw new TransientRunError("The pull request was merged meanwhile.");
    case "contained":
      return { kind: "unwanted", reason: alreadyIn(turn) };
    case "applied": {
      const { commit } = made;
      const { blocking: _, ...checked } = await runChecks(turn, context, { base, commit });
      return { kind: "ready", start: { ...start, commit: base }, work: { ...work, ...checked, commit } };
    }
  }
}

async function mayOpenAnother(
  turn: RunnerTurn,
  { ask, onProgress }: TurnContext,
  pull: HostedPullRequest,
): Promise<boolean> {
  const nothing = `${howEnded(pull)}, so nothing was published. To get a new pull request, ask again.`;
  if (!mayAsk(turn.project.agent)) throw new TurnFailedError(nothing);
  onProgress("waiting for an answer: may another pull request be opened");
  const text = `${howEnded(pull)}. Open a new pull request with this change?`;
  const answer = await ask({ text, choices: CHOICES, allowsText: false });
  if (answer === null) throw new TurnFailedError(nothing);
  return "choice" in answer && answer.choice === OPEN;
}

const OPEN = "open";
const CHOICES = [
  { id: OPEN, label: "Open a new one" },
  { id: "stop", label: "Stop" },
];

/** Why a change that somebody else made as well needs no pull request. */
export function alreadyIn({ project }: RunnerTurn): string {
  return `The changes are in ${project.baseBranch} already.`;
}
