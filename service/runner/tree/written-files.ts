import {
  type BigIntStats,
  existsSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../../../src/core/errors.ts";

/**
 * What a file, link or folder is, as far as `lstat` tells. While it is the same, so is the content:
 * whoever writes to a file, or adds to a folder, changes its `ctime`, and nothing but the system
 * sets that.
 */
type Identity = string;

/** A file or link that we wrote, and which of git's objects it holds. */
export type WrittenFile = { identity: Identity; oid: string; mode: string; size: number };

/**
 * All that we wrote to a tree, by path in it. A folder holds nothing else, as long as its identity
 * is the same.
 */
export type WrittenTree = { files: Map<string, WrittenFile>; folders: Map<string, Identity> };

/** The name's identity as it is now; null if there is nothing by that name, or nobody may look. */
export function identityAt(path: string): Identity | null {
  try {
    return identityOf(lstatSync(path, { bigint: true }));
  } catch {
    return null;
  }
}

export function identityOf({ ino, dev, ctimeNs, mtimeNs, size, mode, nlink }: BigIntStats): Identity {
  return `${ino} ${dev} ${ctimeNs} ${mtimeNs} ${size} ${mode} ${nlink}`;
}

/**
 * The identities of all folders that hold these files, as they are now; a folder comes before those
 * in it.
 */
export function foldersOf(root: string, files: Iterable<string>): WrittenTree["folders"] {
  const paths = new Set<string>();
  for (const file of files) {
    for (let path = dirname(file); path !== "." && !paths.has(path); path = dirname(path)) paths.add(path);
  }
  const folders = [".", ...[...paths].toSorted()];
  return new Map(folders.map((path) => [path, identityAt(join(root, path)) ?? ""]));
}

/**
 * Removes from the tree at `root` all that isn't as it was written. A folder that was touched is
 * made anew, so that nothing that somebody did to it (names that nobody can read, permissions,
 * attributes) stays. `aside`, an empty folder on the same disk, gets the old ones. Returns what is
 * there then. Throws where that can't be done, such as with folders that somebody closed: then
 * nothing of the tree can be used.
 */
export function keepUntouched(root: string, { files, folders }: WrittenTree, aside: string): WrittenTree {
  const at = (path: string) => join(root, path);
  // Before anything is moved, which changes a `ctime`, too.
  const intact = new Map([...files].filter(([path, file]) => identityAt(at(path)) === file.identity));
  const touched = new Set([...folders.keys()].filter((path) => identityAt(at(path)) !== folders.get(path)));
  for (const path of files.keys()) if (!intact.has(path) && !touched.has(dirname(path))) unlinkSync(at(path));

  const inside = Map.groupBy([...intact.keys(), ...folders.keys()], dirname);
  for (const [index, folder] of [...touched].entries()) {
    const old = join(aside, String(index));
    // Gone, or in its place is a link: through that, other files than before might be moved.
    if (!isDone(() => renameSync(at(folder), old)) || !lstatSync(old).isDirectory()) continue;
    mkdirSync(at(folder), { mode: 0o755 });
    for (const path of inside.get(folder) ?? []) {
      if (path !== ".") isDone(() => renameSync(join(old, basename(path)), at(path)));
    }
  }
  const there = new Set([...folders.keys()].filter((path) => existsSync(at(path))));
  for (const [path, file] of intact) {
    const folder = dirname(path);
    const identity = touched.has(folder) ? identityAt(at(path)) : file.identity;
    if (identity !== null && there.has(folder)) intact.set(path, { ...file, identity });
    else intact.delete(path);
  }
  removeEmptyFolders(root, folders.keys(), intact.keys());
  return { files: intact, folders: foldersOf(root, intact.keys()) };
}

/** Removes the folders that hold none of the files any more: git knows no empty ones. */
export function removeEmptyFolders(root: string, folders: Iterable<string>, files: Iterable<string>): void {
  const needed = foldersOf(root, files);
  for (const path of [...folders].toReversed())
    if (!needed.has(path)) isDone(() => rmdirSync(join(root, path)));
}

/** False if there is nothing by that name. */
function isDone(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (!/^(?:ENOENT|ENOTDIR)$/.test(codeOf(error) ?? "")) throw error;
    return false;
  }
}
