import { randomUUID } from "node:crypto";
import {
  constants,
  accessSync,
  closeSync,
  existsSync,
  fchmodSync,
  mkdirSync,
  openSync,
  realpathSync,
  statSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { codeOf } from "../../errors.ts";
import type { Clock } from "../../machine/ports.ts";
import { StoreInUseError, StoreUnavailableError, sqliteCodeOf, toStoreError } from "../store-errors.ts";

const OWNER_POLL_MS = 100;
const SQLITE_BUSY = 5;

/** The real path with links followed, so that all names of the file lead to the same owner lock. */
export function resolveFile(path: string): string {
  const absolute = resolve(path);
  try {
    makeFolders(dirname(absolute));
    if (existsSync(absolute)) return realpathSync(absolute);
    return join(realpathSync(dirname(absolute)), basename(absolute));
  } catch (thrown) {
    throw toStoreError(absolute, thrown);
  }
}

/** Node's own `recursive` never ends below /proc. */
function makeFolders(path: string): void {
  const missing: string[] = [];
  for (let at = path; !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (thrown) {
      if (codeOf(thrown) !== "EEXIST") throw thrown;
    }
  }
}

/**
 * Holds a lock of the operating system, which ends with the process, however that ends. The lock is
 * on a file beside the database, so that backups and the `sqlite3` shell can still read the
 * database.
 */
export async function ownFile(path: string, clock: Clock, waitMs: number): Promise<DatabaseSync> {
  const ownerPath = `${path}-owner`;
  const deadlineMs = clock.now() + waitMs;
  for (;;) {
    const owner = tryToOwn(path, ownerPath);
    if (owner) return owner;
    const nowMs = clock.now();
    if (nowMs >= deadlineMs) throw new StoreInUseError(path);
    await new Promise<void>((wake) => clock.wakeAt(Math.min(nowMs + OWNER_POLL_MS, deadlineMs), wake));
  }
}

function tryToOwn(path: string, ownerPath: string): DatabaseSync | undefined {
  let owner: DatabaseSync | undefined;
  try {
    keepPrivate(ownerPath);
    owner = new DatabaseSync(ownerPath, { timeout: 0 });
    owner.exec("BEGIN EXCLUSIVE");
    // On a read-only file, SQLite silently takes a shared lock instead.
    accessSync(ownerPath, constants.W_OK);
    return owner;
  } catch (thrown) {
    owner?.close();
    if (sqliteCodeOf(thrown) === SQLITE_BUSY) return undefined;
    throw toStoreError(path, thrown);
  }
}

/** Marks the file as this process's. The returned function throws once that is no longer true. */
export function ownership(db: DatabaseSync, path: string): () => void {
  const token = randomUUID();
  const inode = statSync(path).ino;
  db.exec(
    "CREATE TABLE IF NOT EXISTS owner (id INTEGER PRIMARY KEY CHECK (id = 1), token TEXT NOT NULL) STRICT",
  );
  db.prepare(
    "INSERT INTO owner (id, token) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET token = excluded.token",
  ).run(token);
  const read = db.prepare("SELECT token FROM owner WHERE id = 1");
  return () => {
    if (statSync(path, { throwIfNoEntry: false })?.ino !== inode) {
      throw new StoreUnavailableError(
        path,
        "the file was deleted or replaced while it was in use",
        "Restart the process.",
      );
    }
    if (read.get()?.["token"] !== token) throw new StoreInUseError(path);
  };
}

/**
 * Makes the file readable for this user alone, because people's words are in it. SQLite gives its
 * other files the same rights. It follows no link: where root upgrades, another user may have put
 * one there that leads to a file of root's.
 */
export function keepPrivate(path: string): void {
  const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;
  const file = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    fchmodSync(file, 0o600);
  } finally {
    closeSync(file);
  }
}
