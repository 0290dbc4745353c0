import { lstatSync, mkdirSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { emptyFolder, identityAt, type NotedFile, type NotedFolder } from "../changes/noted.ts";

type IsWanted = (path: string, file: NotedFile) => boolean;

/**
 * Moves what is still as it was noted, and wanted, from the folder `from` into the empty folder `to`; all else stays behind. Costs a
 * look at each name, and a move or two for each folder that was changed. Returns what is at `to` then; the folders' identities
 * are yet to be noted. `aside` is an empty folder of our own on the same disk.
 *
 * A folder whose identity changed is made anew, so that nothing that somebody did to it (names that nobody can read, permissions,
 * attributes) comes along.
 */
export function moveIntact(
  from: string,
  to: string,
  noted: NotedFolder,
  isWanted: IsWanted,
  aside: string,
): NotedFolder {
  let asides = 0;

  function gather(source: string, target: string, folder: NotedFolder, prefix: string): NotedFolder {
    const moved = emptyFolder();
    for (const [name, file] of folder.files) {
      const path = join(source, name);
      if (!isWanted(prefix + name, file) || identityAt(path) !== file.identity) continue;
      renameSync(path, join(target, name));
      const identity = identityAt(join(target, name));
      if (identity !== null) moved.files.set(name, { ...file, identity });
    }
    for (const [name, inner] of folder.folders) {
      const [path, place, below] = [join(source, name), join(target, name), `${prefix}${name}/`];
      if (identityAt(path) === inner.identity) {
        renameSync(path, place);
        add(moved, name, place, weed(place, inner, below));
      } else if (isFolder(path)) {
        mkdirSync(place, { mode: 0o755 });
        add(moved, name, place, gather(path, place, inner, below));
      }
    }
    return moved;
  }

  /** Removes from a folder that holds exactly what was noted whatever of it isn't as it was, or isn't wanted. */
  function weed(place: string, folder: NotedFolder, prefix: string): NotedFolder {
    const left = emptyFolder();
    for (const [name, file] of folder.files) {
      const isKept = isWanted(prefix + name, file) && identityAt(join(place, name)) === file.identity;
      if (isKept) left.files.set(name, file);
      else unlinkSync(join(place, name));
    }
    for (const [name, inner] of folder.folders) {
      const [path, below] = [join(place, name), `${prefix}${name}/`];
      if (identityAt(path) === inner.identity) {
        add(left, name, path, weed(path, inner, below));
      } else {
        const old = join(aside, String((asides += 1)));
        renameSync(path, old);
        mkdirSync(path, { mode: 0o755 });
        add(left, name, path, gather(old, path, inner, below));
      }
    }
    return left;
  }

  return gather(from, to, noted, "");
}

/** Git knows no empty folders. */
function add(parent: NotedFolder, name: string, place: string, folder: NotedFolder): void {
  if (folder.files.size === 0 && folder.folders.size === 0) rmdirSync(place);
  else parent.folders.set(name, folder);
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
