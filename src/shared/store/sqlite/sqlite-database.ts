import { statfs } from "node:fs/promises";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Clock } from "../../machine/ports.ts";
import { keepPrivate, ownFile, ownership, resolveFile } from "./file-owner.ts";
import { APP_MIGRATIONS } from "./migrations.ts";
import { StoreHalfLoadedError, StoreUnavailableError, toStoreError } from "../store-errors.ts";

export type SqliteDatabase = {
  db: DatabaseSync;
  /** The file's real path. Null if it is in memory. */
  path: string | null;
  /**
   * Throws unless this process still owns the file and the file is the one at its path. Call it
   * inside each transaction: somebody may have deleted the files, or deleted the owner's lock and
   * started a second process.
   */
  assertOwned: () => void;
  /** Closes the file and gives up its ownership. Idempotent. */
  close: () => void;
};

type OpenSqliteOptions = {
  clock: Clock;
  /**
   * How long to wait for a process that is about to end, as in a rolling restart. @default 10 000
   */
  ownerWaitMs?: number | undefined;
  /** Steps, oldest first. @default those of the Slack app */
  migrations?: readonly string[];
};

/**
 * Marks the file as ours ("DcAg"), so that another program's database is refused rather than
 * migrated.
 */
const APPLICATION_ID = 0x44634167;
/**
 * How long SQLite waits for a lock, for example by somebody's `sqlite3` shell. It is short because
 * the wait blocks the event loop and Slack allows three seconds for an acknowledgement. Callers
 * that get SQLITE_BUSY try again later.
 */
const BUSY_TIMEOUT_MS = 250;

/**
 * Opens the database file as its only owner, at the newest schema. Creates the file and its folder
 * if missing. Rejects with `StoreInUseError` if another process still owns it after
 * `ownerWaitMs`, and with `StoreUnavailableError` if it can't be read or written, is damaged,
 * or has a newer version.
 */
export async function openSqliteDatabase(
  location: { path: string } | "memory",
  { clock, ownerWaitMs = 10_000, migrations = APP_MIGRATIONS }: OpenSqliteOptions,
): Promise<SqliteDatabase> {
  if (location === "memory") {
    const db = new DatabaseSync(":memory:");
    migrate(db, ":memory:", migrations);
    return { db, path: null, assertOwned: () => {}, close: () => db[Symbol.dispose]() };
  }

  const path = resolveFile(location.path);
  using opened = new DisposableStack();
  opened.use(await ownFile(path, clock, ownerWaitMs));
  try {
    keepPrivate(path);
    const db = opened.use(new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS }));
    quickCheck(db, path);
    // Comes before any change, because the file may be another program's.
    migrate(db, path, migrations);
    // In WAL mode, NORMAL doesn't sync at commit: a power cut could take back commits, and so
    // requests that we acknowledged to Slack. FULL syncs the log at each commit, and SQLite syncs
    // the folder when it creates the log. Deleted data is overwritten, because people wrote it.
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;");
    writeProbe(db, clock.now());
    const assertOwned = ownership(db, path);
    const kept = opened.move();
    return { db, path, assertOwned, close: () => kept.dispose() };
  } catch (thrown) {
    throw toStoreError(path, thrown);
  }
}

/**
 * Rejects as {@link openSqliteDatabase} would for an existing file, but changes nothing in it, and
 * waits for no other process.
 */
export async function trySqliteDatabase(
  path: string,
  { clock, migrations = APP_MIGRATIONS }: Pick<OpenSqliteOptions, "clock" | "migrations">,
): Promise<void> {
  const file = resolveFile(path);
  using _owner = await ownFile(file, clock, 0);
  try {
    using db = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
    quickCheck(db, file);
    assertSchema(db, file, migrations);
    if (isHalfLoaded(db)) throw new StoreHalfLoadedError(file);
    db.exec("BEGIN IMMEDIATE; CREATE TABLE docs_agent_check (x); ROLLBACK");
  } catch (thrown) {
    throw toStoreError(file, thrown);
  }
}

/** Detects a damaged file before anything is built on it. */
function quickCheck(db: DatabaseSync, path: string): void {
  if (pragma(db, "quick_check(1)") === "ok") return;
  throw new StoreUnavailableError(
    path,
    "the file is damaged",
    "Restore a backup, or move the file away to start empty.",
  );
}

/** Runs `work` in one write transaction, which is rolled back if it throws. */
export function transaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (thrown) {
    // Some failures (disk full, I/O) have already rolled back. A second rollback would hide what
    // happened.
    if (db.isOpen && db.isTransaction) db.exec("ROLLBACK");
    throw thrown;
  }
}

/** Prepares each statement once, at its first use. */
export function preparing(db: DatabaseSync): (sql: string) => StatementSync {
  const prepared = new Map<string, StatementSync>();
  return (sql) => {
    let statement = prepared.get(sql);
    if (statement === undefined) prepared.set(sql, (statement = db.prepare(sql)));
    return statement;
  };
}

/** Throws unless a row can be written and committed now. */
export function writeProbe(db: DatabaseSync, nowMs: number): void {
  db.prepare(
    `INSERT INTO probe (id, written_at) VALUES (1, ?)
      ON CONFLICT (id) DO UPDATE SET written_at = excluded.written_at`,
  ).run(nowMs);
}

/** What a few requests take, bytes. */
const ROOM_BYTES = 512 * 1024;

/**
 * Rejects if the disk of the file at `path` has no room for requests. The probe's one page may
 * still fit where a request no longer does.
 */
export async function assertRoom(path: string): Promise<void> {
  const { bavail, bsize, blocks } = await statfs(path);
  // A file system that doesn't say how large it is has no blocks.
  if (blocks > 0 && bavail * bsize < ROOM_BYTES) {
    throw new StoreUnavailableError(path, "the disk is full", "Free some space.");
  }
}

/** The one value that a pragma answers with. */
function pragma(db: DatabaseSync, name: string): unknown {
  return Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
}

function migrate(db: DatabaseSync, path: string, migrations: readonly string[]): void {
  transaction(db, () => {
    const version = assertSchema(db, path, migrations);
    for (const step of migrations.slice(version)) db.exec(step);
    db.exec(`PRAGMA user_version = ${migrations.length}; PRAGMA application_id = ${APPLICATION_ID};`);
  });
}

/**
 * Returns the file's schema version. Throws a {@link StoreUnavailableError} if it is newer than
 * this program, or if the file is another program's.
 */
function assertSchema(db: DatabaseSync, path: string, migrations: readonly string[]): number {
  const version = schemaVersionOf(db, path);
  if (version <= migrations.length) return version;
  throw new StoreUnavailableError(
    path,
    `the file has schema version ${version}, and this version of docs-agent knows ${migrations.length}`,
    "A newer version wrote it, or an earlier build whose files aren't read any more. " +
      "Run the version that wrote it, or move the file away to start empty.",
  );
}

function schemaVersionOf(db: DatabaseSync, path: string): number {
  const version = Number(pragma(db, "user_version"));
  const owner = pragma(db, "application_id");
  const isEmpty = db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
  if (isEmpty || owner === APPLICATION_ID) return version;
  throw new StoreUnavailableError(
    path,
    "the file is another program's SQLite database",
    "Choose another path in STORE_URL (job service: dataDir).",
  );
}

/** True if the load of a dump into the file is unfinished. */
export function isHalfLoaded(db: DatabaseSync): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'half_loaded'").get() !== undefined;
}

/** Marks the load of a dump into the file as unfinished or finished. */
export function markHalfLoaded(db: DatabaseSync, isHalf: boolean): void {
  db.exec(
    isHalf ? "CREATE TABLE IF NOT EXISTS half_loaded (x INTEGER) STRICT" : "DROP TABLE IF EXISTS half_loaded",
  );
}
