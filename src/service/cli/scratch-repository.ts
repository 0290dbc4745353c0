import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Redact } from "../base/redaction.ts";
import type { Env } from "../config/env.ts";
import { type Committer, commitTree } from "../runner/workspace/git/commit-tree.ts";
import { GitRunner } from "../runner/workspace/git/git.ts";
import { prepare } from "../runner/workspace/git/mirror-files.ts";

/** What git is run with. */
export type Trying = { env: Env; redact: Redact; signal: AbortSignal };

/**
 * Calls `act` with an empty repository, whose temporary folder is removed afterwards. Resolves or
 * rejects as `act` does.
 */
export async function inScratchRepository<Result>(
  { env, redact, signal }: Trying,
  act: (git: GitRunner, folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "docs-agent-check-"));
  try {
    const git = new GitRunner({ gitDir: join(folder, "check.git"), home: folder, env, redact, signal });
    await prepare(git);
    return await act(git, folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Makes a commit without files, parents and words. Resolves to its id. Rejects as `commitTree`. */
export async function emptyCommit(git: GitRunner, committer: Committer): Promise<string> {
  const tree = await git.text(["mktree"]);
  return commitTree(git, { committer, tree, parents: [], message: "", atMs: 0 });
}
