import type { DatabaseSync } from "node:sqlite";

/** One step of a file's schema: SQL, or a function that runs in the transaction of the migration. */
export type Migration = string | ((db: DatabaseSync) => void);

/** The task queue, the records and the probe, as the first version had them. */
export const firstTables = `
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
  `;

/**
 * Tasks without lanes. What was running, or waited in a lane, waits; whose turn it is is decided by what is due. Ids that a done task
 * left known stay known.
 */
export const tasksWithoutLanes = `
  CREATE TABLE tasks_2 (
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
  INSERT INTO tasks_2 (seq, id, type, pool, known, payload, state, due_at, added_at, ended_at, reason)
    SELECT seq, id, type, '', 'once', payload,
      CASE state WHEN 'done' THEN 'done' WHEN 'dead' THEN 'dead' ELSE 'waiting' END,
      CASE state WHEN 'waiting' THEN coalesce(claimable_at, due_at) ELSE due_at END,
      added_at, ended_at, reason FROM tasks;
  DROP TABLE tasks;
  DROP TABLE lanes;
  ALTER TABLE tasks_2 RENAME TO tasks;
  CREATE INDEX tasks_waiting ON tasks (pool, due_at, seq) WHERE state = 'waiting';
  CREATE INDEX tasks_ended ON tasks (state, ended_at) WHERE state <> 'waiting';

  -- When the next slot of a gate begins, and before which time none is good.
  CREATE TABLE slots (gate TEXT PRIMARY KEY, next_at INTEGER NOT NULL, blocked_until INTEGER NOT NULL) STRICT;
  -- One row: the machine's time when something was last written, to notice a clock that was set back in between.
  CREATE TABLE seen (id INTEGER PRIMARY KEY CHECK (id = 1), at INTEGER NOT NULL) STRICT;
`;

/** The tables alone, as a file without records needs them. The app's own list is in `app-migrations.ts`, the service's in `service/`. */
export const tables: readonly [string, ...Migration[]] = [firstTables, tasksWithoutLanes];
