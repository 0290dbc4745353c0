import { join } from "node:path";
import type { SafeGit } from "../git/git.ts";
import { readObjects } from "../git/object-batch.ts";
import type { WorkTree } from "./work-tree.ts";

export type FillInput = {
  git: SafeGit;
  gitDir: string;
  commit: string;
  workTree: WorkTree;
  /** The empty folder to fill. */
  tree: string;
  /** A folder of our own that no agent can reach, for the index. */
  scratch: string;
  /** A tree that an earlier turn left. It is used up. */
  kept: string | null;
  signal: AbortSignal;
};

/**
 * Fills a tree from a commit: bytes as they are in the repository (see `ATTRIBUTES` in mirror.ts), links only where they stay inside,
 * no submodules, and no `.git`: whoever works there can reach no repository of ours through it. Only what `kept` lacks is written.
 * The caller holds the mirror's lock. Resolves to the repository's ignore files.
 */
export async function fillTree(input: FillInput): Promise<{ path: string; oid: string }[]> {
  const { git, gitDir, commit, workTree, tree, kept, signal } = input;
  const listing = await git.run({
    args: ["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit],
    gitDir,
    signal,
  });
  const { index, paths, links, ignoreRules } = workTree.open(listing, kept);
  if (paths.length > 0) {
    const env = { GIT_INDEX_FILE: join(input.scratch, "start"), GIT_WORK_TREE: tree };
    await git.run({ args: ["update-index", "-z", "--index-info"], gitDir, env, stdin: index, signal });
    await git.run({
      args: ["checkout-index", "-z", "--stdin"],
      gitDir,
      env,
      cwd: tree,
      stdin: paths,
      signal,
    });
  }
  const targets = await readObjects(git, gitDir, links, signal);
  await workTree.complete(targets);
  return ignoreRules;
}
