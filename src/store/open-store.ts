import type { DatabaseSync } from "node:sqlite";
import type { z } from "zod";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { recordSchemas } from "../core/records.ts";
import type { Read, RecordKind, RecordOf, RecordStore, Write, WriteOf } from "../core/records.ts";
import type { Append } from "../core/task-queue.ts";
import { messageOf } from "../errors.ts";
import { GroupCommit } from "./group-commit.ts";
import { openKeyv, serialize } from "./keyv.ts";
import { StoreHalfLoadedError, isHalfLoaded } from "./load-mark.ts";
import { KeyvRecordStore } from "./record-store.ts";
import { type Store, recordsOf } from "./store.ts";
import { type SqliteLocation, openSqliteDatabase } from "./sqlite-database.ts";
import { createSqliteKeyvAdapter, kvSql } from "./sqlite-keyv-adapter.ts";
import { SqliteSeries } from "./sqlite-series.ts";
import { SqliteSlots } from "./sqlite-slots.ts";
import { StoreUnavailableError, storeErrorsOf } from "./store-errors.ts";
import { syncWal } from "./wal-sync.ts";

type OpenStoreOptions = {
  /** `sqlite://path` (relative to the working directory), `sqlite:///absolute/path`, or `memory://`. */
  url: string;
  clock: Clock;
  logger: Logger;
  /** How long to wait for a process that still owns the file. @default 10 000 */
  ownerWaitMs?: number;
  /** How long a record that does not parse is kept for the operator, milliseconds. @default 90 days */
  keepSetAsideMs?: number;
  /** Called when the disk failed to keep what was written. Go on with a new process. */
  onBroken?: (error: Error) => void;
};

/** A store in a SQLite file, which this process owns. */
export interface SqliteStore extends Store {
  /** The database, for the task queue that shares it, and what writes to it. */
  readonly db: DatabaseSync;
  readonly commits: GroupCommit;
  readonly slots: SqliteSlots;
  /** What a decision reads and writes, in the transaction that is open. `peek` needs none, and sets nothing aside. */
  readonly decided: {
    read: Read;
    peek: Read;
    write: (write: Write) => void;
    append: (append: Append) => void;
  };
  /** Records under a name of one's own: lower-case letters, digits and hyphens. */
  recordsNamed<T>(name: string, schema: z.ZodType<T>): RecordStore<T>;
  /** Removes, in the transaction that is open, a bounded number of entries whose time is over. Returns whether more may be left. */
  sweep(): boolean;
}

/** The records of one kind: as anybody sees them, and as a decision does, in the transaction that is open. */
type Decidable<T> = {
  store: RecordStore<T>;
  read(id: string): T | undefined;
  peek(id: string): T | undefined;
  write(id: string, record: T | null, ttlMs?: number): void;
};
type Decidables = { [K in RecordKind]: Decidable<RecordOf<K>> };

const setAsideNamespace = "set-aside";
const probeNamespace = "probe";
const sweepLimit = 500;
const ninetyDaysMs = 90 * 24 * 60 * 60_000;

/** Opens the store at `url`. Rejects with a `StoreInUseError` or a `StoreUnavailableError`. */
export async function openStore(options: OpenStoreOptions): Promise<SqliteStore> {
  const { url, clock, logger, ownerWaitMs, keepSetAsideMs = ninetyDaysMs, onBroken } = options;
  const location = toSqliteLocation(url);
  const database = await openSqliteDatabase(location, {
    clock,
    ...(ownerWaitMs !== undefined && { ownerWaitMs }),
  });
  const { db } = database;
  if (isHalfLoaded(database.db)) {
    database.close();
    throw new StoreHalfLoadedError(database.path ?? url);
  }
  const wal = database.path === null ? null : syncWal(db, database.path);
  const commits = new GroupCommit({
    db,
    toStoreError: storeErrorsOf(db),
    assertOwned: database.assertOwned,
    ...(wal === null ? {} : { sync: wal.sync }),
    ...(onBroken === undefined ? {} : { onBroken }),
  });
  const shownPath = location === "memory" ? url : location.path;
  const setAside = keyvOf(setAsideNamespace);
  const probe = keyvOf(probeNamespace).keyv;
  const removeExpired = db.prepare(kvSql.removeExpired);
  const slots = new SqliteSlots({ db, commits, clock });
  const series = new SqliteSeries({ db, clock });
  let setAsideCount = 0;

  function keyvOf(namespace: string) {
    const storage = createSqliteKeyvAdapter({ db, commits, namespace, clock });
    return { storage, keyv: openKeyv({ store: storage, namespace, logger }) };
  }

  function openRecords<T>(name: string, schema: z.ZodType<T>) {
    if (!/^[a-z][a-z0-9-]*$/.test(name) || name === setAsideNamespace || name === probeNamespace) {
      throw new TypeError(`Records cannot be named "${name}": choose another lower-case word`);
    }
    const { storage, keyv } = keyvOf(name);
    const store = new KeyvRecordStore({
      keyv,
      storage,
      setAside: setAside.keyv,
      keepSetAsideMs,
      name,
      schema,
      clock,
      logger,
      onSetAside: () => {
        setAsideCount += 1;
      },
    });
    return { storage, store };
  }

  function decidable<K extends RecordKind>(kind: K, schema: z.ZodType<RecordOf<K>>): Decidable<RecordOf<K>> {
    const { storage, store } = openRecords(kind, schema);
    return {
      store,
      read(id) {
        const text = storage.read(id);
        if (text === undefined) return undefined;
        const record = store.fromText(id, text);
        const bad = record === undefined ? store.badRecordOf(text) : null;
        if (bad !== null) {
          setAside.storage.write(`${kind}:${id}`, serialize({ value: bad }), keepSetAsideMs);
          storage.remove(id);
          commits.afterCommit(() => store.wasSetAside(id, bad));
        }
        return record;
      },
      peek(id) {
        const text = storage.peek(id);
        return text === undefined ? undefined : store.fromText(id, text);
      },
      write(id, record, ttlMs) {
        if (record === null) storage.remove(id);
        else storage.write(id, store.toText(id, record), ttlMs);
      },
    };
  }
  const kinds: Decidables = {
    turn: decidable("turn", recordSchemas.turn),
    job: decidable("job", recordSchemas.job),
    thread: decidable("thread", recordSchemas.thread),
    draft: decidable("draft", recordSchemas.draft),
    service: decidable("service", recordSchemas.service),
    notice: decidable("notice", recordSchemas.notice),
    reply: decidable("reply", recordSchemas.reply),
    withheld: decidable("withheld", recordSchemas.withheld),
    asked: decidable("asked", recordSchemas.asked),
  };

  /** Until then, what was removed is still in the pages that the log has copies of, and in those that it replaces. */
  function emptyLog(): void {
    if (!db.isOpen) return;
    try {
      // While somebody else reads the file, the log stays as it is, until the next sweep.
      db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    } catch (thrown) {
      logger.warn({ error: messageOf(thrown) }, "store: the write-ahead log cannot be emptied now");
    }
  }

  let isClosed = false;
  async function close(): Promise<void> {
    if (isClosed) return;
    isClosed = true;
    await slots.save().catch((thrown: unknown) => {
      logger.warn({ error: messageOf(thrown) }, "store: the slots at Slack could not be saved");
    });
    await commits.settled();
    wal?.close();
    database.close();
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
    commits,
    slots,
    series,
    decided: {
      read: (kind, id) => kinds[kind].read(id),
      peek: (kind, id) => kinds[kind].peek(id),
      write: (write) => applyTo(kinds, write),
      append: (append) => series.append(append),
    },
    records: recordsOf(kinds),
    recordsNamed: (name, schema) => openRecords(name, schema).store,
    setAsideCount: () => setAsideCount,
    risk: null,
    sweep() {
      slots.sweep();
      const isMore = Number(removeExpired.run(clock.now(), sweepLimit).changes) === sweepLimit;
      const mayBeMore = series.sweep(sweepLimit) || isMore;
      // Not inside of the transaction that is open.
      if (!mayBeMore) setImmediate(emptyLog);
      return mayBeMore;
    },
    check,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function applyTo<K extends RecordKind>(kinds: Decidables, { kind, id, record, ttlMs }: WriteOf<K>): void {
  kinds[kind].write(id, record, ttlMs);
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
