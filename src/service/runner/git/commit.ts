import { join } from "node:path";
import type { Author } from "../runner-turn.ts";
import type { SafeGit } from "./git.ts";
import { GitError } from "./git-fault.ts";

export type CommitInput = {
  git: SafeGit;
  gitDir: string;
  /** A folder of our own that no agent can reach, for the index. */
  scratch: string;
  /** The commit that this one comes after. */
  parent: string;
  /** What it holds, for `git update-index -z --index-info`. */
  index: Uint8Array;
  /** The paths that it may change. */
  allowed: ReadonlySet<string>;
  message: string;
  author: Author;
  /** Epoch milliseconds. */
  atMs: number;
  signal: AbortSignal;
};

/**
 * Stores the files `0`, `1`, … of a folder of our own as they are. Resolves to their ids in the object store, in that order.
 */
export async function storeFiles(
  git: SafeGit,
  gitDir: string,
  folder: string,
  count: number,
  signal: AbortSignal,
): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `${join(folder, String(index))}\n`);
  const args = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
  const ids = await git.text({ args, gitDir, stdin: names.join(""), signal });
  const found = ids.split("\n").filter((id) => id !== "");
  if (found.length !== count)
    throw new GitError(`git hash-object answered ${found.length} ids for ${count} files.`);
  return found;
}

/** Makes a commit with exactly this content, without a work tree. Resolves to its id, or to null if nothing differs. */
export async function makeCommit(input: CommitInput): Promise<string | null> {
  const { git, gitDir, parent, author, signal } = input;
  const env = { GIT_INDEX_FILE: join(input.scratch, "index") };
  await git.run({ args: ["update-index", "-z", "--index-info"], gitDir, env, stdin: input.index, signal });
  const tree = await git.text({ args: ["write-tree"], gitDir, env, signal });
  const when = `@${Math.floor(input.atMs / 1000)} +0000`;
  const commit = await git.text({
    args: ["commit-tree", tree, "-p", parent],
    gitDir,
    stdin: input.message,
    env: {
      GIT_AUTHOR_NAME: author.name,
      GIT_AUTHOR_EMAIL: author.email,
      GIT_AUTHOR_DATE: when,
      GIT_COMMITTER_NAME: author.name,
      GIT_COMMITTER_EMAIL: author.email,
      GIT_COMMITTER_DATE: when,
    },
    signal,
  });
  const differing = await changedPaths(git, gitDir, parent, commit, signal);
  const foreign = differing.find((path) => !input.allowed.has(path));
  if (foreign !== undefined) throw new GitError(`The commit changes ${foreign}, which it must not.`);
  return differing.length === 0 ? null : commit;
}

async function changedPaths(
  git: SafeGit,
  gitDir: string,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<string[]> {
  return git.lines({
    args: ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", from, to],
    gitDir,
    signal,
  });
}
