import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { StartError } from "../start-error.ts";
import { openSqliteDatabase, type SqliteDatabase } from "../store/sqlite-database.ts";
import { StoreInUseError, toStoreError } from "../store/store-errors.ts";
import type { ServiceConfig } from "./config.ts";
import { serviceMigrations } from "./migrations.ts";

type DataDir = Pick<ServiceConfig, "dataDir">;

/** How long the command line waits for the server's writes, which take milliseconds. */
const BUSY_TIMEOUT_MS = 5_000;
const UserVersion = z.object({ user_version: z.int() });

/** The one file of the service's state. */
function stateFileOf({ dataDir }: DataDir): string {
  return join(dataDir, "job-service.sqlite");
}

/** Opens the state as its only owner, as the server does. Rejects with a {@link StartError} when another server has it. */
export async function openServiceDatabase(
  config: DataDir,
  options: { clock: Clock; ownerWaitMs?: number },
): Promise<SqliteDatabase> {
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 });
  try {
    return await openSqliteDatabase(
      { path: stateFileOf(config) },
      { ...options, migrations: serviceMigrations },
    );
  } catch (thrown) {
    if (!(thrown instanceof StoreInUseError)) throw thrown;
    throw new StartError(`Another job service is using ${config.dataDir}. Stop it or change dataDir.`, {
      cause: thrown,
    });
  }
}

/**
 * Runs `work` on the state, which a server may be using: then beside it, on a second connection. SQLite lets one
 * connection write at a time and readers go on (WAL); `work` must be one short transaction, for the server waits for it.
 */
export async function withState<T>(config: DataDir, clock: Clock, work: (db: DatabaseSync) => T): Promise<T> {
  const path = stateFileOf(config);
  let owned: SqliteDatabase;
  try {
    owned = await openSqliteDatabase({ path }, { clock, ownerWaitMs: 0, migrations: serviceMigrations });
  } catch (thrown) {
    if (thrown instanceof StoreInUseError) return beside(path, false, work);
    throw thrown;
  }
  try {
    return work(owned.db);
  } finally {
    owned.close();
  }
}

/** Runs `work` on the state without being able to change it. Null when there is no state yet. */
export function readState<T>(config: DataDir, work: (db: DatabaseSync) => T): T | null {
  const path = stateFileOf(config);
  return existsSync(path) ? beside(path, true, work) : null;
}

function beside<T>(path: string, readOnly: boolean, work: (db: DatabaseSync) => T): T {
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(path, { readOnly, timeout: BUSY_TIMEOUT_MS });
    // As durable as what the server writes.
    if (!readOnly) db.exec("PRAGMA synchronous = FULL");
    const { user_version: version } = UserVersion.parse(db.prepare("PRAGMA user_version").get());
    if (version !== serviceMigrations.length) {
      throw new StartError(
        `${path} has schema version ${version}, and this version of the job service works with ${serviceMigrations.length}. Use the version that serves it, or start this one once.`,
      );
    }
    return work(db);
  } catch (thrown) {
    throw toStoreError(path, thrown);
  } finally {
    db?.close();
  }
}
