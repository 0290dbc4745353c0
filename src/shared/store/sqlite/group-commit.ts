import { close, fdatasync, openSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { codeOf } from "../../errors.ts";
import { StoreUnavailableError, storeErrorsOf } from "../store-errors.ts";

type Work = {
  /** Does the work in the open transaction. */
  run: () => void;
  reject: (thrown: unknown) => void;
};

type GroupCommitOptions = {
  db: DatabaseSync;
  /** See `SqliteDatabase`. */
  assertOwned: () => void;
  /** Syncs commits to the disk. Absent if a commit does that itself, or there is no disk. */
  sync?: (() => Promise<void>) | undefined;
  /** Called when `sync` failed. Only a new start can tell if the commits were kept. */
  onBroken?: ((error: Error) => void) | undefined;
};

/**
 * Commits together everything written in one turn of the event loop, or while the disk is busy with
 * an earlier commit. Only writers wait for the disk; the event loop goes on.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  /** Turns anything thrown by the database into an error that says what to do. */
  readonly #toStoreError: (thrown: unknown) => Error;
  readonly #riders: Array<() => void> = [];
  /** Callbacks for when the open transaction is on the disk, or rolled back. */
  #tells: Array<() => void> = [];
  #undos: Array<() => void> = [];
  #group: Work[] = [];
  #isScheduled = false;
  /** Commits on their way to the disk. */
  readonly #syncing = new Set<Promise<void>>();
  /** The error of a disk that failed to keep a commit. From then on nothing is certain. */
  #broken: Error | null = null;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
    this.#toStoreError = storeErrorsOf(options.db);
  }

  /**
   * Does `work` in the next transaction and resolves to its result once that is on the disk. If
   * `work` throws, only its own changes are undone, and the promise rejects. `work` may run more
   * than once, so it must only read and write the database.
   */
  run<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#group.push({
        run: () => {
          const value = work();
          this.#tells.push(() => resolve(value));
        },
        reject,
      });
      this.#schedule();
    });
  }

  /** Adds `write` to every commit that happens anyway, for data that may be lost in a crash. */
  ride(write: () => void): void {
    this.#riders.push(write);
  }

  /**
   * Inside a work or a rider: calls `tell` once its changes are on the disk, unless they are
   * undone. Use it for everything outside the database, because a work may run more than once.
   */
  afterCommit(tell: () => void): void {
    this.#tells.push(tell);
  }

  /** Inside a work or a rider: calls `undo` when its changes are undone. */
  afterUndo(undo: () => void): void {
    this.#undos.push(undo);
  }

  /** Throws a store error unless this process still owns the file. */
  assertOwned(): void {
    try {
      this.#options.assertOwned();
    } catch (thrown) {
      throw this.#toStoreError(thrown);
    }
  }

  get isIdle(): boolean {
    return this.#group.length === 0 && this.#syncing.size === 0;
  }

  /** Resolves when everything requested so far is on the disk, or has failed. */
  async settled(): Promise<void> {
    while (!this.isIdle) {
      this.flush();
      await Promise.all(this.#syncing);
    }
  }

  /**
   * Commits now what waits for the next commit. It is on the disk once {@link settled} resolves.
   */
  flush(): void {
    const group = this.#group;
    this.#group = [];
    if (this.#broken !== null) {
      for (const { reject } of group) reject(this.#broken);
      return;
    }
    const written = this.#commit(group);
    const tells = this.#tells;
    this.#tells = [];
    if (written.length === 0) return;
    const { sync } = this.#options;
    if (sync === undefined) {
      for (const tell of tells) tell();
      return;
    }
    const synced = sync()
      .then(
        () => {
          for (const tell of tells) tell();
        },
        (thrown: unknown) => {
          this.#broken = this.#toStoreError(thrown);
          for (const { reject } of written) reject(this.#broken);
          this.#options.onBroken?.(this.#broken);
        },
      )
      .finally(() => {
        this.#syncing.delete(synced);
        this.#schedule();
      });
    this.#syncing.add(synced);
  }

  #schedule(): void {
    if (this.#isScheduled || !this.#hasRoom || this.#group.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#hasRoom) this.flush();
    });
  }

  /** Work that arrives while the disk is busy waits and shares the next commit. */
  get #hasRoom(): boolean {
    return this.#syncing.size === 0;
  }

  /** Returns the committed works. The others are rejected. */
  #commit(group: Work[]): Work[] {
    if (group.length === 0) return [];
    const { db, assertOwned } = this.#options;
    this.#tells = [];
    this.#undos = [];
    let ran = 0;
    let isOpen = false;
    try {
      db.exec("BEGIN IMMEDIATE");
      assertOwned();
      isOpen = true;
      for (const { run } of group) {
        run();
        ran += 1;
      }
      for (const write of this.#riders) write();
      db.exec("COMMIT");
      return group;
    } catch (thrown) {
      // Some failures (disk full, I/O) have already rolled back. A second rollback would hide what
      // happened.
      if (db.isOpen && db.isTransaction) db.exec("ROLLBACK");
      for (const undo of this.#undos) undo();
      const failed = group[ran];
      if (!isOpen || failed === undefined || isSqliteError(thrown)) {
        for (const { reject } of group) reject(this.#toStoreError(thrown));
        return [];
      }
      failed.reject(thrown);
      return this.#commit(group.filter((work) => work !== failed));
    }
  }
}

/**
 * True for SQLite's own errors, which concern the whole transaction. Other errors concern only the
 * work that threw them.
 */
function isSqliteError(thrown: unknown): boolean {
  return codeOf(thrown) === "ERR_SQLITE_ERROR";
}

const flush = promisify(fdatasync);
const REMEDY =
  "Check the disk, its quota and its free space. " +
  "The process ends, and its next start takes over what is there.";

/**
 * Syncs a database's write-ahead log to the disk without blocking this thread, whereas
 * `synchronous=FULL` makes SQLite sync on this thread at the end of each commit. Sets
 * `synchronous=NORMAL`: SQLite then syncs the log only for its own needs, before a checkpoint
 * (https://sqlite.org/pragma.html#pragma_synchronous). A commit is durable once `sync` has
 * resolved.
 */
export function syncWal(db: DatabaseSync, path: string): { sync: () => Promise<void>; close: () => void } {
  db.exec("PRAGMA synchronous = NORMAL");
  // The log exists from the first write on, and stays the same file while the database is open.
  // SQLite holds no locks on it that closing it here could release.
  const log = openSync(`${path}-wal`, "r");
  return {
    sync: () =>
      flush(log).catch((thrown: unknown) => {
        const problem = `the disk failed to keep what was written (${codeOf(thrown)})`;
        throw new StoreUnavailableError(path, problem, REMEDY);
      }),
    close: () => close(log),
  };
}
