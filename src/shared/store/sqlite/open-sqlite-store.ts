import type { DatabaseSync } from "node:sqlite";
import type { Clock, Logger } from "../../machine/ports.ts";
import { messageOf } from "../../errors.ts";
import { GroupCommit, syncWal } from "./group-commit.ts";
import { type Records, openRecords } from "../keyv-record-store.ts";
import { assertRoom, isHalfLoaded, openSqliteDatabase, writeProbe } from "./sqlite-database.ts";
import { SqliteRateLimiter } from "./sqlite-rate-limiter.ts";
import { SqliteStorage, openSqliteSeries, removeExpired } from "./sqlite-storage.ts";
import type { KindOf, Kinds, SchemasOf, WriteOf } from "../record-types.ts";
import { StoreHalfLoadedError } from "../store-errors.ts";
import type { Append } from "../series.ts";

type OpenSqliteStoreOptions<R extends Kinds> = {
  schemas: SchemasOf<R>;
  /**
   * `sqlite://path` (relative to the working directory), `sqlite:///absolute/path`, or `memory://`.
   */
  url: string;
  clock: Clock;
  logger: Logger;
  /** How long to wait for a process that still owns the file. @default 10 000 */
  ownerWaitMs?: number | undefined;
  /**
   * How long a record that can't be parsed is kept for the operator, milliseconds. @default 90 days
   */
  keepSetAsideMs?: number;
  /** Called when the disk failed to keep a write. Only a new process can continue. */
  onBroken?: ((error: Error) => void) | undefined;
};

/** A store in a SQLite file, which this process owns. */
export type SqliteStore<R extends Kinds> = Awaited<ReturnType<typeof openSqliteStore<R>>>;

const SWEEP_LIMIT = 500;
const NINETY_DAYS_MS = 90 * 24 * 60 * 60_000;

/** Opens the store at `url`. Rejects with a `StoreInUseError` or a `StoreUnavailableError`. */
export async function openSqliteStore<R extends Kinds>(options: OpenSqliteStoreOptions<R>) {
  const { url, clock, logger, ownerWaitMs, keepSetAsideMs = NINETY_DAYS_MS, onBroken } = options;
  const location = url === "memory://" ? "memory" : { path: url.slice("sqlite://".length) };
  const database = await openSqliteDatabase(location, { clock, ownerWaitMs });
  const { db } = database;
  if (isHalfLoaded(db)) {
    database.close();
    throw new StoreHalfLoadedError(database.path ?? url);
  }
  const wal = database.path === null ? null : syncWal(db, database.path);
  const commits = new GroupCommit({ db, assertOwned: database.assertOwned, sync: wal?.sync, onBroken });
  const rateLimiter = new SqliteRateLimiter({ db, commits, clock });
  const series = openSqliteSeries({ db, commits, clock });
  const storageOf = (namespace: string) => new SqliteStorage({ db, commits, namespace, clock });
  const records = openRecords(storageOf, { schemas: options.schemas, clock, logger, keepSetAsideMs });

  const opened = new AsyncDisposableStack();
  opened.defer(database.close);
  opened.defer(() => wal?.close());
  opened.defer(() => commits.settled());
  opened.defer(() =>
    rateLimiter.save().catch((thrown: unknown) => {
      logger.warn({ error: messageOf(thrown) }, "store: the slots at Slack could not be saved");
    }),
  );
  const close = () => opened.disposeAsync();

  return {
    /** The database, for the task queue that shares it, and its writer. */
    db,
    commits,
    rateLimiter,
    series,
    /**
     * What a decision reads and writes in the open transaction. `peek` needs no transaction, and
     * sets nothing aside.
     */
    decided: {
      ...decidedOn(records, commits, keepSetAsideMs),
      append: (append: Append) => series.append(append),
    },
    ...records,
    risk: null,
    isUnsafe: () => false,
    /**
     * Removes a bounded number of expired entries in the open transaction. Returns true if more may
     * be left.
     */
    sweep() {
      rateLimiter.sweep();
      const records = removeExpired(db, clock.now(), SWEEP_LIMIT);
      const mayBeMore = series.sweep(SWEEP_LIMIT) || records;
      // Waits until the open transaction is over.
      if (!mayBeMore) setImmediate(() => emptyLog(db, logger));
      return mayBeMore;
    },
    async check() {
      await commits.run(() => writeProbe(db, clock.now()));
      if (database.path !== null) await assertRoom(database.path);
      return null;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** How a decision reads and writes records in the open transaction. */
function decidedOn<R extends Kinds>(
  { recordsOf, setAside }: Records<R, SqliteStorage>,
  commits: GroupCommit,
  keepSetAsideMs: number,
) {
  function read<K extends KindOf<R>>(kind: K, id: string): R[K] | undefined {
    const store = recordsOf(kind);
    const text = store.storage.read(id);
    if (text === undefined) return undefined;
    const { record, aside } = store.fromText(id, text);
    if (aside !== null) {
      setAside.write(aside.key, aside.text, keepSetAsideMs);
      store.storage.remove(id);
      commits.afterCommit(() => store.wasSetAside(aside));
    }
    return record;
  }

  function peek<K extends KindOf<R>>(kind: K, id: string): R[K] | undefined {
    const store = recordsOf(kind);
    const text = store.storage.peek(id);
    return text === undefined ? undefined : store.fromText(id, text).record;
  }

  function write<K extends KindOf<R>>({ kind, id, record, ttlMs, keepsEnd }: WriteOf<R, K>): void {
    const store = recordsOf(kind);
    if (record === null) store.storage.remove(id);
    else if (keepsEnd) store.storage.rewrite(id, store.toText(id, record));
    else store.storage.write(id, store.toText(id, record), ttlMs);
  }

  return { read, peek, write };
}

/**
 * Empties the write-ahead log. Until then, it and the pages that it replaces still hold what was
 * removed.
 */
function emptyLog(db: DatabaseSync, logger: Logger): void {
  if (!db.isOpen) return;
  try {
    // While somebody else reads the file, the log stays until the next sweep.
    db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  } catch (thrown) {
    logger.warn({ error: messageOf(thrown) }, "store: the write-ahead log cannot be emptied now");
  }
}
