import { close, fdatasync, openSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { codeOf } from "../../core/errors.ts";
import { StoreUnavailableError } from "../store-errors.ts";

type Work = {
  /** Does the work in the transaction that is open. */
  run: () => void;
  reject: (thrown: unknown) => void;
};

type GroupCommitOptions = {
  db: DatabaseSync;
  /** An error that says what to do, for what was thrown while the database was used. */
  toStoreError: (thrown: unknown) => Error;
  /** See `SqliteDatabase`. */
  assertOwned: () => void;
  /**
   * Brings what was committed to the disk. Absent: a commit does that itself, or there is no disk.
   */
  sync?: () => Promise<void>;
  /**
   * Called when `sync` failed: whether what was committed is kept is open, and only a new start can
   * tell.
   */
  onBroken?: (error: Error) => void;
};

/**
 * Commits what is written in one turn of the event loop together, and what is written while the
 * disk is busy with that. Nothing waits for the disk but those who wrote: the event loop goes on
 * meanwhile.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #riders: Array<() => void> = [];
  /** Callbacks for when the open transaction is on the disk, or rolled back. */
  #tells: Array<() => void> = [];
  #undos: Array<() => void> = [];
  #group: Work[] = [];
  #isScheduled = false;
  /** Commits that are on their way to the disk. */
  readonly #syncing = new Set<Promise<void>>();
  /**
   * What the disk said when it failed to keep what was committed. From then on nothing is certain.
   */
  #broken: Error | null = null;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  /**
   * Does `work` in the next transaction and resolves, once that is on the disk, to what it
   * returned. When `work` throws, it alone is undone, and rejects. `work` may run more than once:
   * it does nothing but read and write the database.
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

  /**
   * `write` goes along with every commit that happens anyway: for data that may be lost in a crash.
   */
  ride(write: () => void): void {
    this.#riders.push(write);
  }

  /**
   * Inside of a work or a rider: `tell` is called once what it did is on the disk, and not when it
   * is undone. For whatever is not in the database, as a work may run more than once.
   */
  afterCommit(tell: () => void): void {
    this.#tells.push(tell);
  }

  /** Inside of a work or a rider: `undo` is called when what it did is undone. */
  afterUndo(undo: () => void): void {
    this.#undos.push(undo);
  }

  /** Throws a store error unless this process still owns the file. */
  assertOwned(): void {
    try {
      this.#options.assertOwned();
    } catch (thrown) {
      throw this.#options.toStoreError(thrown);
    }
  }

  get isIdle(): boolean {
    return this.#group.length === 0 && this.#syncing.size === 0;
  }

  /** Resolves when all that was asked for so far is on the disk, or has failed. */
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
          this.#broken = this.#options.toStoreError(thrown);
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

  /** What comes while the disk is busy waits, and shares the next commit. */
  get #hasRoom(): boolean {
    return this.#syncing.size === 0;
  }

  /** Returns those whose work was committed; the others are rejected. */
  #commit(group: Work[]): Work[] {
    if (group.length === 0) return [];
    const { db, assertOwned, toStoreError } = this.#options;
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
      // Some failures (disk full, I/O) have rolled back already; a second rollback would hide what
      // happened.
      if (db.isOpen && db.isTransaction) db.exec("ROLLBACK");
      for (const undo of this.#undos) undo();
      const failed = group[ran];
      if (!isOpen || failed === undefined || isSqliteError(thrown)) {
        for (const { reject } of group) reject(toStoreError(thrown));
        return [];
      }
      failed.reject(thrown);
      return this.#commit(group.filter((work) => work !== failed));
    }
  }
}

/**
 * What SQLite throws concerns the whole transaction; what a work throws by itself concerns that
 * work.
 */
function isSqliteError(thrown: unknown): boolean {
  return codeOf(thrown) === "ERR_SQLITE_ERROR";
}

const REMEDY =
  "Check the disk, its quota and its free space. " +
  "The process ends, and its next start takes over what is there.";

/**
 * Brings the write-ahead log of a database to the disk without blocking this thread, where
 * `synchronous=FULL` has SQLite do the same at the end of each commit, on this thread. Takes the
 * database to `synchronous=NORMAL`: SQLite then syncs the log only when it has to for its own sake,
 * before a checkpoint (https://sqlite.org/pragma.html#pragma_synchronous), and a commit is kept
 * once `sync` has resolved.
 */
export function syncWal(db: DatabaseSync, path: string): { sync: () => Promise<void>; close: () => void } {
  db.exec("PRAGMA synchronous = NORMAL");
  // The log exists since the first write, and stays the same file as long as the database is open.
  // SQLite holds no locks on it, which closing it here could end.
  const log = openSync(`${path}-wal`, "r");
  return {
    sync: () =>
      new Promise((resolve, reject) => {
        fdatasync(log, (error) => {
          if (error === null) resolve();
          else
            reject(
              new StoreUnavailableError(
                path,
                `the disk failed to keep what was written (${error.code})`,
                REMEDY,
              ),
            );
        });
      }),
    close: () => close(log),
  };
}
