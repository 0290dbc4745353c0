import type { DatabaseSync, StatementSync } from "node:sqlite";
import { z } from "zod";
import type { Clock } from "../../core/ports/clock.ts";
import type { Append, Series } from "../../core/ports/task-queue.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { RecordStorage } from "../record-store.ts";
import { preparing } from "./sqlite-database.ts";
import { storeErrorsOf } from "../store-errors.ts";

/** The statements on records and series; a test looks at their query plans. */
export const storageSql = {
  get: "SELECT value FROM kv WHERE key = ? AND (expires_at IS NULL OR expires_at > ?)",
  set: `INSERT INTO kv (key, value, expires_at) VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
  delete: "DELETE FROM kv WHERE key = ? RETURNING expires_at",
  removeExpired: `DELETE FROM kv WHERE key IN
    (SELECT key FROM kv WHERE expires_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?)`,
  append: "INSERT INTO series (name, entry, expires_at) VALUES (?, ?, ?)",
  /** Name, name, how many to keep. */
  trim: `DELETE FROM series WHERE name = ? AND seq <=
    (SELECT seq FROM series WHERE name = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)`,
  entries: "SELECT entry FROM series WHERE name = ? AND expires_at > ? ORDER BY seq",
  /**
   * A sweep looks at so many entries, and the next one goes on behind them: without an index by
   * time, each append writes a page less. After which entry, how many more.
   */
  sweepEnd: "SELECT seq FROM series WHERE seq > ? ORDER BY seq LIMIT 1 OFFSET ?",
  removeExpiredEntries: "DELETE FROM series WHERE seq > ? AND seq <= ? AND expires_at <= ?",
} as const;

const Value = z.object({ value: z.string() });
const Deleted = z.object({ expires_at: z.int().nullable() });
const Entry = z.object({ entry: z.string() });
const Sequenced = z.object({ seq: z.int() });

type SqliteStorageOptions = {
  db: DatabaseSync;
  /** What writes to `db`. */
  commits: GroupCommit;
  /** Sets this storage's keys apart from all others in the file. Holds no colon. */
  namespace: string;
  clock: Clock;
};

/**
 * A Keyv storage on one namespace of the `kv` table. Values are the strings that Keyv's serializer
 * makes. An expired entry is absent from the moment the injected clock says so; its row goes later.
 */
export class SqliteStorage implements RecordStorage {
  readonly namespace: string;
  readonly #commits: GroupCommit;
  readonly #clock: Clock;
  readonly #sql: (sql: string) => StatementSync;
  readonly #toStoreError: (thrown: unknown) => Error;

  constructor({ db, commits, namespace, clock }: SqliteStorageOptions) {
    this.namespace = namespace;
    this.#commits = commits;
    this.#clock = clock;
    this.#sql = preparing(db);
    this.#toStoreError = storeErrorsOf(db);
  }

  async get(key: string): Promise<string | undefined> {
    return this.peek(key);
  }

  /**
   * The entry as it is now, for whoever has no transaction open. Throws a `StoreUnavailableError`.
   */
  peek(key: string): string | undefined {
    try {
      return this.read(key);
    } catch (thrown) {
      throw this.#toStoreError(thrown);
    }
  }

  /** Durable when it resolves. `ttlMs` absent or 0: kept for good. */
  async set(key: string, value: string, ttlMs?: number): Promise<void> {
    await this.#commits.run(() => this.write(key, value, ttlMs));
  }

  async delete(key: string): Promise<boolean> {
    return this.#commits.run(() => this.remove(key));
  }

  /** See `RecordStorage`. */
  async deleteIf(key: string, text: string): Promise<boolean> {
    return this.#commits.run(() => this.read(key) === text && this.remove(key));
  }

  /** Keyv asks that it be there. */
  async clear(): Promise<void> {
    throw new TypeError("Records are removed one at a time");
  }

  /** The entry, read in the transaction that is open, or as it is on the disk. */
  read(key: string): string | undefined {
    const row = this.#sql(storageSql.get).get(`${this.namespace}:${key}`, this.#clock.now());
    return row === undefined ? undefined : Value.parse(row).value;
  }

  /** Writes in the transaction that is open. */
  write(key: string, value: string, ttlMs?: number): void {
    const expiresAt = ttlMs ? this.#clock.now() + Math.ceil(ttlMs) : null;
    this.#sql(storageSql.set).run(`${this.namespace}:${key}`, value, expiresAt);
  }

  /** Removes in the transaction that is open. Returns whether it was there. */
  remove(key: string): boolean {
    const row = this.#sql(storageSql.delete).get(`${this.namespace}:${key}`);
    if (row === undefined) return false;
    const { expires_at: expiresAt } = Deleted.parse(row);
    return expiresAt === null || expiresAt > this.#clock.now();
  }
}

/** Series in the file that this process owns. */
export class SqliteSeries implements Series {
  /** Up to which entry the sweep has looked. */
  #sweptTo = 0;
  readonly #clock: Clock;
  readonly #sql: (sql: string) => StatementSync;
  readonly #toStoreError: (thrown: unknown) => Error;

  constructor({ db, clock }: { db: DatabaseSync; clock: Clock }) {
    this.#clock = clock;
    this.#sql = preparing(db);
    this.#toStoreError = storeErrorsOf(db);
  }

  async of(series: string): Promise<string[]> {
    try {
      const rows = this.#sql(storageSql.entries).all(series, this.#clock.now());
      return rows.map((row) => Entry.parse(row).entry);
    } catch (thrown) {
      throw this.#toStoreError(thrown);
    }
  }

  /** Appends in the transaction that is open. */
  append({ series, entry, keep, ttlMs }: Append): void {
    this.#sql(storageSql.append).run(series, entry, this.#clock.now() + Math.ceil(ttlMs));
    this.#sql(storageSql.trim).run(series, series, keep);
  }

  /** The same as {@link removeExpired}, for the next `limit` entries. */
  sweep(limit: number): boolean {
    const end = this.#sql(storageSql.sweepEnd).get(this.#sweptTo, limit - 1);
    const upTo = end === undefined ? Number.MAX_SAFE_INTEGER : Sequenced.parse(end).seq;
    const removal = this.#sql(storageSql.removeExpiredEntries);
    const { changes } = removal.run(this.#sweptTo, upTo, this.#clock.now());
    this.#sweptTo = end === undefined ? 0 : upTo;
    return changes === limit;
  }
}

/**
 * Removes, in the transaction that is open, a bounded number of records whose time is over. Returns
 * whether more may be left.
 */
export function removeExpired(db: DatabaseSync, nowMs: number, limit: number): boolean {
  return db.prepare(storageSql.removeExpired).run(nowMs, limit).changes === limit;
}
