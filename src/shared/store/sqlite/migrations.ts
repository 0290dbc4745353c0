/**
 * The tables of the task queue (see `queue/sqlite/task-table.ts`) and the probe. The job service
 * has them, too. Released SQL stays as it is: its `NewTask.known` is now `NewTask.onDuplicate`.
 */
export const QUEUE_TABLES = `
  CREATE TABLE tasks (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    -- Tasks of one pool share a budget of handlers.
    pool TEXT NOT NULL,
    -- What adding the id again does: see NewTask.known.
    known TEXT NOT NULL CHECK (known IN ('once', 'pending', 'latest')),
    -- JSON; cleared when the task is done.
    payload TEXT,
    -- What runs is waiting, too: that it runs is in the memory of the one process that owns the file.
    state TEXT NOT NULL CHECK (state IN ('waiting', 'done', 'dead')),
    due_at INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 1,
    surprises INTEGER NOT NULL DEFAULT 0,
    deaths INTEGER NOT NULL DEFAULT 0,
    -- An add that came while the task ran.
    next_payload TEXT,
    next_due_at INTEGER,
    added_at INTEGER NOT NULL,
    ended_at INTEGER,
    reason TEXT
  ) STRICT;
  CREATE INDEX tasks_waiting ON tasks (pool, due_at, seq) WHERE state = 'waiting';
  CREATE INDEX tasks_ended ON tasks (state, ended_at) WHERE state <> 'waiting';

  -- One row: the machine's time when something was last written, to notice a clock that was set
  -- back in between.
  CREATE TABLE seen (id INTEGER PRIMARY KEY CHECK (id = 1), at INTEGER NOT NULL) STRICT;
  -- One row, written to find out whether the file can be written.
  CREATE TABLE probe (id INTEGER PRIMARY KEY CHECK (id = 1), written_at INTEGER NOT NULL) STRICT;
`;

/** The Slack app's other tables. Series are described in `core/ports/task-queue.ts`. */
const RECORD_TABLES = `
  CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER) STRICT;
  CREATE INDEX kv_expiring ON kv (expires_at) WHERE expires_at IS NOT NULL;

  -- When the next slot of a gate begins, and before which time none is good.
  CREATE TABLE slots (gate TEXT PRIMARY KEY, next_at INTEGER NOT NULL, blocked_until INTEGER NOT NULL) STRICT;

  -- What many turns add to: see core/task-queue.ts.
  CREATE TABLE series (
    -- In the order in which they were added.
    seq INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    entry TEXT NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX series_by_name ON series (name);
`;

/**
 * `keep` is how many entries its append said to keep. It is NULL once the entry is listed by name.
 */
const LISTED_LATER = `
  ALTER TABLE series ADD COLUMN keep INTEGER;
  DROP INDEX series_by_name;
  CREATE INDEX series_by_name ON series (name) WHERE keep IS NULL;
`;

/**
 * The steps that bring the Slack app's file to the newest schema, oldest first. `PRAGMA
 * user_version` counts a file's steps. Only ever append: a released step never moves and never
 * changes.
 */
export const APP_MIGRATIONS: readonly string[] = [`${QUEUE_TABLES} ${RECORD_TABLES}`, LISTED_LATER];
