/**
 * The tables of the one SQLite file, oldest step first. `PRAGMA user_version` counts the steps that a file has had: only
 * ever append, a released step never changes.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE tasks (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    lane TEXT,
    -- JSON; cleared when the task is done.
    payload TEXT,
    -- Of a lane's unfinished tasks only the first is waiting or running; those behind it are queued.
    state TEXT NOT NULL CHECK (state IN ('waiting', 'queued', 'running', 'done', 'dead')),
    due_at INTEGER NOT NULL,
    -- When waiting: the time it is due. When running: the end of the lease. Otherwise NULL.
    claimable_at INTEGER,
    -- Names the claim that may finish the task.
    token TEXT,
    attempt INTEGER NOT NULL DEFAULT 0,
    added_at INTEGER NOT NULL,
    ended_at INTEGER,
    reason TEXT
  ) STRICT;
  CREATE INDEX tasks_claimable ON tasks (claimable_at, seq) WHERE claimable_at IS NOT NULL;
  CREATE INDEX tasks_unfinished_by_lane ON tasks (lane, seq) WHERE lane IS NOT NULL AND ended_at IS NULL;
  CREATE INDEX tasks_not_done_by_state ON tasks (state) WHERE state <> 'done';
  CREATE INDEX tasks_done_by_end ON tasks (ended_at) WHERE state = 'done';

  -- The lanes whose next task may not start before free_at.
  CREATE TABLE lanes (lane TEXT PRIMARY KEY, free_at INTEGER NOT NULL) STRICT;
  CREATE INDEX lanes_by_free_at ON lanes (free_at);

  CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER) STRICT;
  CREATE INDEX kv_expiring ON kv (expires_at) WHERE expires_at IS NOT NULL;

  -- One row, written to find out whether the file can be written.
  CREATE TABLE probe (id INTEGER PRIMARY KEY CHECK (id = 1), written_at INTEGER NOT NULL) STRICT;
  `,
];
