import { type BigIntStats, lstatSync } from "node:fs";
import { join } from "node:path";

/**
 * What a file, link or folder is, as far as `lstat` tells. While it is the same, so is the content: whoever writes to a file, or adds
 * to a folder, changes its `ctime`, and nothing but the system sets that.
 */
type Identity = string;

/** A file or link that we wrote, and which of git's objects it holds. */
export type NotedFile = { identity: Identity; oid: string; mode: string; size: number };

/** A folder that holds exactly these, as long as its identity is the same. */
export type NotedFolder = {
  identity: Identity;
  files: Map<string, NotedFile>;
  folders: Map<string, NotedFolder>;
};

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

export function emptyFolder(identity: Identity = ""): NotedFolder {
  return { identity, files: new Map(), folders: new Map() };
}

/** Adds the file at `path`, and the folders that it needs, whose identities are yet to be noted. */
export function noteFile(root: NotedFolder, path: string, file: NotedFile): void {
  const parts = path.split("/");
  const name = parts.pop() ?? "";
  let folder = root;
  for (const part of parts) {
    let inner = folder.folders.get(part);
    if (inner === undefined) folder.folders.set(part, (inner = emptyFolder()));
    folder = inner;
  }
  folder.files.set(name, file);
}

/** Every file with its path in the tree. */
export function* filesIn(folder: NotedFolder, prefix = ""): Generator<[path: string, file: NotedFile]> {
  for (const [name, file] of folder.files) yield [prefix + name, file];
  for (const [name, inner] of folder.folders) yield* filesIn(inner, `${prefix}${name}/`);
}

/** Notes the folders' identities as they are now, all the way down; nobody else may be writing there. */
export function noteFolders(root: string, folder: NotedFolder): void {
  folder.identity = identityAt(root) ?? "";
  for (const [name, inner] of folder.folders) noteFolders(join(root, name), inner);
}
