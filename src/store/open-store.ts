import type { DatabaseSync } from "node:sqlite";
import type { Keyv } from "keyv";
import type { z } from "zod";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { openKeyv } from "./keyv.ts";
import type { RecordStore } from "../core/records.ts";
import { createRecordStore } from "./record-store.ts";
import { type SqliteLocation, openSqliteDatabase } from "./sqlite-database.ts";
import { createSqliteKeyvAdapter } from "./sqlite-keyv-adapter.ts";
import { StoreUnavailableError } from "./store-errors.ts";

export type OpenStoreOptions = {
  /** `sqlite://path` (relative to the working directory), `sqlite:///absolute/path`, or `memory://`. */
  url: string;
  clock: Clock;
  logger: Logger;
  /** How long to wait for a process that still owns the file. @default 10 000 */
  ownerWaitMs?: number;
};

/** Everything the app remembers, in one place. */
export interface Store extends AsyncDisposable {
  /** The database, for the task queue that shares it. */
  readonly db: DatabaseSync;
  /** The records of one kind. `name` is part of their keys: lower-case letters, digits and hyphens. */
  records<T>(name: string, schema: z.ZodType<T>): RecordStore<T>;
  /** How many records were set aside since the store was opened. */
  setAsideCount(): number;
  /** Rejects with a `StoreUnavailableError` unless a value can be written and read back now. */
  check(): Promise<void>;
  /** Closes the file and gives up owning it. Idempotent. Stop what uses the store first. */
  close(): Promise<void>;
}

const setAsideNamespace = "set-aside";
const probeNamespace = "probe";

/** Opens the store at `url`. Rejects with a `StoreInUseError` or a `StoreUnavailableError`. */
export async function openStore({ url, clock, logger, ownerWaitMs }: OpenStoreOptions): Promise<Store> {
  const location = toSqliteLocation(url);
  const database = await openSqliteDatabase(location, {
    clock,
    ...(ownerWaitMs !== undefined && { ownerWaitMs }),
  });
  const { db } = database;
  const shownPath = location === "memory" ? url : location.path;
  const setAside = keyvOf(setAsideNamespace);
  const probe = keyvOf(probeNamespace);
  let setAsideCount = 0;

  function keyvOf(namespace: string): Keyv {
    return openKeyv({ store: createSqliteKeyvAdapter({ db, namespace, clock }), namespace, logger });
  }

  function records<T>(name: string, schema: z.ZodType<T>): RecordStore<T> {
    if (!/^[a-z][a-z0-9-]*$/.test(name) || name === setAsideNamespace || name === probeNamespace) {
      throw new TypeError(`Records cannot be named "${name}": choose another lower-case word`);
    }
    return createRecordStore({
      keyv: keyvOf(name),
      setAside,
      name,
      schema,
      clock,
      logger,
      onSetAside: () => {
        setAsideCount += 1;
      },
    });
  }

  async function check(): Promise<void> {
    await probe.set("check", clock.now());
    // Not compared with what was written: another check may have written since.
    if (typeof (await probe.get("check")) === "number") return;
    throw new StoreUnavailableError(
      shownPath,
      "a value that was written cannot be read back",
      "Check the disk.",
    );
  }

  return {
    db,
    records,
    setAsideCount: () => setAsideCount,
    check,
    close: async () => database.close(),
    [Symbol.asyncDispose]: async () => database.close(),
  };
}

/** Where the store that `url` names lives. Throws a `TypeError` for a URL of another kind. */
export function toSqliteLocation(url: string): SqliteLocation {
  if (url === "memory://") return "memory";
  const path = url.startsWith("sqlite://") ? url.slice("sqlite://".length) : "";
  if (path === "") {
    throw new TypeError(
      "STORE_URL must be sqlite://path or memory://, for example sqlite://./data/docs-agent.sqlite",
    );
  }
  return { path };
}
