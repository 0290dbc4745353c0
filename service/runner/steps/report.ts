import { jobBranch } from "../../config/repository.ts";
import { refusedText } from "../agents/acp-permissions.ts";
import type { HostedPullRequest } from "../../code-host/github-code-host.ts";
import { type EarlierPush, holdsPush, turnKeyOf } from "../earlier-push.ts";
import { publish } from "../publish/publish.ts";
import { countClaims } from "../publish/sources-text.ts";
import { type TurnWork, writeTurnNote } from "../publish/turn-note.ts";
import type { AgentRunResult } from "../run-agent.ts";
import { TurnFailedError } from "../../base/run-error.ts";
import type { RunContext, RunnerTurn, Success } from "../turn.ts";
import { describe } from "./describe.ts";

/** What a turn has pushed, and how to find its pull request. */
export type PushedWork = TurnWork & {
  /** The branch's open pull request before the push. Null if there was none, or it isn't known. */
  openBefore: number | null;
  /** Null if this attempt pushed it. */
  earlier: EarlierPush | null;
};

/** Where a turn starts. */
export type TurnStart = {
  /** The commit that it builds on. */
  commit: string;
  /**
   * The commit that all of the job's changes are compared with, including those of its earlier
   * turns.
   */
  base: string;
  /** The job's branch at the remote, or null if there is none. */
  job: string | null;
  pulls: readonly HostedPullRequest[];
  /**
   * What an earlier attempt pushed, so that only its pull request is left to do. Null if there was
   * none.
   */
  pushed: PushedWork | null;
};

/**
 * Pushes the turn's commit. Notes that before and after, so that this turn never runs a second
 * agent, whatever happens to the branch later.
 */
export async function publishWork(
  turn: RunnerTurn,
  { mirror, redact, folders, onProgress }: RunContext,
  { job, pulls }: TurnStart,
  { files, ...work }: TurnWork & { files: number },
): Promise<PushedWork> {
  const { jobId } = turn;
  const note = {
    version: 1 as const,
    ...work,
    summary: work.summary === null ? null : redact(work.summary),
    turnKey: turnKeyOf(turn),
    openPull: pulls.find(({ state }) => state === "open")?.number ?? null,
    newestPull: pulls.length === 0 ? null : Math.max(...pulls.map(({ number }) => number)),
  };
  await writeTurnNote(folders.notes, jobId, { ...note, isPushed: false });
  onProgress(`pushing ${files} changed ${files === 1 ? "file" : "files"}`);
  await mirror.use(() => mirror.push(jobId, work.commit, job));
  await writeTurnNote(folders.notes, jobId, { ...note, isPushed: true });
  return { ...work, openBefore: note.openPull, earlier: null };
}

/**
 * The result of a turn whose work is pushed. Finds or opens its pull request, if there is a code
 * host.
 */
export async function reportWork(
  turn: RunnerTurn,
  context: RunContext,
  pushed: PushedWork,
): Promise<Success> {
  const { codeHost, redact, signal } = context;
  const { commit, summary, leftOut, checks, notes, earlier } = pushed;
  const { project, jobId } = turn;
  const claims = countClaims(pushed.claims);
  const told = { summary, leftOut, checks, claims, context: pushed.context, notes };
  const branch = jobBranch(jobId);
  if (earlier?.isInBase !== true) context.report({ branch });
  if (codeHost === null) return { kind: "branch", branch, ...told };
  const { baseBranch } = project;
  const isTurns = (pull: HostedPullRequest) => earlier !== null && holdsPush(pull, earlier);
  if (earlier?.isInBase && !(await codeHost.find(branch, signal)).some((pull) => holdsPush(pull, earlier))) {
    return { kind: "no-changes", reason: `The changes are in ${baseBranch} already.`, ...told };
  }
  context.onProgress("opening the pull request");
  const { template, ...described } = await describe(turn, context, pushed);
  const published = await publish({
    codeHost,
    branch,
    baseBranch,
    commit,
    isTurns,
    openBefore: pushed.openBefore,
    settings: project.pullRequests,
    hasBlockingFindings: pushed.hasBlockingFindings,
    template,
    turn: { ...turn, checks, ...described },
    redact,
    signal,
  });
  const { pullRequest } = published;
  const all = [...notes, ...published.notes.map((note) => redact(note))];
  return { kind: "pull-request", prLink: pullRequest.url, pullRequest, ...told, notes: all };
}

/**
 * The result of a run that left nothing to commit. Throws if a failed model call may be the reason,
 * because not every agent that stops because of it says that it failed.
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

/**
 * Why nothing came of a run in which the agent did something, or wanted to. Null if the agent says
 * so itself.
 */
function reasonOf(refused: readonly string[], leftOut: readonly string[]): string | null {
  const outside =
    leftOut.length === 0
      ? null
      : `Only files that can't be part of this project's docs were changed: ${leftOut.join(", ")}.`;
  const reasons = [outside, refusedText(refused)].filter((text) => text !== null);
  return reasons.length === 0 ? null : reasons.join(" ");
}
