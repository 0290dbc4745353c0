import { jobBranch } from "../../branch.ts";
import type { SafeGit } from "./git.ts";
import type { Remote } from "./remote.ts";

export type PushInput = {
  git: SafeGit;
  gitDir: string;
  remote: Remote;
  jobId: string;
  commit: string;
  /** What the branch was when it was read; null: it did not exist. */
  expected: string | null;
  signal: AbortSignal;
};

/**
 * Moves the job's branch, and no other, to `commit`, only if it still is where it was. Rejects as `SafeGit.run` does; with a
 * `TransientRunError` if somebody moved it.
 */
export async function pushJobBranch({ commit, ...input }: PushInput): Promise<void> {
  await updateJobBranch(input, commit);
}

/** Removes the job's branch, and no other, only if it still is `expected`. Rejects as `pushJobBranch` does. */
export async function deleteJobBranch(
  input: Omit<PushInput, "commit"> & { expected: string },
): Promise<void> {
  await updateJobBranch(input, "");
}

/** `commit`: empty to remove the branch. */
async function updateJobBranch(input: Omit<PushInput, "commit">, commit: string): Promise<void> {
  const { git, gitDir, remote, jobId, expected, signal } = input;
  const ref = `refs/heads/${jobBranch(jobId)}`;
  await git.run({
    args: [
      "push",
      "--porcelain",
      "--no-verify",
      "--no-follow-tags",
      "--recurse-submodules=no",
      `--force-with-lease=${ref}:${expected ?? ""}`,
      "--",
      remote.url,
      `${commit}:${ref}`,
    ],
    gitDir,
    remote,
    signal,
  });
}
