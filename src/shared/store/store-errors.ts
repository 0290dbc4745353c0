import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { DocsAgentError, STORE_ANSWER_LOST, STORE_UNCONFIRMED, messageOf } from "../errors.ts";
import { commandOf } from "../machine/this-copy.ts";

/** Another process owns the store's file. */
export class StoreInUseError extends DocsAgentError {
  readonly code = "store_in_use";

  constructor(path: string) {
    super(
      `The store ${path} is in use by another process. ` +
        `Stop that process, or give each process its own STORE_URL.`,
    );
  }
}

/** The store can't be read or written. */
export class StoreUnavailableError extends DocsAgentError {
  readonly code: string = "store_unavailable";

  constructor(path: string, problem: string, remedy: string, options?: ErrorOptions) {
    super(`The store ${path} is unavailable: ${problem.replace(/[.?!]+$/, "")}. ${remedy}`, options);
  }
}

/** The store didn't answer, so the write may have happened. */
export class StoreAnswerLostError extends StoreUnavailableError {
  override readonly code: string = STORE_ANSWER_LOST;
}

/** The primary has the write, and too few standbys confirmed it in time. */
export class StoreUnconfirmedError extends StoreAnswerLostError {
  override readonly code = STORE_UNCONFIRMED;
}

/** A dump is being loaded into the store, or its load broke off. */
export class StoreHalfLoadedError extends DocsAgentError {
  readonly code = "store_half_loaded";

  constructor(path: string) {
    super(
      `The load of a dump into the store ${path} hasn't finished. ` +
        `If it broke off or was refused, load the dump again: ${commandOf("state", "load")} < state.jsonl`,
    );
  }
}

/** SQLite's primary result codes (https://sqlite.org/rescode.html) that an operator can act on. */
const FAULTS: Readonly<Record<number, readonly [problem: string, remedy: string]>> = {
  5: ["another program holds a lock on it", "End that program's transaction."],
  8: ["it is read-only", "Make the file and its folder writable for this user."],
  10: ["the disk failed to read or write", "Check the disk, its quota and its free space."],
  11: ["the file is damaged", "Restore a backup, or move the file away to start empty."],
  13: ["the disk is full", "Free some space."],
  14: [
    "the file cannot be opened",
    "Check that the path is a file and that its folder is writable for this user.",
  ],
  26: [
    "the file isn't a SQLite database",
    "Restore a backup, or choose another path in STORE_URL (job service: dataDir).",
  ],
};

const SqliteFailure = z.object({ errcode: z.int() });

/** SQLite's primary result code of a thrown value. Undefined if SQLite didn't throw it. */
export function sqliteCodeOf(thrown: unknown): number | undefined {
  const { data } = SqliteFailure.safeParse(thrown);
  return data && data.errcode & 0xff;
}

/** Turns anything thrown by the store at `path` into an error that says what to do. */
export function toStoreError(path: string, thrown: unknown): DocsAgentError {
  if (thrown instanceof DocsAgentError) return thrown;
  const [problem, remedy] = FAULTS[sqliteCodeOf(thrown) ?? -1] ?? [
    messageOf(thrown),
    "Check the path in STORE_URL (job service: dataDir) and the rights on it.",
  ];
  return new StoreUnavailableError(path, problem, remedy, { cause: thrown });
}

/**
 * Turns anything thrown by a database into an error that says what to do, even after it was closed.
 */
export function storeErrorsOf(db: DatabaseSync): (thrown: unknown) => DocsAgentError {
  const path = db.location() ?? "memory://";
  return (thrown) => {
    if (db.isOpen) return toStoreError(path, thrown);
    return new StoreUnavailableError(path, "it was closed", "Restart the process.", { cause: thrown });
  };
}
