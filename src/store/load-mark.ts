import type { DatabaseSync } from "node:sqlite";
import { DocsAgentError } from "../errors.ts";

/** The store holds a part of a dump: its load has not finished. */
export class StoreHalfLoadedError extends DocsAgentError {
  readonly code = "store_half_loaded";

  constructor(path: string) {
    super(
      `The store ${path} holds a part of a dump, as its load broke off. Load the dump again: npm run state -- load < state.jsonl`,
    );
  }
}

/** Whether a load of the file has begun and not finished. */
export function isHalfLoaded(db: DatabaseSync): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'half_loaded'").get() !== undefined;
}

/** Notes whether a load of the file has begun and not finished. */
export function markHalfLoaded(db: DatabaseSync, isHalf: boolean): void {
  db.exec(
    isHalf ? "CREATE TABLE IF NOT EXISTS half_loaded (x INTEGER) STRICT" : "DROP TABLE IF EXISTS half_loaded",
  );
}

/** The key at Redis that is there while a load has begun and not finished. */
export function halfLoadedKey(prefix: string): string {
  return `${prefix}:half-loaded`;
}
