import { JOB_TRAILER, TURN_TRAILER } from "../turn-key.ts";
import type { SafeGit } from "./git.ts";

const MAX_COMMITS = 200;

/**
 * The commit of this turn on the job's branch, known by its trailers; null if it is not there. People may have added commits since,
 * and may have merged the branch.
 */
export async function pushedTurn(
  git: SafeGit,
  gitDir: string,
  turn: { jobId: string; turnKey: string; tip: string },
  signal: AbortSignal,
): Promise<string | null> {
  const trailer = (name: string) => `%(trailers:key=${name},valueonly,separator=%x2C)`;
  const listing = await git.lines({
    args: [
      "log",
      "-z",
      `--max-count=${MAX_COMMITS}`,
      `--format=%H %x20${trailer(JOB_TRAILER)} ${trailer(TURN_TRAILER)}`,
      turn.tip,
      "--",
    ],
    gitDir,
    signal,
  });
  for (const line of listing) {
    const [commit = "", job, key] = line.split(/\s+/);
    if (job === turn.jobId && key === turn.turnKey) return commit;
  }
  return null;
}

/** Whether `commit` is `tip` or one of those before it; false too if the mirror doesn't have it. */
export async function isContained(
  git: SafeGit,
  gitDir: string,
  commit: string,
  tip: string,
  signal: AbortSignal,
): Promise<boolean> {
  // 1: nothing at all, and 128: there is no such commit, leave standard output empty.
  const found = await git.text({
    args: ["merge-base", commit, tip],
    gitDir,
    okCodes: [0, 1, 128],
    signal,
  });
  return found === commit;
}
