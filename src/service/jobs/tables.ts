import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { z } from "zod";
import { preparing } from "../../shared/store/sqlite/sqlite-database.ts";

/** Runs statements on the service's tables. Each is prepared once. */
export class Tables {
  readonly db: DatabaseSync;
  readonly #onWrite: () => void;
  readonly #prepared: (sql: string) => StatementSync;

  /** `onWrite` is called after each write, inside its transaction. */
  constructor(db: DatabaseSync, onWrite: () => void = () => {}) {
    this.db = db;
    this.#onWrite = onWrite;
    this.#prepared = preparing(db);
  }

  /** Returns how many rows were changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    const { changes } = this.#prepared(sql).run(...values);
    this.#onWrite();
    return Number(changes);
  }

  /**
   * Like `run`, for what isn't worth a wait for the disk. It gets there together with the next
   * write, and a power cut may lose it. Must not be called in a transaction.
   */
  note(sql: string, ...values: SQLInputValue[]): void {
    this.db.exec("PRAGMA synchronous = NORMAL");
    try {
      this.run(sql, ...values);
    } finally {
      this.db.exec("PRAGMA synchronous = FULL");
    }
  }

  /** The first row, or null if there is none. */
  one<T>(row: z.ZodType<T>, sql: string, ...values: SQLInputValue[]): T | null {
    const found = this.#prepared(sql).get(...values);
    return found === undefined ? null : row.parse(found);
  }

  all<T>(row: z.ZodType<T>, sql: string, ...values: SQLInputValue[]): T[] {
    return z.array(row).parse(this.#prepared(sql).all(...values));
  }

  /** The rows one by one, so that whoever needs no more of them reads no more. */
  *each<T>(row: z.ZodType<T>, sql: string, ...values: SQLInputValue[]): Generator<T, void> {
    for (const found of this.#prepared(sql).iterate(...values)) yield row.parse(found);
  }

  /** The first row's only column, or null if that is null or there is no row. */
  value<T>(type: z.ZodType<T>, sql: string, ...values: SQLInputValue[]): T | null {
    const [value = null] = Object.values(this.#prepared(sql).get(...values) ?? {});
    return value === null ? null : type.parse(value);
  }

  /** The `id` of each row. */
  ids(sql: string, ...values: SQLInputValue[]): string[] {
    return this.all(IdRow, sql, ...values).map(({ id }) => id);
  }
}

const IdRow = z.object({ id: z.string() });

/** Selects a row's fields from their columns: `createdAt` from `created_at`. */
export function columnsOf(row: z.ZodObject): string {
  const columnOf = (field: string) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.keys(row.shape)
    .map((field) => `${columnOf(field)} AS ${field}`)
    .join(", ");
}
