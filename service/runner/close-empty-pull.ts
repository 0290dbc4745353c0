import type { PullRequestHost } from "../code-host/github-code-host.ts";
import { jobBranch } from "../config/branches.ts";
import type { Mirror } from "./git/mirror.ts";
import { readWholeChange } from "./publish/whole-change.ts";
import type { CloseInput, CloseResult } from "./turn-runner.ts";

/**
 * Closes a job's pull request if merging it would change nothing. Reads the branch right before,
 * and opens it again if somebody pushed in that moment. Safe to repeat.
 */
export async function closeEmptyPull(
  { mirror, codeHost }: { mirror: Mirror; codeHost: PullRequestHost | null },
  { project: { baseBranch }, jobId, number, signal }: CloseInput,
): Promise<CloseResult> {
  const pulls = (await codeHost?.find(jobBranch(jobId), signal)) ?? [];
  const pull = pulls.find((each) => each.number === number);
  if (codeHost === null || pull === undefined) return "missing";
  if (pull.state !== "open") return pull.state;
  // What it would change in another branch isn't known.
  if (pull.baseRef !== baseBranch) return "changed";
  const { headSha: commit } = pull;
  const merged = pulls.find(({ state, baseRef }) => state === "merged" && baseRef === baseBranch);
  const isEmpty = await mirror.fetch({ baseBranch, jobId }, async () => {
    const { base, job } = await mirror.tips(jobId);
    if (job !== commit) return false;
    const mergedHead = merged?.headSha ?? null;
    return (await readWholeChange(mirror, { base, commit, jobId, mergedHead })).nothingLeft !== null;
  });
  if (!isEmpty) return "changed";
  const closed = await codeHost.change(number, { state: "closed" }, signal);
  if (closed.headSha === commit) return closed.state === "merged" ? "merged" : "closed";
  await codeHost.change(number, { state: "open" }, signal);
  return "changed";
}
