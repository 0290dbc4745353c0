import {
  closeSync,
  constants,
  fchownSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { codeOf } from "../shared/errors.ts";
import { UpgradeJournal, UpgradeError } from "./rules.ts";

/** Gives a file or folder another name in one moment, in place of what has that name. */
export function moveTo(from: string, to: string): void {
  syncPath(from);
  renameSync(from, to);
  syncPath(dirname(to));
}

/** Lets a link lead to another place beside it in one moment. */
export function pointTo(target: string, link: string): void {
  const made = `${link}.new`;
  rmSync(made, { force: true });
  symlinkSync(target, made);
  renameSync(made, link);
  syncPath(dirname(link));
}

/**
 * Throws if something is a link, or isn't there. Root works in a folder where the programs' user
 * may put links that lead elsewhere.
 */
export function refuseLink(path: string): void {
  if (!lstatSync(path).isSymbolicLink()) return;
  throw new UpgradeError(`${path} is a link. Put in its place what it leads to, and try again.`);
}

/** Copies a file to a new one for one user alone. Null stands for this process's. */
export function copyFor(user: { uid: number; gid: number } | null, from: string, to: string): void {
  rmSync(to, { force: true });
  using opened = new DisposableStack();
  const source = opened.adopt(openSync(from, NO_LINK), closeSync);
  const target = opened.adopt(openSync(to, "wx", 0o600), closeSync);
  const part = Buffer.alloc(1024 * 1024);
  for (let size = -1; size !== 0;) {
    size = readSync(source, part);
    for (let at = 0; at < size;) at += writeSync(target, part, at, size - at);
  }
  if (user !== null) fchownSync(target, user.uid, user.gid);
}

const NO_LINK = constants.O_RDONLY | constants.O_NOFOLLOW;

/** Reads the upgrade under way, or null. */
export function readJournal(path: string): UpgradeJournal | null {
  try {
    const file = openSync(path, NO_LINK);
    try {
      return UpgradeJournal.parse(JSON.parse(readFileSync(file, "utf8")));
    } finally {
      closeSync(file);
    }
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return null;
    throw new UpgradeError(
      `Can't read ${path}, which says how far the last upgrade got. The version that began it can.`,
      { cause: thrown },
    );
  }
}

/** Keeps how far the upgrade is. Null: it has ended. */
export function writeJournal(path: string, journal: UpgradeJournal | null): void {
  if (journal === null) {
    rmSync(path, { force: true });
    return syncPath(dirname(path));
  }
  const made = `${path}.new`;
  rmSync(made, { force: true });
  writeFileSync(made, `${JSON.stringify(journal, null, 2)}\n`, { flag: "wx", mode: 0o600 });
  moveTo(made, path);
}

/** Brings what was written to the disk. */
function syncPath(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } catch (thrown) {
    // Some file systems can't do that with a folder.
    if (codeOf(thrown) !== "EINVAL")
      throw new UpgradeError(`Can't write ${basename(path)}.`, { cause: thrown });
  } finally {
    closeSync(file);
  }
}
