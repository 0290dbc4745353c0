import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../errors.ts";
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

/** Makes the state's folder. Throws a {@link StartError} unless this user may use it, and the state's files as far as they are there. */
export function openDataDir(config: DataDir): void {
  try {
    mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  } catch (thrown) {
    throw unusable(config, thrown);
  }
  assertAccess(config, constants.R_OK | constants.W_OK);
}

function assertAccess(config: DataDir, mode: number): void {
  const file = stateFileOf(config);
  try {
    accessSync(config.dataDir, mode | constants.X_OK);
    for (const path of [file, `${file}-owner`, `${file}-wal`, `${file}-shm`]) {
      if (existsSync(path)) accessSync(path, mode);
    }
  } catch (thrown) {
    throw unusable(config, thrown);
  }
}

const NO_RIGHT = new Set(["EACCES", "EPERM"]);

function unusable(config: DataDir, thrown: unknown): StartError {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : messageOf(thrown);
  const remedy = NO_RIGHT.has(code)
    ? `Give ${config.dataDir} and all that is in it to the user that the service runs as.`
    : "Check dataDir in the settings.";
  return new StartError(`Can't open ${stateFileOf(config)} (${code}). ${remedy}`, { cause: thrown });
}

/** Opens the state as its only owner, as the server does. Rejects with a {@link StartError} when another server has it. */
export async function openServiceDatabase(
  config: DataDir,
  options: { clock: Clock; ownerWaitMs?: number },
): Promise<SqliteDatabase> {
  openDataDir(config);
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

/** Runs `work` on the state as its only owner. Null: a service, or another command, has it. */
export async function withState<T>(
  config: DataDir,
  clock: Clock,
  work: (db: DatabaseSync) => T,
): Promise<T | null> {
  openDataDir(config);
  const path = stateFileOf(config);
  let owned: SqliteDatabase;
  try {
    owned = await openSqliteDatabase({ path }, { clock, ownerWaitMs: 0, migrations: serviceMigrations });
  } catch (thrown) {
    if (thrown instanceof StoreInUseError) return null;
    throw thrown;
  }
  try {
    return work(owned.db);
  } finally {
    owned.close();
  }
}

/** Runs `work` on the state without being able to change it. Null when there is no state yet. Throws a {@link StartError} when it may not be read. */
export function readState<T>(config: DataDir, work: (db: DatabaseSync) => T): T | null {
  if (!existsSync(config.dataDir)) return null;
  assertAccess(config, constants.R_OK);
  const path = stateFileOf(config);
  return existsSync(path) ? beside(path, work) : null;
}

function beside<T>(path: string, work: (db: DatabaseSync) => T): T {
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
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
