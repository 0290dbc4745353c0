import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../src/core/ports/clock.ts";
import { codeOf, messageOf } from "../../src/core/errors.ts";
import { StartError } from "../../src/process/start-error.ts";
import { openSqliteDatabase, type SqliteDatabase } from "../../src/store/sqlite/sqlite-database.ts";
import { StoreInUseError } from "../../src/store/store-errors.ts";
import type { ServiceConfig } from "../config/config.ts";
import { serviceSchema } from "./schema.ts";

type DataDir = Pick<ServiceConfig, "dataDir">;

/** The one file of the service's state. */
export function stateFileOf({ dataDir }: DataDir): string {
  return join(dataDir, "job-service.sqlite");
}

/**
 * Makes the state's folder. Throws a {@link StartError} unless this user may use it, and the
 * state's files as far as they are there.
 */
export function openDataDir(config: DataDir): void {
  const file = stateFileOf(config);
  try {
    mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
    accessSync(config.dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    for (const path of [file, `${file}-owner`, `${file}-wal`, `${file}-shm`]) {
      if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK);
    }
  } catch (thrown) {
    const code = codeOf(thrown) ?? messageOf(thrown);
    const remedy = ["EACCES", "EPERM"].includes(code)
      ? `Give ${config.dataDir} and all that is in it to the user that the service runs as.`
      : "Check dataDir in the settings.";
    throw new StartError(`Can't open ${file} (${code}). ${remedy}`, { cause: thrown });
  }
}

/**
 * Opens the state as its only owner. Rejects with a {@link StartError} when another process has it,
 * or when it can't be read.
 */
export async function openServiceDatabase(
  config: DataDir,
  options: { clock: Clock; ownerWaitMs?: number },
): Promise<SqliteDatabase> {
  openDataDir(config);
  const path = stateFileOf(config);
  try {
    return await openSqliteDatabase({ path }, { ...options, migrations: serviceSchema });
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
  let owned: SqliteDatabase;
  try {
    owned = await openServiceDatabase(config, { clock, ownerWaitMs: 0 });
  } catch (thrown) {
    if (thrown instanceof StartError && thrown.cause instanceof StoreInUseError) return null;
    throw thrown;
  }
  try {
    return work(owned.db);
  } finally {
    owned.close();
  }
}
