import { join } from "node:path";
import type { FileChange } from "../changes/read-changes.ts";
import type { Author } from "../runner-turn.ts";
import type { SafeGit } from "./git.ts";
import { GitError } from "./git-fault.ts";
import type { Snapshot } from "./snapshot.ts";

export type CommitInput = {
  git: SafeGit;
  gitDir: string;
  /** A folder of our own that no agent can reach, for the index. */
  scratch: string;
  snapshot: Snapshot;
  changes: readonly FileChange[];
  message: string;
  author: Author;
  /** Epoch milliseconds. */
  atMs: number;
  signal: AbortSignal;
};

/**
 * Makes a commit on top of the snapshot with exactly these changes, without a work tree: contents go in as bytes, modes stay as
 * they are, new files are plain files. Returns its id, or null if nothing differs.
 */
export async function makeCommit(input: CommitInput): Promise<string | null> {
  const { git, gitDir, snapshot, changes, author, signal } = input;
  const env = { GIT_INDEX_FILE: join(input.scratch, "index") };
  const lines = new Map([...snapshot.entries].map(([path, { raw }]) => [path, raw]));
  for (const { path, content } of changes) {
    if (content === null) {
      lines.delete(path);
      continue;
    }
    const oid = await git.text({
      args: ["hash-object", "-w", "--no-filters", "--stdin"],
      gitDir,
      stdin: content,
      signal,
    });
    const mode = snapshot.entries.get(path)?.mode === "100755" ? "100755" : "100644";
    lines.set(path, Buffer.from(`${mode} blob ${oid}\t${path}`));
  }
  const zero = Buffer.from([0]);
  await git.run({
    args: ["update-index", "-z", "--index-info"],
    gitDir,
    env,
    stdin: Buffer.concat([...lines.values()].flatMap((line) => [line, zero])),
    signal,
  });
  const tree = await git.text({ args: ["write-tree"], gitDir, env, signal });
  const when = `@${Math.floor(input.atMs / 1000)} +0000`;
  const commit = await git.text({
    args: ["commit-tree", tree, "-p", snapshot.commit],
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
  const differing = await changedPaths(git, gitDir, snapshot.commit, commit, signal);
  const allowed = new Set(changes.map(({ path }) => path));
  const foreign = differing.find((path) => !allowed.has(path));
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
