import { existsSync } from "node:fs";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { appMigrations } from "../store/migrations.ts";
import { isHalfLoaded, markHalfLoaded } from "../store/load-mark.ts";
import {
  type SqliteDatabase,
  openSqliteDatabase,
  openSqliteForReading,
  schemaVersionOf,
  transaction,
} from "../store/sqlite-database.ts";
import { StoreInUseError, toStoreError } from "../store/store-errors.ts";
import { StateError } from "./state-error.ts";
import {
  type Entry,
  PAGE_SIZE,
  RECORD_KINDS,
  type RecordEntry,
  type Source,
  type Target,
  movableText,
} from "./side.ts";

const TASK = `id, type, pool, known, payload, state, due_at AS dueAt, attempt, surprises, deaths,
  next_payload AS nextPayload, next_due_at AS nextDueAt, added_at AS addedAt, ended_at AS endedAt, reason`;
const sql = {
  records:
    "SELECT key AS id, value, expires_at AS expiresAt FROM kv WHERE key > ? AND key < ? ORDER BY key LIMIT ?",
  tasks: `SELECT ${TASK} FROM tasks WHERE id > ? ORDER BY id LIMIT ?`,
  series:
    "SELECT name, max(expires_at) AS expiresAt FROM series WHERE name > ? GROUP BY name ORDER BY name LIMIT ?",
  entries: "SELECT entry FROM series WHERE name = ? ORDER BY seq",
  count: `SELECT (SELECT count(*) FROM kv) + (SELECT count(*) FROM tasks) + (SELECT count(DISTINCT name) FROM series)
    AS count`,
  putRecord: "INSERT OR REPLACE INTO kv (key, value, expires_at) VALUES (?, ?, ?)",
  putTask: `INSERT OR REPLACE INTO tasks (id, type, pool, known, payload, state, due_at, attempt, surprises, deaths,
      next_payload, next_due_at, added_at, ended_at, reason)
    VALUES (:id, :type, :pool, :known, :payload, :state, :dueAt, :attempt, :surprises, :deaths,
      :nextPayload, :nextDueAt, :addedAt, :endedAt, :reason)`,
  putEntry: "INSERT INTO series (name, entry, expires_at) VALUES (?, ?, ?)",
} as const;

const RecordRow = z.object({ id: z.string(), value: z.string(), expiresAt: z.int().nullable() });
const TaskRow = z.object({
  id: z.string(),
  type: z.string(),
  pool: z.string(),
  known: z.string(),
  payload: z.string().nullable(),
  state: z.enum(["waiting", "done", "dead"]),
  dueAt: z.int(),
  attempt: z.int(),
  surprises: z.int(),
  deaths: z.int(),
  nextPayload: z.string().nullable(),
  nextDueAt: z.int().nullable(),
  addedAt: z.int(),
  endedAt: z.int().nullable(),
  reason: z.string().nullable(),
});
/** What is left of a task that is done. */
const DONE = {
  type: "",
  pool: "",
  known: "once",
  state: "done",
  payload: null,
  attempt: 1,
  surprises: 0,
  deaths: 0,
  nextPayload: null,
  nextDueAt: null,
  reason: null,
};
const SeriesRow = z.object({ name: z.string(), expiresAt: z.int() });
const EntryRow = z.object({ entry: z.string() });
const Count = z.object({ count: z.int() });

const VERSION = appMigrations.length;

/** Opens a file to read from it. It stays as it is, and no app starts on it meanwhile. */
export function openSqliteSource(path: string, clock: Clock): Promise<Source> {
  return open(() => openSqliteForReading(path, { clock, ownerWaitMs: 0, version: VERSION }));
}

/** Opens a file to write to it, or creates it. */
export function openSqliteTarget(path: string, clock: Clock): Promise<Target> {
  return open(async () => {
    const version = existsSync(path) ? schemaVersionOf(path) : null;
    // Before anything is changed in it.
    if (version !== null && version !== VERSION) {
      throw new StateError(`${path} holds state of another version. Choose another file.`);
    }
    return openSqliteDatabase({ path }, { clock, ownerWaitMs: 0 });
  });
}

async function open(openFile: () => Promise<SqliteDatabase>): Promise<SqliteSide> {
  try {
    return new SqliteSide(await openFile());
  } catch (thrown) {
    if (!(thrown instanceof StoreInUseError)) throw thrown;
    throw new StateError(`${thrown.message.split(". ")[0]}. Stop the app, and run this again.`, {
      cause: thrown,
    });
  }
}

class SqliteSide implements Source, Target {
  readonly name: string;
  readonly #file: SqliteDatabase;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<keyof typeof sql, StatementSync>();

  constructor(file: SqliteDatabase) {
    this.#file = file;
    this.#db = file.db;
    this.name = `sqlite://${file.path ?? ""}`;
  }

  /** This process has the lock of the operating system. */
  async assertUnused(): Promise<void> {}

  async isHalfLoaded(): Promise<boolean> {
    return this.#attempt(() => isHalfLoaded(this.#db));
  }

  async markHalfLoaded(isHalf: boolean): Promise<void> {
    this.#attempt(() => markHalfLoaded(this.#db, isHalf));
  }

  async count(): Promise<number> {
    return this.#attempt(() => Count.parse(this.#statement("count").get()).count);
  }

  async *pages(): AsyncGenerator<Entry[]> {
    for (const kind of RECORD_KINDS) {
      let last = `${kind}:`;
      for (;;) {
        // ";" follows ":".
        const rows = this.#rows(RecordRow, "records", last, `${kind};`, PAGE_SIZE);
        last = rows.at(-1)?.id ?? last;
        if (rows.length > 0) yield rows.map(recordOf);
        if (rows.length < PAGE_SIZE) break;
      }
    }
    let lastSeries = "";
    for (;;) {
      const rows = this.#rows(SeriesRow, "series", lastSeries, PAGE_SIZE);
      lastSeries = rows.at(-1)?.name ?? lastSeries;
      if (rows.length > 0) yield rows.map((row) => this.#seriesOf(row));
      if (rows.length < PAGE_SIZE) break;
    }
    let last = "";
    for (;;) {
      const rows = this.#rows(TaskRow, "tasks", last, PAGE_SIZE);
      last = rows.at(-1)?.id ?? last;
      if (rows.length > 0) yield rows.map(taskOf);
      if (rows.length < PAGE_SIZE) return;
    }
  }

  async put(entries: readonly Entry[]): Promise<void> {
    this.#attempt(() =>
      transaction(this.#db, () => {
        this.#file.assertOwned();
        for (const entry of entries) this.#put(entry);
      }),
    );
  }

  async clear(): Promise<void> {
    this.#attempt(() =>
      this.#db.exec("BEGIN; DELETE FROM kv; DELETE FROM tasks; DELETE FROM series; COMMIT"),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#file.close();
  }

  #put(entry: Entry): void {
    switch (entry.kind) {
      case "record":
        this.#statement("putRecord").run(entry.id, entry.text, entry.expiresAt);
        return;
      case "series":
        for (const text of entry.entries) this.#statement("putEntry").run(entry.id, text, entry.expiresAt);
        return;
      case "done": {
        const { id, endedAt } = entry;
        this.#statement("putTask").run({ ...DONE, id, endedAt, dueAt: endedAt, addedAt: endedAt });
        return;
      }
      case "task": {
        const { kind: _, state, ...task } = entry;
        this.#statement("putTask").run({ ...task, state: state === "live" ? "waiting" : "dead" });
        return;
      }
    }
  }

  #seriesOf({ name, expiresAt }: z.infer<typeof SeriesRow>): Entry {
    const entries = this.#rows(EntryRow, "entries", name).map(({ entry }) => entry);
    return { kind: "series", id: name, entries, expiresAt };
  }

  #rows<T>(row: z.ZodType<T>, name: keyof typeof sql, ...args: SQLInputValue[]): T[] {
    return this.#attempt(() => z.array(row).parse(this.#statement(name).all(...args)));
  }

  #statement(name: keyof typeof sql): StatementSync {
    let statement = this.#statements.get(name);
    if (statement === undefined) {
      statement = this.#db.prepare(sql[name]);
      this.#statements.set(name, statement);
    }
    return statement;
  }

  #attempt<T>(work: () => T): T {
    try {
      return work();
    } catch (thrown) {
      throw toStoreError(this.name, thrown);
    }
  }
}

function recordOf({ id, value, expiresAt }: z.infer<typeof RecordRow>): RecordEntry {
  return { kind: "record", id, text: movableText(value), expiresAt };
}

function taskOf({ state, endedAt, ...row }: z.infer<typeof TaskRow>): Entry {
  if (state === "done") return { kind: "done", id: row.id, endedAt: endedAt ?? row.addedAt };
  return {
    ...row,
    kind: "task",
    state: state === "waiting" ? "live" : "dead",
    // A handler gets null for both.
    payload: row.payload ?? "null",
    endedAt: state === "dead" ? (endedAt ?? row.dueAt) : null,
    reason: row.reason === "" ? null : row.reason,
  };
}
