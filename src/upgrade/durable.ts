import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
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

/** Reads the upgrade under way, or null. */
export function readJournal(path: string): UpgradeJournal | null {
  try {
    return UpgradeJournal.parse(JSON.parse(readFileSync(path, "utf8")));
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
  writeFileSync(made, `${JSON.stringify(journal, null, 2)}\n`, { mode: 0o600 });
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
