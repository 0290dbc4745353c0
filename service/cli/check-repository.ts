import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { JOB_BRANCH_PREFIX } from "../config/branch.ts";
import type { Env } from "../config/env.ts";
import { GitRunner } from "../runner/git/git.ts";
import { type GitCredentials, prepare } from "../runner/git/mirror.ts";
import { remoteOf } from "../runner/git/remote.ts";
import type { Redact } from "../base/redaction.ts";
import { TurnFailedError } from "../base/run-error.ts";

export type RepositoryToCheck = {
  repository: string;
  baseBranch: string;
  gitCredentials: GitCredentials | null;
};

type Asking = { env: Env; redact: Redact; signal: AbortSignal };

/** Asks the git server whether a repository has that branch or tag. Rejects with what is wrong. */
export async function checkContext(
  { repository, ref, gitCredentials }: Omit<RepositoryToCheck, "baseBranch"> & { ref: string },
  asking: Asking,
): Promise<void> {
  const refs = [`refs/heads/${ref}`, `refs/tags/${ref}`];
  await withGit(asking, async (git) => {
    const remote = remoteOf(repository, (await gitCredentials?.token(asking.signal)) ?? null);
    if ((await git.text(["ls-remote", "--", remote.url, ...refs], { remote })) !== "") return;
    throw new TurnFailedError(`The repository has no branch or tag ${ref}. Set ref to one it has.`);
  });
}

/**
 * Asks the git server whether the base branch is there, and whether a job's branch could be pushed;
 * pushes nothing. Rejects with what is wrong, as `Git.run` does.
 */
export async function checkRepository(
  { repository, baseBranch, gitCredentials }: RepositoryToCheck,
  asking: Asking,
): Promise<void> {
  await withGit(asking, async (git) => {
    const remote = remoteOf(repository, (await gitCredentials?.token(asking.signal)) ?? null);
    const ref = `refs/heads/${baseBranch}`;
    const listed = await git.text(["ls-remote", "--", remote.url, ref], { remote });
    if (listed === "") {
      throw new TurnFailedError(`The repository has no branch ${baseBranch}. Set baseBranch to one it has.`);
    }
    // Something to push: git asks the server for the right to push before it says what it would do.
    const tree = await git.text(["mktree"]);
    const commit = await git.text([
      "-c",
      "user.name=Docs Agent",
      "-c",
      "user.email=docs-agent@localhost",
      "commit-tree",
      tree,
    ]);
    const target = `${commit}:refs/heads/${JOB_BRANCH_PREFIX}check`;
    await git.run(["push", "--dry-run", "--", remote.url, target], { remote });
  });
}

async function withGit(asking: Asking, act: (git: GitRunner) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "docs-agent-check-"));
  try {
    const git = new GitRunner({ gitDir: join(folder, "check.git"), home: folder, ...asking });
    await prepare(git);
    await act(git);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
