import { jobBranch } from "../../branch.ts";
import { findEarlierPush } from "../earlier-push.ts";
import { fetchMirror, mirrorPath, tipsOf } from "../git/mirror.ts";
import { type Remote, remoteOf } from "../git/remote.ts";
import type { HostedPullRequest } from "../publish/code-host.ts";
import { readTurnNote } from "../publish/turn-note.ts";
import type { RunContext } from "../run-context.ts";
import type { RunnerTurn } from "../runner-turn.ts";
import { turnKeyOf } from "../turn-key.ts";
import type { TurnStart } from "./work.ts";

/** Brings the mirror up to date and finds out where the turn starts. */
export async function prepareTurn(turn: RunnerTurn, context: RunContext): Promise<TurnStart> {
  const { folders, mirrorLock, signal } = context;
  const { project } = turn;
  const remote = remoteOf(project.repository, project.gitCredentials);
  const gitDir = mirrorPath(folders.mirrors, project.id, project.repository);
  context.onProgress("fetching the repository");
  return mirrorLock.run(gitDir, signal, () => findStart(turn, context, remote, gitDir));
}

async function findStart(
  turn: RunnerTurn,
  context: RunContext,
  remote: Remote,
  gitDir: string,
): Promise<TurnStart> {
  const { git, folders, logger, signal, codeHost } = context;
  const { jobId, project } = turn;
  await fetchMirror({ git, logger }, gitDir, remote, project.baseBranch, signal);
  const { base, job } = await tipsOf(git, gitDir, jobId, signal);
  let asked: Promise<HostedPullRequest[]> | undefined;
  const findPulls = () =>
    (asked ??= codeHost ? codeHost.find(jobBranch(jobId), signal) : Promise.resolve([]));

  const note = await readTurnNote(folders.notes, jobId);
  const turnKey = turnKeyOf(turn);
  const input = { git, gitDir, jobId, turnKey, base, tip: job, note, findPulls, signal };
  const earlier = await findEarlierPush(input);
  // Without a code host there was nothing to merge it with but git itself.
  const pulls = earlier === null && (job !== null || turn.number > 1) ? await findPulls() : [];
  const start = { commit: job ?? base, job, remote, gitDir, pulls, pushed: null };
  if (earlier !== null) {
    logger.info({}, "turn was pushed before, only the pull request is left");
    const { summary = null, leftOut = [] } = earlier.note ?? {};
    return { ...start, pushed: { commit: job ?? earlier.commit, summary, leftOut, earlier } };
  }
  // What was merged is in the base, perhaps as another commit: a new pull request starts from there.
  const isMerged =
    job !== null &&
    !pulls.some(({ state }) => state === "open") &&
    pulls.some(({ state, headSha }) => state === "merged" && headSha === job);
  return isMerged ? { ...start, commit: base } : start;
}
