import { lstatSync, mkdirSync, rmdirSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { createGiveWay } from "../../../base/give-way.ts";
import type { TurnFolders } from "../folders.ts";
import type { GitRunner } from "../git/git.ts";
import { GitError } from "../git/git-fault.ts";
import { readObjects, readSnapshot, type Snapshot, type SnapshotEntry, writeIndex } from "../git/objects.ts";
import { isSafePath } from "./names.ts";
import { foldersOf, identityOf, type WrittenFiles } from "./written-files.ts";

/** What was in the tree at the start. */
export type TreeStart = {
  /** The commit's whole listing. */
  snapshot: Snapshot;
  /** The part of it that was written, and the state of each file right after that. */
  written: WrittenFiles;
  /**
   * True if the file system's times are so fine that an unchanged state proves unchanged content.
   */
  hasFineTimes: boolean;
};

const MAX_LINK_BYTES = 4096;
/** Some file systems keep times in steps of two seconds. */
const MAX_TICK_MS = 3000;

/**
 * Fills a turn's tree from a commit: files with the bytes that they have in the repository (see
 * `ATTRIBUTES` in mirror.ts), links only if their text stays inside, no submodules, no unsafe
 * names, and no `.git`, so that an agent can't reach a repository of ours through it. `there` is
 * what is already there, from any commit. Only missing files are written, and files that aren't
 * wanted are removed.
 */
export async function fillTree(
  git: GitRunner,
  commit: string,
  { tree, scratch }: Pick<TurnFolders, "tree" | "scratch">,
  there: WrittenFiles,
  isWanted: (path: string) => boolean = () => true,
): Promise<TreeStart> {
  const snapshot = await readSnapshot(git, commit);
  const giveWay = createGiveWay();
  const written = new Map(there);
  for (const [path, { oid, mode }] of there) {
    await giveWay();
    const entry = snapshot.get(path);
    if (entry?.oid === oid && entry.mode === mode && isWanted(path)) continue;
    written.delete(path);
    unlinkSync(join(tree, path));
  }
  // Git knows no empty folders.
  const needed = new Set(foldersOf(written.keys()));
  const unneeded = foldersOf(there.keys()).filter((folder) => !needed.has(folder));
  for (const folder of unneeded.toReversed()) {
    await giveWay();
    rmdirSync(join(tree, folder));
  }
  const missing: SnapshotEntry[] = [];
  for (const entry of snapshot.values()) {
    await giveWay();
    if (isSafePath(entry.path) && !written.has(entry.path) && isWanted(entry.path)) missing.push(entry);
  }
  const files = missing.filter(({ mode }) => mode === "100644" || mode === "100755");
  if (files.length > 0) {
    const lines = files.map(({ raw }) => raw);
    const env = { GIT_INDEX_FILE: join(scratch, "start"), GIT_WORK_TREE: tree };
    await writeIndex(git, env.GIT_INDEX_FILE, lines);
    await git.run(["checkout-index", "--all"], { env, cwd: tree });
  }
  const links = missing.filter(({ mode }) => mode === "120000");
  const oids = links.map(({ oid }) => oid);
  const targets = await readObjects(git, oids);
  const made: SnapshotEntry[] = [];
  for (const [index, link] of links.entries()) {
    await giveWay();
    if (makeLink(tree, link.path, targets[index] ?? Buffer.alloc(0))) made.push(link);
  }
  for (const { path, oid, mode } of [...files, ...made]) {
    await giveWay();
    const stats = lstatSync(join(tree, path), { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) throw new GitError(`git did not write ${path}`);
    written.set(path, { identity: identityOf(stats), oid, mode, size: Number(stats.size) });
  }
  return { snapshot, written, hasFineTimes: await ticks(join(scratch, "probe")) };
}

function makeLink(root: string, path: string, bytes: Buffer): boolean {
  const target = bytes.toString("utf8");
  if (bytes.length > MAX_LINK_BYTES || target.startsWith("/") || target.includes("\0")) return false;
  const end = normalize(join(dirname(path), target));
  if (target === "" || end === ".." || end.startsWith("../")) return false;
  mkdirSync(dirname(join(root, path)), { recursive: true });
  symlinkSync(target, join(root, path));
  return true;
}

/**
 * Waits until the disk's clock has moved on, so that every later change to a file gives it another
 * time than the one that was noted. False if that takes more than some seconds.
 */
async function ticks(probe: string): Promise<boolean> {
  const first = timeOfNew(probe);
  const giveUpAt = performance.now() + MAX_TICK_MS;
  while (performance.now() < giveUpAt) {
    if (timeOfNew(probe) > first) return true;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return false;
}

function timeOfNew(path: string): bigint {
  writeFileSync(path, "");
  const { ctimeNs } = lstatSync(path, { bigint: true });
  unlinkSync(path);
  return ctimeNs;
}
