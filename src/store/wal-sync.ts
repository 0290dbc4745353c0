import { close, fdatasync, openSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { StoreUnavailableError } from "./store-errors.ts";

const REMEDY =
  "Check the disk, its quota and its free space. The process ends, and its next start takes over what is there.";

/**
 * Brings the write-ahead log of a database to the disk without blocking this thread, where `synchronous=FULL` has SQLite do the same at
 * the end of each commit, on this thread. Takes the database to `synchronous=NORMAL`: SQLite then syncs the log only when it has to for
 * its own sake, before a checkpoint (https://sqlite.org/pragma.html#pragma_synchronous), and a commit is kept once `sync` has resolved.
 */
export function syncWal(db: DatabaseSync, path: string): { sync: () => Promise<void>; close: () => void } {
  db.exec("PRAGMA synchronous = NORMAL");
  // The log exists since the first write, and stays the same file as long as the database is open. SQLite holds no locks on it, which
  // closing it here could end.
  const log = openSync(`${path}-wal`, "r");
  return {
    sync: () =>
      new Promise((resolve, reject) => {
        fdatasync(log, (error) => {
          if (error === null) resolve();
          else
            reject(
              new StoreUnavailableError(
                path,
                `the disk failed to keep what was written (${error.code})`,
                REMEDY,
              ),
            );
        });
      }),
    close: () => close(log),
  };
}
