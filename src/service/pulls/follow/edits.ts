import { z } from "zod";
import type { Clock } from "../../../shared/machine/ports.ts";
import type { NewTask, Task } from "../../../shared/queue/task-queue.ts";
import { RunError, TransientRunError } from "../../base/run-error.ts";
import type { JobStore } from "../../jobs/job-store.ts";
import type { Edits } from "../../jobs/merge-store.ts";
import type { PullCommit } from "../code-host/github-pull-commits.ts";
import type { GitHubFollowedHost } from "../code-host/github-followed-host.ts";

const Payload = z.object({ jobId: z.string(), number: z.int(), link: z.string(), mergedAt: z.int() });
type Payload = z.infer<typeof Payload>;

/** A code host that doesn't answer is asked for this long, milliseconds. */
const WITHIN_MS = 24 * 60 * 60_000;
const AGAIN_MS = 60_000;

/** The task that finds out if people changed what was merged. It is added once for each merge. */
export function editsTask({ jobId, number, link, mergedAt }: Payload): NewTask {
  const payload = { jobId, number, link, mergedAt };
  return { id: `edits:${jobId}:${number}`, type: "edits", onDuplicate: "once", payload };
}

/**
 * Notes if people changed what was merged. Safe to run twice: it only reads, and writes the same
 * again. If the code host refuses to tell, or doesn't for a day, it stays unknown.
 */
export async function findEdits(task: Task, { store, clock, hostOf }: EditsDeps, signal: AbortSignal) {
  const { jobId, number, link, mergedAt } = Payload.parse(task.payload);
  const done = { kind: "done" as const };
  const host = hostOf(store.job(jobId)?.projectId);
  const ageMs = clock.now() - mergedAt;
  if (host === null || ageMs > WITHIN_MS) return () => ({ value: done });
  const pushes = store.merges.pushesOf(jobId);
  const lastPush = pushes.at(-1);
  if (lastPush === undefined) return () => ({ value: done });
  try {
    const commits = await host.commitsOf(number, signal);
    const found = commits === null ? "unknown" : editsOf(commits, new Set(pushes));
    const edits =
      found === "rewritten" ? await editsOfRewritten(commits ?? [], lastPush, host, signal) : found;
    return () => {
      store.merges.setEdits(jobId, link, edits);
      return { value: done };
    };
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    if (!(error instanceof TransientRunError)) return () => ({ value: done });
    const waitMs = Math.max(AGAIN_MS, ageMs / 2, error.retryAfterMs ?? 0);
    return () => ({ value: { kind: "again" as const, dueAt: clock.now() + waitMs } });
  }
}

/**
 * Says if a pull request has commits beside those that the agent's turns pushed. A merge of the
 * base branch is none: its second parent isn't among the commits. `rewritten` means that none of
 * the agent's commits is there.
 */
export function editsOf(commits: readonly PullCommit[], pushed: ReadonlySet<string>): Edits | "rewritten" {
  const others = commits.filter(({ sha }) => !pushed.has(sha));
  if (others.length === commits.length) return "rewritten";
  return others.every((commit) => isMergeOfBase(commit, commits)) ? "none" : "made";
}

/** Somebody may have squashed the commits, or worded them anew: then the files are the same. */
async function editsOfRewritten(
  commits: readonly PullCommit[],
  lastPush: string,
  host: Pick<GitHubFollowedHost, "treeOf">,
  signal: AbortSignal,
): Promise<Edits> {
  const tip = commits.findLast((commit) => !isMergeOfBase(commit, commits));
  if (tip === undefined) return "unknown";
  // On another base the files differ anyway, and nobody can say why.
  return (await host.treeOf(lastPush, signal)) === tip.tree ? "none" : "unknown";
}

function isMergeOfBase({ parents }: PullCommit, commits: readonly PullCommit[]): boolean {
  const [first, second, ...more] = parents;
  const isIn = (sha: string | undefined) => commits.some((commit) => commit.sha === sha);
  return isIn(first) && second !== undefined && !isIn(second) && more.length === 0;
}

type EditsDeps = {
  store: Pick<JobStore, "job" | "merges">;
  clock: Clock;
  /** The project's code host. Null if there is none by now. */
  hostOf: (projectId: string | undefined) => Pick<GitHubFollowedHost, "commitsOf" | "treeOf"> | null;
};
