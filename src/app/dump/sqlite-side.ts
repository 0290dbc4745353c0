import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../shared/machine/ports.ts";
import {
  isHalfLoaded,
  markHalfLoaded,
  openSqliteDatabase,
  preparing,
  transaction,
} from "../../shared/store/sqlite/sqlite-database.ts";
import { StoreInUseError, StoreUnavailableError, toStoreError } from "../../shared/store/store-errors.ts";
import { Entry, type Side, StateError, TaskEntry } from "./transfer.ts";

const FIELDS = Object.keys(TaskEntry.shape).filter((name) => name !== "kind");
const COLUMNS = FIELDS.map((name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));

const ALL: Record<Entry["kind"], string> = {
  record: "SELECT key AS id, value AS text, expires_at AS expiresAt FROM kv ORDER BY key",
  series: `SELECT name AS id, json_group_array(entry ORDER BY seq) AS entries, max(expires_at) AS expiresAt
    FROM series GROUP BY name`,
  task: `SELECT ${FIELDS.map((name, n) => `${COLUMNS[n]} AS ${name}`).join()}
    FROM tasks WHERE state <> 'done' ORDER BY seq`,
  done: "SELECT id, ended_at AS endedAt FROM tasks WHERE state = 'done'",
};
const PUT: Record<Entry["kind"], string> = {
  record: "INSERT OR REPLACE INTO kv (key, value, expires_at) VALUES (:id, :text, :expiresAt)",
  series: `INSERT INTO series (name, entry, expires_at)
    SELECT :id, value, :expiresAt FROM json_each(:entries) ORDER BY key`,
  task: `INSERT OR REPLACE INTO tasks (${COLUMNS.join()})
    VALUES (${FIELDS.map((name) => `:${name}`).join()})`,
  done: `INSERT OR REPLACE INTO tasks (id, type, pool, known, state, due_at, added_at, ended_at)
    VALUES (:id, '', '', 'once', 'done', :endedAt, :endedAt, :endedAt)`,
};

/**
 * Opens a file as its only owner. `isNew` creates it if it is missing. Rejects if an app is using
 * it.
 */
export async function openSqliteSide(path: string, clock: Clock, isNew: boolean): Promise<Side> {
  if (!isNew) assertThere(path);
  const file = await openSqliteDatabase({ path }, { clock, ownerWaitMs: 0 }).catch(refuseInUse);
  const { db } = file;
  const prepare = preparing(db);
  const name = `sqlite://${file.path ?? ""}`;

  const attempt = attempting(name);

  return {
    name,
    // This process holds the operating system's lock.
    assertUnused: async () => {},
    isHalfLoaded: async () => attempt(() => isHalfLoaded(db)),
    markHalfLoaded: async (isHalf) => attempt(() => markHalfLoaded(db, isHalf)),
    entries: () => entriesOf(db, attempt),
    put: async (entries) =>
      attempt(() =>
        transaction(db, () => {
          file.assertOwned();
          for (const entry of entries) {
            // SQLite takes the entries of a series as JSON.
            const row =
              entry.kind === "series" ? { ...entry, entries: JSON.stringify(entry.entries) } : entry;
            const { kind, ...values } = row;
            prepare(PUT[kind]).run(values);
          }
        }),
      ),
    clear: async () =>
      attempt(() => db.exec("BEGIN; DELETE FROM kv; DELETE FROM tasks; DELETE FROM series; COMMIT")),
    [Symbol.asyncDispose]: async () => file.close(),
  };
}

/** Throws a {@link StoreUnavailableError} if there is no such file. */
export function assertThere(path: string): void {
  if (existsSync(path)) return;
  throw new StoreUnavailableError(resolve(path), "there is nothing in it", "Check the path.");
}

/** Throws the error of an attempt to open a file. If an app is using it, says what to do. */
export function refuseInUse(thrown: unknown): never {
  if (!(thrown instanceof StoreInUseError)) throw thrown;
  throw new StateError(`${thrown.message.split(". ")[0]}. Stop the app, and run this again.`, {
    cause: thrown,
  });
}

/**
 * Opens a file to read it, also while an app is using it. Throws if there is none.
 */
export function readSqliteSide(path: string): Pick<Side, "name" | "entries"> & AsyncDisposable {
  assertThere(path);
  const name = `sqlite://${resolve(path)}`;
  const attempt = attempting(name);
  const db = attempt(() => new DatabaseSync(path, { readOnly: true }));
  return { name, entries: () => entriesOf(db, attempt), [Symbol.asyncDispose]: async () => db.close() };
}

type Attempt = <T>(work: () => T) => T;

/** Runs work on a file, and says what is wrong with it in words for the operator. */
function attempting(name: string): Attempt {
  return (work) => {
    try {
      return work();
    } catch (thrown) {
      throw toStoreError(name, thrown);
    }
  };
}

async function* entriesOf(db: DatabaseSync, attempt: Attempt): AsyncGenerator<Entry> {
  for (const kind of Entry.options.map(({ shape }) => shape.kind.value)) {
    const rows = attempt(() => db.prepare(ALL[kind]).iterate());
    for (let row = attempt(() => rows.next()); !row.done; row = attempt(() => rows.next())) {
      const { entries } = row.value;
      const parsed = typeof entries === "string" && { entries: JSON.parse(entries) };
      yield Entry.parse({ kind, ...row.value, ...parsed });
    }
  }
}
