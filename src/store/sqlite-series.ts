import type { DatabaseSync, StatementSync } from "node:sqlite";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import type { Append, Series } from "../core/task-queue.ts";
import { storeErrorsOf } from "./store-errors.ts";

/** The statements of the series; a test looks at their query plans. */
export const seriesSql = {
  append: "INSERT INTO series (name, entry, expires_at) VALUES (?, ?, ?)",
  /** Name, name, how many to keep. */
  trim: `DELETE FROM series WHERE name = ? AND seq <=
    (SELECT seq FROM series WHERE name = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)`,
  entries: "SELECT entry FROM series WHERE name = ? AND expires_at > ? ORDER BY seq",
  /** Looks at the oldest so many: without an index by time, each append writes a page less. */
  removeExpired: `DELETE FROM series WHERE expires_at <= ?
    AND seq IN (SELECT seq FROM series ORDER BY seq LIMIT ?)`,
} as const;

const Entry = z.object({ entry: z.string() });

/** Series in the file that this process owns. */
export class SqliteSeries implements Series {
  readonly #clock: Clock;
  readonly #statements: Record<keyof typeof seriesSql, StatementSync>;
  readonly #toStoreError: (thrown: unknown) => Error;

  constructor({ db, clock }: { db: DatabaseSync; clock: Clock }) {
    this.#clock = clock;
    this.#toStoreError = storeErrorsOf(db);
    this.#statements = {
      append: db.prepare(seriesSql.append),
      trim: db.prepare(seriesSql.trim),
      entries: db.prepare(seriesSql.entries),
      removeExpired: db.prepare(seriesSql.removeExpired),
    };
  }

  async of(series: string): Promise<string[]> {
    try {
      const rows = this.#statements.entries.all(series, this.#clock.now());
      return rows.map((row) => Entry.parse(row).entry);
    } catch (thrown) {
      throw this.#toStoreError(thrown);
    }
  }

  /** Appends in the transaction that is open. */
  append({ series, entry, keep, ttlMs }: Append): void {
    this.#statements.append.run(series, entry, this.#clock.now() + Math.ceil(ttlMs));
    this.#statements.trim.run(series, series, keep);
  }

  /** Removes, in the transaction that is open, so many entries whose time is over. Returns whether more may be left. */
  sweep(limit: number): boolean {
    return Number(this.#statements.removeExpired.run(this.#clock.now(), limit).changes) === limit;
  }
}
