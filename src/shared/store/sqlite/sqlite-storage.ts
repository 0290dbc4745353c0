import type { DatabaseSync, StatementSync } from "node:sqlite";
import { z } from "zod";
import type { Clock } from "../../machine/ports.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { RecordStorage } from "../keyv-record-store.ts";
import { preparing } from "./sqlite-database.ts";
import { storeErrorsOf } from "../store-errors.ts";
import type { Append, Series } from "../series.ts";

/** The statements on records and series. A test checks their query plans. */
export const STORAGE_SQL = {
  get: "SELECT value FROM kv WHERE key = ? AND (expires_at IS NULL OR expires_at > ?)",
  set: `INSERT INTO kv (key, value, expires_at) VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
  /** value, key, now */
  rewrite: "UPDATE kv SET value = ? WHERE key = ? AND (expires_at IS NULL OR expires_at > ?)",
  delete: "DELETE FROM kv WHERE key = ? RETURNING expires_at",
  removeExpired: `DELETE FROM kv WHERE key IN
    (SELECT key FROM kv WHERE expires_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?)`,
  append: "INSERT INTO series (name, entry, expires_at, keep) VALUES (?, ?, ?, ?)",
  /** after seq, count; entries that aren't listed yet */
  unlisted: `SELECT seq, name, keep FROM series WHERE seq > ? AND keep IS NOT NULL
    ORDER BY seq LIMIT ?`,
  /** after seq, up to seq */
  list: "UPDATE series SET keep = NULL WHERE seq > ? AND seq <= ? AND keep IS NOT NULL",
  /** Name, name, how many to keep. */
  trim: `DELETE FROM series WHERE name = ? AND keep IS NULL AND seq <=
    (SELECT seq FROM series WHERE name = ? AND keep IS NULL ORDER BY seq DESC LIMIT 1 OFFSET ?)`,
  /** name, now, after seq; listed entries, then new ones */
  entries: `SELECT seq, entry, keep FROM series WHERE name = ?1 AND keep IS NULL AND expires_at > ?2
    UNION ALL SELECT seq, entry, keep FROM series
      WHERE seq > ?3 AND keep IS NOT NULL AND name = ?1 AND expires_at > ?2
    ORDER BY seq`,
  /** name */
  removeListed: "DELETE FROM series WHERE name = ? AND keep IS NULL",
  /** name, after seq; entries that aren't listed yet */
  removeUnlisted: "DELETE FROM series WHERE name = ? AND seq > ? AND keep IS NOT NULL",
  /**
   * after seq, count; the end of a sweep's range. The next sweep continues there: without an index
   * by time, each append writes a page less.
   */
  sweepEnd: "SELECT seq FROM series WHERE seq > ? ORDER BY seq LIMIT 1 OFFSET ?",
  removeExpiredEntries: "DELETE FROM series WHERE seq > ? AND seq <= ? AND expires_at <= ?",
} as const;

const Value = z.object({ value: z.string() });
const Deleted = z.object({ expires_at: z.int().nullable() });
const Entry = z.object({ entry: z.string(), keep: z.int().nullable() });
const Unlisted = z.object({ seq: z.int(), name: z.string(), keep: z.int() });
const Sequenced = z.object({ seq: z.int() });

type SqliteStorageOptions = {
  db: DatabaseSync;
  /** Writes to `db`. */
  commits: GroupCommit;
  /** Separates this storage's keys from all others in the file. Contains no colon. */
  namespace: string;
  clock: Clock;
};

/**
 * A Keyv storage for one namespace of the `kv` table. Values are the strings of Keyv's serializer.
 * An expired entry is absent as soon as the injected clock says so; its row is removed later.
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
   * The current entry, for callers without an open transaction. Throws a `StoreUnavailableError`.
   */
  peek(key: string): string | undefined {
    try {
      return this.read(key);
    } catch (thrown) {
      throw this.#toStoreError(thrown);
    }
  }

  /** Durable when it resolves. If `ttlMs` is absent or 0, the entry is kept for good. */
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

  /** Keyv requires this method. */
  async clear(): Promise<void> {
    throw new TypeError("Records are removed one at a time");
  }

  /** The entry, read in the open transaction or from the disk. */
  read(key: string): string | undefined {
    const row = this.#sql(STORAGE_SQL.get).get(`${this.namespace}:${key}`, this.#clock.now());
    return row === undefined ? undefined : Value.parse(row).value;
  }

  /** Writes in the open transaction. */
  write(key: string, value: string, ttlMs?: number): void {
    const expiresAt = ttlMs ? this.#clock.now() + Math.ceil(ttlMs) : null;
    this.#sql(STORAGE_SQL.set).run(`${this.namespace}:${key}`, value, expiresAt);
  }

  /** Changes an entry in the open transaction, and keeps its end. Does nothing without one. */
  rewrite(key: string, value: string): void {
    this.#sql(STORAGE_SQL.rewrite).run(value, `${this.namespace}:${key}`, this.#clock.now());
  }

  /** Removes in the open transaction. Returns true if it was there. */
  remove(key: string): boolean {
    const row = this.#sql(STORAGE_SQL.delete).get(`${this.namespace}:${key}`);
    if (row === undefined) return false;
    const { expires_at: expiresAt } = Deleted.parse(row);
    return expiresAt === null || expiresAt > this.#clock.now();
  }
}

/** The most entries that one sweep lists. */
const LISTED_AT_ONCE = 2_000;

type SqliteSeries = Series & { append(append: Append): void; sweep(limit: number): boolean };

/**
 * Series in the file that this process owns. Each entry in the index by name changes a page of its
 * own, which costs more than its row. So a sweep lists new entries there together.
 */
export function openSqliteSeries(options: Omit<SqliteStorageOptions, "namespace">): SqliteSeries {
  const { db, commits, clock } = options;
  const sql = preparing(db);
  const toStoreError = storeErrorsOf(db);
  /** All entries up to this one are listed by name. */
  let listedTo = 0;
  /** The last entry that the sweep has checked. */
  let sweptTo = 0;
  return {
    async of(series) {
      try {
        const entries = z.array(Entry).parse(sql(STORAGE_SQL.entries).all(series, clock.now(), listedTo));
        return entries.slice(-(entries.at(-1)?.keep ?? entries.length)).map(({ entry }) => entry);
      } catch (thrown) {
        throw toStoreError(thrown);
      }
    },

    async remove(series) {
      await commits.run(() => {
        sql(STORAGE_SQL.removeListed).run(series);
        sql(STORAGE_SQL.removeUnlisted).run(series, listedTo);
      });
    },

    /** Appends in the open transaction. */
    append({ series, entry, keep, ttlMs }) {
      sql(STORAGE_SQL.append).run(series, entry, clock.now() + Math.ceil(ttlMs), keep);
    },

    /**
     * Lists new entries by name, trims their series, and removes expired entries, a bounded number
     * of each, in the open transaction. Returns true if more may be left.
     */
    sweep(limit) {
      const added = z.array(Unlisted).parse(sql(STORAGE_SQL.unlisted).all(listedTo, LISTED_AT_ONCE));
      const last = added.at(-1)?.seq ?? listedTo;
      sql(STORAGE_SQL.list).run(listedTo, last);
      const keepOf = new Map(added.map(({ name, keep }) => [name, keep]));
      for (const [name, keep] of keepOf) sql(STORAGE_SQL.trim).run(name, name, keep);
      commits.afterCommit(() => (listedTo = last));
      const end = sql(STORAGE_SQL.sweepEnd).get(sweptTo, limit - 1);
      const upTo = end === undefined ? Number.MAX_SAFE_INTEGER : Sequenced.parse(end).seq;
      const { changes } = sql(STORAGE_SQL.removeExpiredEntries).run(sweptTo, upTo, clock.now());
      sweptTo = end === undefined ? 0 : upTo;
      return changes === limit || added.length === LISTED_AT_ONCE;
    },
  };
}

/**
 * Removes a bounded number of expired records in the open transaction. Returns true if more may be
 * left.
 */
export function removeExpired(db: DatabaseSync, nowMs: number, limit: number): boolean {
  return db.prepare(STORAGE_SQL.removeExpired).run(nowMs, limit).changes === limit;
}
