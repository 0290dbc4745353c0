import { EventEmitter } from "node:events";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import type { GroupCommit } from "./group-commit.ts";
import { storeErrorsOf } from "./store-errors.ts";

type SqliteKeyvAdapterOptions = {
  db: DatabaseSync;
  /** What writes to `db`. */
  commits: GroupCommit;
  /** Sets this adapter's keys apart from all others in the file. Holds no colon. */
  namespace: string;
  clock: Clock;
};

/** The statements of the adapter; a test looks at their query plans. */
export const kvSql = {
  get: "SELECT key, value FROM kv WHERE key = ? AND (expires_at IS NULL OR expires_at > ?)",
  set: `INSERT INTO kv (key, value, expires_at) VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
  delete: "DELETE FROM kv WHERE key = ? RETURNING expires_at",
  clear: "DELETE FROM kv WHERE key >= ? AND key < ?",
  page: `SELECT key, value FROM kv
    WHERE key > ? AND key < ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY key LIMIT ?`,
  removeExpired: `DELETE FROM kv WHERE key IN
    (SELECT key FROM kv WHERE expires_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?)`,
} as const;

const pageSize = 100;

const Entry = z.object({ key: z.string(), value: z.string() });
const Deleted = z.object({ expires_at: z.int().nullable() });

/** A Keyv storage adapter on one namespace of the `kv` table. Values are the strings that Keyv's serializer makes. */
export function createSqliteKeyvAdapter(options: SqliteKeyvAdapterOptions): SqliteKeyvAdapter {
  return new SqliteKeyvAdapter(options);
}

/**
 * Fits Keyv's `KeyvStoreAdapter` without saying `implements`, as that type promises any type of value the caller names.
 * Methods reject with a `StoreUnavailableError`. An expired entry is absent from the moment the injected clock says so; its row goes later.
 */
class SqliteKeyvAdapter extends EventEmitter {
  /** Keyv offers `iterator()` only for the dialects it knows. */
  readonly opts = { dialect: "sqlite" };
  readonly #commits: GroupCommit;
  readonly #clock: Clock;
  readonly #namespace: string;
  readonly #statements: Record<Exclude<keyof typeof kvSql, "removeExpired">, StatementSync>;
  readonly #toStoreError: (thrown: unknown) => Error;

  constructor({ db, commits, namespace, clock }: SqliteKeyvAdapterOptions) {
    super();
    // With a colon, namespace "a" with key "b:c" would be namespace "a:b" with key "c".
    if (namespace === "" || namespace.includes(":")) {
      throw new TypeError(`A Keyv namespace is a word without a colon, not "${namespace}"`);
    }
    this.#commits = commits;
    this.#clock = clock;
    this.#namespace = namespace;
    this.#toStoreError = storeErrorsOf(db);
    this.#statements = {
      get: db.prepare(kvSql.get),
      set: db.prepare(kvSql.set),
      delete: db.prepare(kvSql.delete),
      clear: db.prepare(kvSql.clear),
      page: db.prepare(kvSql.page),
    };
  }

  get namespace(): string {
    return this.#namespace;
  }

  /** Keyv assigns its own namespace to its adapter. Another one would let a second Keyv read and clear this one's keys. */
  set namespace(namespace: string | undefined) {
    if (namespace === this.#namespace) return;
    throw new TypeError(
      `This adapter holds the namespace "${this.#namespace}", not "${namespace}": create one adapter per Keyv`,
    );
  }

  async get(key: string): Promise<string | undefined> {
    return this.peek(key);
  }

  /** The entry as it is now, for whoever has no transaction open. Throws a `StoreUnavailableError`. */
  peek(key: string): string | undefined {
    return this.#attempt(() => this.read(key));
  }

  async getMany(keys: string[]): Promise<Array<string | undefined>> {
    return this.#attempt(() => keys.map((key) => this.read(key)));
  }

  async has(key: string): Promise<boolean> {
    return this.#attempt(() => this.read(key) !== undefined);
  }

  /** Durable when it resolves. `ttlMs` absent or 0: kept for good. */
  async set(key: string, value: string, ttlMs?: number): Promise<boolean> {
    return this.#commits.run(() => {
      this.write(key, value, ttlMs);
      return true;
    });
  }

  async delete(key: string): Promise<boolean> {
    return this.#commits.run(() => this.remove(key));
  }

  /** Removes all of them or, when it rejects, none. Resolves to whether any was there. */
  async deleteMany(keys: string[]): Promise<boolean> {
    return this.#commits.run(() => keys.map((key) => this.remove(key)).includes(true));
  }

  /** See `RecordStorage`. */
  async deleteIf(key: string, text: string): Promise<boolean> {
    return this.#commits.run(() => this.read(key) === text && this.remove(key));
  }

  /** Removes this namespace's entries, and no others. */
  async clear(): Promise<void> {
    await this.#commits.run(() => this.#statements.clear.run(this.#prefix, this.#end));
  }

  /** Yields this namespace's entries in the order of their keys, a page at a time, whatever is written meanwhile. */
  async *iterator(): AsyncGenerator<[key: string, value: string], void> {
    let last = this.#prefix;
    for (;;) {
      const from = last;
      const rows = this.#attempt(() =>
        this.#statements.page.all(from, this.#end, this.#clock.now(), pageSize),
      );
      for (const row of rows) {
        const { key, value } = Entry.parse(row);
        last = key;
        yield [key.slice(this.#prefix.length), value];
      }
      if (rows.length < pageSize) return;
    }
  }

  /** The entry, read in the transaction that is open, or as it is on the disk. */
  read(key: string): string | undefined {
    const row = this.#statements.get.get(this.#prefix + key, this.#clock.now());
    return row === undefined ? undefined : Entry.parse(row).value;
  }

  /** Writes in the transaction that is open. */
  write(key: string, value: string, ttlMs?: number): void {
    const expiresAt = ttlMs ? this.#clock.now() + Math.ceil(ttlMs) : null;
    this.#statements.set.run(this.#prefix + key, value, expiresAt);
  }

  /** Removes in the transaction that is open. Returns whether it was there. */
  remove(key: string): boolean {
    const row = this.#statements.delete.get(this.#prefix + key);
    if (row === undefined) return false;
    const { expires_at: expiresAt } = Deleted.parse(row);
    return expiresAt === null || expiresAt > this.#clock.now();
  }

  /** Does nothing: the database belongs to whoever opened it. */
  async disconnect(): Promise<void> {}

  get #prefix(): string {
    return `${this.#namespace}:`;
  }

  /** The first key after all keys with the prefix: ";" follows ":". */
  get #end(): string {
    return `${this.#namespace};`;
  }

  /** Throws a `StoreUnavailableError` for what SQLite throws. */
  #attempt<T>(work: () => T): T {
    try {
      return work();
    } catch (thrown) {
      throw this.#toStoreError(thrown);
    }
  }
}
