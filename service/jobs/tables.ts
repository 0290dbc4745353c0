import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { z } from "zod";

/** Runs statements on the service's tables. Each is prepared once. */
export class Tables {
  readonly db: DatabaseSync;
  readonly #onWrite: () => void;
  readonly #statements = new Map<string, StatementSync>();

  /** `onWrite` is called after each write, inside its transaction. */
  constructor(db: DatabaseSync, onWrite: () => void = () => {}) {
    this.db = db;
    this.#onWrite = onWrite;
  }

  /** Returns how many rows were changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    const { changes } = this.#prepared(sql).run(...values);
    this.#onWrite();
    return Number(changes);
  }

  /** The first row, or null if there is none. */
  one<T>(row: z.ZodType<T>, sql: string, ...values: SQLInputValue[]): T | null {
    const found = this.#prepared(sql).get(...values);
    return found === undefined ? null : row.parse(found);
  }

  all<T>(row: z.ZodType<T>, sql: string, ...values: SQLInputValue[]): T[] {
    return z.array(row).parse(this.#prepared(sql).all(...values));
  }

  /** The `id` of each row. */
  ids(sql: string, ...values: SQLInputValue[]): string[] {
    return this.all(IdRow, sql, ...values).map(({ id }) => id);
  }

  #prepared(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

const IdRow = z.object({ id: z.string() });
