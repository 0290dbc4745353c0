import type { HostedPullRequest } from "../code-host/github-code-host.ts";
import { jobBranch } from "../config/repository.ts";
import type { RunContext, RunnerTurn } from "./turn.ts";

/** The pull requests of a job's branch, newest first, and what they mean for the job. */
export type BranchPulls = ReturnType<typeof branchPulls>;

/** Asks the code host. Without one, there are none. */
export async function findPulls(
  turn: RunnerTurn,
  { codeHost, signal }: Pick<RunContext, "codeHost" | "signal">,
): Promise<BranchPulls> {
  return branchPulls(turn, codeHost === null ? [] : await codeHost.find(jobBranch(turn.jobId), signal));
}

/**
 * People open pull requests of the job's branch, too, such as a backport into another branch. The
 * job's own are those into the project's base branch, and the one that its record links to, which
 * somebody may have given another base.
 */
export function branchPulls(
  { project: { baseBranch }, pullRequest, acceptedAt }: RunnerTurn,
  all: readonly HostedPullRequest[],
) {
  const linked = all.find(({ number }) => number === pullRequest) ?? null;
  const own = all.filter((pull) => pull === linked || pull.baseRef === baseBranch);
  const open = linked?.state === "open" ? linked : (own.find(({ state }) => state === "open") ?? null);
  const [newest] = own;
  const merged = all.filter(({ state, baseRef }) => state === "merged" && baseRef === baseBranch);
  return {
    own,
    /** The one to update. */
    open,
    /** The commit with which the newest one was merged into the base branch. */
    mergedHead: merged[0]?.headSha ?? null,
    /**
     * True if all that is in the branch, which ends with this commit, was merged into the base
     * branch, perhaps as a different commit, and nobody still needs the branch as it is.
     */
    areDoneAt: (tip: string | null) =>
      !all.some(({ state }) => state === "open") && merged.some(({ headSha }) => headSha === tip),
    /**
     * The one that a person closed without merging it, after the turn was asked for. One that was
     * open when the turn started is such a one whatever the clocks say, because ours and the code
     * host's can differ. Null if the turn may open another.
     */
    closedSince: (atStart: readonly HostedPullRequest[]) =>
      open === null && newest?.state === "closed"
        ? (own.find(
            ({ state, closedAt, number }) =>
              state === "closed" &&
              ((closedAt ?? 0) >= acceptedAt ||
                atStart.some((each) => each.number === number && each.state === "open")),
          ) ?? null)
        : null,
  };
}
