import type { HostedPullRequest } from "../../pulls/code-host/github-code-host.ts";
import { jobBranch } from "../../config/branches.ts";
import { hasPart } from "./our-parts.ts";
import type { TurnNote } from "./turn-note.ts";
import { noteClosed, type SeenClosed } from "./seen-closed.ts";
import type { TurnContext, RunnerTurn } from "../turn-context.ts";

/** The pull requests of a job's branch, newest first, and what they mean for the job. */
export type BranchPulls = ReturnType<typeof branchPulls>;

/** `pushed` is the turn's own note, if it has pushed. */
type Known = { seenClosed?: SeenClosed; pushed?: Pick<TurnNote, "newestPull"> | null };

/** Asks the code host. Without one, there are none. */
export async function findPulls(
  turn: RunnerTurn,
  { codeHost, notes, clock, signal }: Pick<TurnContext, "codeHost" | "notes" | "clock" | "signal">,
  pushed: Known["pushed"] = null,
): Promise<BranchPulls> {
  if (codeHost === null) return branchPulls(turn, []);
  const all = await codeHost.find(jobBranch(turn.project.pullRequests.branchPrefix, turn.jobId), signal);
  const numbers = all.filter(({ state }) => state === "closed").map(({ number }) => number);
  const seenClosed = await noteClosed(notes, { numbers, nowMs: clock.now() });
  return branchPulls(turn, all, { seenClosed, pushed });
}

/**
 * People open pull requests of the job's branch, too, such as a backport into another branch. The
 * job's own are those into the project's base branch, and the one that its record links to, which
 * somebody may have given another base. One that we opened without an answer has no such link yet,
 * so it is known by its text.
 */
export function branchPulls(
  { project: { baseBranch }, pullRequest, closedSeenAt, acceptedAt }: RunnerTurn,
  all: readonly HostedPullRequest[],
  { seenClosed = new Map(), pushed = null }: Known = {},
) {
  const linked = all.find(({ number }) => number === pullRequest) ?? null;
  // Before it is known, nobody else has a text of ours to copy.
  const knownUntil = pushed === null ? (pullRequest === null ? 0 : Infinity) : (pushed.newestPull ?? 0);
  const isOwnText = ({ number, body }: HostedPullRequest) => number > knownUntil && hasPart(body, "main");
  const own = all.filter((pull) => pull === linked || pull.baseRef === baseBranch || isOwnText(pull));
  const openOnes = own.filter(({ state }) => state === "open");
  const open =
    linked?.state === "open"
      ? linked
      : (openOnes.find(({ baseRef }) => baseRef === baseBranch) ?? openOnes[0] ?? null);
  const [newest] = own;
  const merged = all.filter(({ state, baseRef }) => state === "merged" && baseRef === baseBranch);

  /**
   * True if it was closed before the turn was asked for, as we saw it or as the code host says.
   */
  function isKnownClosed(pull: HostedPullRequest): boolean {
    const ownAt = pull === linked ? closedSeenAt : null;
    const seenAt = [seenClosed.get(pull.number), ownAt, latestOf(pull.closedAt)];
    return seenAt.some((at) => typeof at === "number" && at <= acceptedAt);
  }

  return {
    own,
    /** The one to update. */
    open,
    /** The commit with which the newest one was merged into the base branch. */
    mergedHead: merged[0]?.headSha ?? null,
    /** True if one that ends with this commit was merged into the base branch. */
    isMergedAt: (commit: string) => merged.some(({ headSha }) => headSha === commit),
    /**
     * True if all that is in the branch, which ends with this commit, was merged into the base
     * branch, perhaps as a different commit, and nobody still needs the branch as it is.
     */
    areDoneAt: (tip: string | null) =>
      !all.some(({ state }) => state === "open") && merged.some(({ headSha }) => headSha === tip),
    /**
     * The one that a person closed without merging it, unless whoever asked for the turn did so
     * after that. One that was open when the turn started is such a one whatever the clocks say,
     * because ours and the code host's can differ. Null if the turn may open another.
     */
    closedSince: (atStart: readonly HostedPullRequest[]) => {
      if (open !== null || newest?.state !== "closed") return null;
      const wasOpen = ({ number }: HostedPullRequest) =>
        atStart.some((each) => each.number === number && each.state === "open");
      const isNews = (pull: HostedPullRequest) =>
        wasOpen(pull) || ((pull === newest || pull === linked) && !isKnownClosed(pull));
      return own.find((pull) => pull.state === "closed" && isNews(pull)) ?? null;
    },
  };
}

/** How a pull request that isn't open anymore has ended, for people. */
export function howEnded({ number, state }: Pick<HostedPullRequest, "number" | "state">): string {
  return `#${number} was ${state === "merged" ? "merged" : "closed without merging"}`;
}

/** Why none of a job's pull requests takes anything, for people. */
export function whyNotOpen({ own: [newest] }: Pick<BranchPulls, "own">): string {
  return newest === undefined || newest.state === "open"
    ? "There is no open pull request."
    : `${howEnded(newest)}.`;
}

/** The latest moment that a code host's time may mean. GitHub writes whole seconds. */
function latestOf(at: number | null): number | null {
  return at !== null && at % 1000 === 0 ? at + 999 : at;
}
