import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { DocsAgentError, STORE_ANSWER_LOST, messageOf } from "../core/errors.ts";

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
  override readonly code = STORE_ANSWER_LOST;
}

/** The store holds part of a dump, because its load hasn't finished. */
export class StoreHalfLoadedError extends DocsAgentError {
  readonly code = "store_half_loaded";

  constructor(path: string) {
    super(
      `The store ${path} holds a part of a dump, as its load broke off. ` +
        "Load the dump again: npm run state -- load < state.jsonl",
    );
  }
}

/** SQLite's primary result codes (https://sqlite.org/rescode.html) that an operator can act on. */
const faults = new Map<number, { problem: string; remedy: string }>([
  [5, { problem: "another program holds a lock on it", remedy: "End that program's transaction." }],
  [8, { problem: "it is read-only", remedy: "Make the file and its folder writable for this user." }],
  [
    10,
    { problem: "the disk failed to read or write", remedy: "Check the disk, its quota and its free space." },
  ],
  [11, { problem: "the file is damaged", remedy: "Restore a backup, or move the file away to start empty." }],
  [13, { problem: "the disk is full", remedy: "Free some space." }],
  [
    14,
    {
      problem: "the file cannot be opened",
      remedy: "Check that the path is a file and that its folder is writable for this user.",
    },
  ],
  [
    26,
    {
      problem: "the file is no SQLite database",
      remedy: "Restore a backup, or choose another path in STORE_URL (job service: dataDir).",
    },
  ],
]);

const SqliteFailure = z.object({ errcode: z.int() });

/** SQLite's primary result code of a thrown value. Undefined if SQLite didn't throw it. */
export function sqliteCodeOf(thrown: unknown): number | undefined {
  const failure = SqliteFailure.safeParse(thrown);
  return failure.success ? failure.data.errcode & 0xff : undefined;
}

/** Turns anything thrown by the store at `path` into an error that says what to do. */
export function toStoreError(path: string, thrown: unknown): DocsAgentError {
  if (thrown instanceof DocsAgentError) return thrown;
  const { problem, remedy } = faults.get(sqliteCodeOf(thrown) ?? -1) ?? {
    problem: messageOf(thrown),
    remedy: "Check the path in STORE_URL (job service: dataDir) and the rights on it.",
  };
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
