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
import { parentsOf } from "./names.ts";

/**
 * The state of a file, link or folder, as far as `lstat` tells. If it is the same, so is the
 * content: whoever writes to a file or adds to a folder changes its `ctime`, which only the system
 * can set.
 */
type Identity = string;

/** A file or link that we wrote, and the git object with its content. */
export type WrittenFile = { identity: Identity; oid: string; mode: string; size: number };

/**
 * Everything that we wrote to a tree, by path. While a folder's identity is the same, it contains
 * nothing else.
 */
export type WrittenTree = { files: Map<string, WrittenFile>; folders: Map<string, Identity> };

/** The current identity at this path. Null if there is nothing, or it may not be read. */
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
 * The current identities of all folders that contain these files. A folder comes before those in
 * it.
 */
export function foldersOf(root: string, files: Iterable<string>): WrittenTree["folders"] {
  const folders = [".", ...[...new Set([...files].flatMap(parentsOf))].toSorted()];
  return new Map(folders.map((path) => [path, identityAt(join(root, path)) ?? ""]));
}

/**
 * Removes everything from the tree at `root` that isn't as it was written. A folder that was
 * touched is created anew, so that nothing that was done to it (unreadable names, permissions,
 * attributes) stays. The old ones go to `aside`, an empty folder on the same disk. Returns what is
 * there then. Throws if that isn't possible, for example with inaccessible folders. Then nothing of
 * the tree can be used.
 */
export function keepUntouched(root: string, { files, folders }: WrittenTree, aside: string): WrittenTree {
  const at = (path: string) => join(root, path);
  // Checked before anything is moved, because moving also changes a `ctime`.
  const intact = new Map([...files].filter(([path, file]) => identityAt(at(path)) === file.identity));
  const touched = new Set([...folders.keys()].filter((path) => identityAt(at(path)) !== folders.get(path)));
  for (const path of files.keys()) if (!intact.has(path) && !touched.has(dirname(path))) unlinkSync(at(path));

  const inside = Map.groupBy([...intact.keys(), ...folders.keys()], dirname);
  for (const [index, folder] of [...touched].entries()) {
    const old = join(aside, String(index));
    // The folder is gone, or there is a link in its place, through which other files might be
    // moved.
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

/**
 * Removes the folders that contain none of the files anymore, because git knows no empty folders.
 */
export function removeEmptyFolders(root: string, folders: Iterable<string>, files: Iterable<string>): void {
  const needed = foldersOf(root, files);
  for (const path of [...folders].toReversed())
    if (!needed.has(path)) isDone(() => rmdirSync(join(root, path)));
}

/** Returns false if there is nothing with that name. */
function isDone(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (!/^(?:ENOENT|ENOTDIR)$/.test(codeOf(error) ?? "")) throw error;
    return false;
  }
}
