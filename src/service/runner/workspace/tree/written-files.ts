import { type BigIntStats, lstatSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { createGiveWay } from "../../../base/give-way.ts";
import { parentsOf } from "./names.ts";

/**
 * The state of a file, link or folder, as far as `lstat` tells. If it is the same, so is the
 * content: whoever writes to a file or adds to a folder changes its `ctime`, which only the system
 * can set.
 */
type Identity = string;

/** A file or link that we wrote, and the git object with its content. */
export type WrittenFile = { identity: Identity; oid: string; mode: string; size: number };

/** Everything that we wrote to a tree, by path. */
export type WrittenFiles = Map<string, WrittenFile>;

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

/** All folders that contain these files. A folder comes before those in it. */
export function foldersOf(files: Iterable<string>): string[] {
  return [".", ...[...new Set([...files].flatMap(parentsOf))].toSorted()];
}

/**
 * Moves the files that are still as they were written to the new folder `to`, on the same disk.
 * Their folders are created anew, so that nothing that was done to the old ones (unreadable names,
 * permissions, attributes) comes along. Even behind a link in a folder's place, only a file that we
 * wrote has its identity. Resolves to what is there then. Rejects if that isn't possible, for
 * example if a folder may not be changed. Then nothing of the tree can be used.
 */
export async function moveUntouched(from: string, to: string, written: WrittenFiles): Promise<WrittenFiles> {
  const giveWay = createGiveWay();
  const intact: [path: string, file: WrittenFile][] = [];
  for (const [path, file] of written) {
    await giveWay();
    if (identityAt(join(from, path)) === file.identity) intact.push([path, file]);
  }
  for (const folder of foldersOf(intact.map(([path]) => path))) {
    await giveWay();
    mkdirSync(join(to, folder), { mode: 0o755 });
  }
  const moved: WrittenFiles = new Map();
  for (const [path, file] of intact) {
    await giveWay();
    // Without a sandbox, a process of the agent's may still be writing.
    if (identityAt(join(from, path)) !== file.identity) throw new Error(`${path} has just changed`);
    renameSync(join(from, path), join(to, path));
    // Moving a file changes its `ctime`.
    moved.set(path, { ...file, identity: identityAt(join(to, path)) ?? "" });
  }
  return moved;
}
