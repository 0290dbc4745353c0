import { jobBranch } from "../../config/branches.ts";
import { isNothingLeft, readWholeChange } from "./whole-change.ts";
import { noteClosed } from "./seen-closed.ts";
import type { TurnContext } from "../turn-context.ts";
import type { CloseInput, CloseResult } from "../runner.ts";

type CloseDeps = Pick<TurnContext, "mirror" | "codeHost" | "clock">;

/**
 * Closes a job's pull request if merging it would change nothing. Reads the branch right before,
 * and opens it again if somebody pushed in that moment. Safe to repeat.
 */
export async function closeEmptyPull(
  { mirror, codeHost, clock }: CloseDeps,
  { project: { baseBranch, pullRequests }, jobId, number, notes, signal }: CloseInput,
): Promise<CloseResult> {
  const pulls = (await codeHost?.find(jobBranch(pullRequests.branchPrefix, jobId), signal)) ?? [];
  const pull = pulls.find((each) => each.number === number);
  if (codeHost === null || pull === undefined) return "missing";
  if (pull.state !== "open") return pull.state;
  // What it would change in another branch isn't known.
  if (pull.baseRef !== baseBranch) return "changed";
  const merged = pulls.find(({ state, baseRef }) => state === "merged" && baseRef === baseBranch);
  // The branch itself is asked, because it takes a while until the code host shows what was pushed.
  const isEmpty = () =>
    mirror.fetch({ baseBranch, jobId }, async () => {
      const { base, job: commit } = await mirror.tips(jobId);
      if (commit === null) return false;
      const mergedHead = merged?.headSha ?? null;
      return isNothingLeft(await readWholeChange(mirror, { base, commit, jobId, mergedHead }));
    });
  if (!(await isEmpty())) return "changed";
  const { state } = await codeHost.change(number, { state: "closed" }, signal);
  if (state === "merged") return "merged";
  if (await isEmpty()) {
    // A follow-up that is asked for from now on may open another one.
    const ended = pulls.filter((each) => each.state === "closed").map((each) => each.number);
    await noteClosed(notes, { numbers: [...ended, number], nowMs: clock.now() });
    return "closed";
  }
  await codeHost.change(number, { state: "open" }, signal);
  return "changed";
}
