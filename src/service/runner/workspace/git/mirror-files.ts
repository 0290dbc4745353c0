import { existsSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { GitRunner } from "./git.ts";
import { removeUnlessFile } from "./history.ts";

/**
 * The mirror's whole configuration. Written before each use, so that nothing that was added to the
 * file takes effect.
 */
const CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n";
/**
 * Files are checked out exactly as they are in the repository, whatever its own `.gitattributes`
 * say. What an agent doesn't touch must keep its bytes, and no filter may run.
 */
const ATTRIBUTES = "* !text !eol !crlf !ident !filter !working-tree-encoding\n";
/** Files that could run programs, borrow objects or rewrite history. */
const NOT_KEPT = [
  "hooks",
  "info",
  "objects/info/alternates",
  "objects/info/http-alternates",
  "commondir",
  "config.worktree",
  "refs/replace",
  "gc.pid",
] as const;
/** Where git keeps its locks. A killed process or a power cut leaves them behind. */
const LOCKED = [".", "refs", "objects/info", "objects/pack"] as const;

/** Creates a mirror if it is missing, and undoes any changes to its settings. */
export async function prepare(git: GitRunner): Promise<void> {
  const { gitDir } = git;
  if (!existsSync(join(gitDir, "HEAD"))) {
    await rm(gitDir, { recursive: true, force: true });
    await mkdir(gitDir, { recursive: true, mode: 0o700 });
    await git.run(["init", "--bare", "--quiet", "--template="]);
  }
  await Promise.all(NOT_KEPT.map((name) => rm(join(gitDir, name), { recursive: true, force: true })));
  await removeUnlessFile(join(gitDir, "shallow"));
  // If there is a link in its place, we would write through it.
  await rm(join(gitDir, "config"), { recursive: true, force: true });
  await writeFile(join(gitDir, "config"), CONFIG, { mode: 0o600 });
  await mkdir(join(gitDir, "info"), { mode: 0o700 });
  await writeFile(join(gitDir, "info/attributes"), ATTRIBUTES, { mode: 0o600 });
}

/**
 * Removes every lock in the mirror. Nobody holds one while we hold ours: the state file keeps other
 * services out of this folder. What the git of an ended service is still writing is either
 * complete, or will be found broken and fetched again.
 */
export async function removeLocks(gitDir: string): Promise<void> {
  for (const folder of LOCKED) {
    const path = join(gitDir, folder);
    const names = await readdir(path, { recursive: folder !== "." }).catch(() => []);
    const locks = names.filter((name) => name.endsWith(".lock"));
    await Promise.all(locks.map((name) => rm(join(path, name), { recursive: true, force: true })));
  }
}

/** Removes what a fetch that broke off has received. Git can't go on from there. */
export async function removeHalfPacks(gitDir: string): Promise<void> {
  const folder = join(gitDir, "objects/pack");
  const names = await readdir(folder).catch(() => []);
  const halves = names.filter((name) => name.startsWith("tmp_"));
  await Promise.all(halves.map((name) => rm(join(folder, name), { force: true })));
}
