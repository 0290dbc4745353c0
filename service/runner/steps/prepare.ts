import { jobBranch } from "../../config/branch.ts";
import type { HostedPullRequest } from "../../code-host/code-host.ts";
import { findEarlierPush, turnKeyOf } from "../earlier-push.ts";
import { readTurnNote, TurnWork } from "../publish/turn-note.ts";
import type { RunContext, RunnerTurn } from "../turn.ts";
import type { TurnStart } from "./report.ts";

/** Brings the mirror up to date and finds out where the turn starts. */
export async function prepareTurn(turn: RunnerTurn, context: RunContext): Promise<TurnStart> {
  const { mirror, folders, logger, signal, codeHost } = context;
  const { jobId, number, project } = turn;
  context.onProgress("fetching the repository");
  return mirror.fetch(project.baseBranch, async (git) => {
    const { base, job } = await mirror.tips(jobId);
    let asked: Promise<HostedPullRequest[]> | undefined;
    const findPulls = () =>
      (asked ??= codeHost ? codeHost.find(jobBranch(jobId), signal) : Promise.resolve([]));

    const note = await readTurnNote(folders.notes, jobId);
    const turnKey = turnKeyOf(turn);
    const earlier = await findEarlierPush({ git, jobId, turnKey, base, tip: job, note, findPulls });
    // Without a code host there was nothing to merge it with but git itself.
    const pulls = earlier === null && (job !== null || number > 1) ? await findPulls() : [];
    const mergeBase = job === null ? "" : await git.text(["merge-base", base, job], { okCodes: [0, 1] });
    const start = { commit: job ?? base, base: mergeBase || base, job, pulls, pushed: null };
    if (earlier !== null) {
      logger.info({}, "turn was pushed before, only the pull request is left");
      const work = earlier.note ?? TurnWork.parse({ commit: earlier.commit });
      const openBefore = earlier.note?.openPull ?? null;
      return { ...start, pushed: { ...work, commit: job ?? earlier.commit, openBefore, earlier } };
    }
    // What was merged is in the base, perhaps as another commit: a new pull request starts from
    // there.
    const isMerged =
      job !== null &&
      !pulls.some(({ state }) => state === "open") &&
      pulls.some(({ state, headSha }) => state === "merged" && headSha === job);
    return isMerged ? { ...start, commit: base, base } : start;
  });
}
