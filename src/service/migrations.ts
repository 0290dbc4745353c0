import { queueTables } from "../store/migrations.ts";
import type { Migration } from "../store/migrations.ts";

/**
 * The tables of the job service's SQLite file, oldest step first. Only ever append, a released step never changes. The
 * task queue and the probe are the Slack app's.
 *
 * Jobs are rows here and no Keyv records: accepting a request touches the job, its turn, the limits and the idempotency
 * key at once, and Keyv has neither transactions nor compare-and-set. `PRAGMA user_version` is their version.
 */
export const serviceMigrations: readonly Migration[] = [
  queueTables,
  `
  CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL,
    -- As it was when the job was created, whatever the settings say later.
    repository TEXT NOT NULL,
    ref TEXT NOT NULL,
    model TEXT NOT NULL,
    pr_link TEXT,
    created_at INTEGER NOT NULL,
    -- When the last turn was accepted or ended.
    active_at INTEGER NOT NULL,
    archived_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX jobs_by_creation ON jobs (created_at);
  CREATE INDEX jobs_not_archived ON jobs (project_id, active_at) WHERE archived_at IS NULL;

  CREATE TABLE turns (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    -- 1 is the create, the others are messages.
    number INTEGER NOT NULL,
    project_id TEXT NOT NULL,
    prompt TEXT NOT NULL,
    accepted_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'ended')),
    -- How often the runner was started and neither ended the turn nor was stopped on purpose.
    attempts INTEGER NOT NULL DEFAULT 0,
    started_at INTEGER,
    ended_at INTEGER,
    outcome TEXT CHECK (outcome IN ('pull-request', 'no-changes', 'failed', 'archived')),
    summary TEXT,
    -- For the operator: why the turn failed, or why its last attempt did.
    reason TEXT,
    -- JSON: paths.
    left_out TEXT NOT NULL DEFAULT '[]',
    -- JSON: the last lines the runner reported.
    progress TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (job_id, number)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX turns_unfinished ON turns (project_id) WHERE state <> 'ended';
  -- What the hourly limits count.
  CREATE INDEX turns_by_acceptance ON turns (project_id, accepted_at, number);

  CREATE TABLE idempotency (
    project_id TEXT NOT NULL,
    key TEXT NOT NULL,
    -- SHA-256 of what was asked.
    request TEXT NOT NULL,
    status INTEGER NOT NULL,
    -- JSON: the job record of the first answer.
    answer TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_by_age ON idempotency (created_at);

  CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL,
    -- SHA-256 of the key, hexadecimal. The key itself is stored nowhere.
    hash TEXT NOT NULL UNIQUE,
    last4 TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- When a turn that waits may run, epoch milliseconds: later than at once after an attempt that failed.
  ALTER TABLE turns ADD COLUMN due_at INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- Made anew, as SQLite cannot change what a column may hold: turns now also end cancelled, or with a branch.
  CREATE TABLE turns_with_reports (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    -- 1 is the create, the others are messages.
    number INTEGER NOT NULL,
    project_id TEXT NOT NULL,
    prompt TEXT NOT NULL,
    accepted_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'ended')),
    -- How often the runner was started and neither ended the turn nor was stopped on purpose.
    attempts INTEGER NOT NULL DEFAULT 0,
    -- When it may run, if it waits; later than at once after an attempt that failed.
    due_at INTEGER NOT NULL DEFAULT 0,
    started_at INTEGER,
    ended_at INTEGER,
    -- One of ReportedOutcome.
    outcome TEXT,
    summary TEXT,
    -- Why the turn ended like this, or why its last attempt broke off.
    reason TEXT,
    -- JSON: paths.
    left_out TEXT NOT NULL DEFAULT '[]',
    -- JSON: the last lines the runner reported.
    progress TEXT NOT NULL DEFAULT '[]',
    -- What the agent did last.
    step TEXT,
    -- JSON: the steps of the agent's plan.
    plan TEXT NOT NULL DEFAULT '[]',
    -- JSON, or null: what the models used.
    usage TEXT NOT NULL DEFAULT 'null',
    -- JSON, or null: the pull request as the turn left it.
    pull_request TEXT NOT NULL DEFAULT 'null',
    branch TEXT,
    PRIMARY KEY (job_id, number)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO turns_with_reports (job_id, number, project_id, prompt, accepted_at, state, attempts, due_at, started_at,
      ended_at, outcome, summary, reason, left_out, progress)
    SELECT job_id, number, project_id, prompt, accepted_at, state, attempts, due_at, started_at, ended_at, outcome, summary,
      reason, left_out, progress FROM turns;
  DROP TABLE turns;
  ALTER TABLE turns_with_reports RENAME TO turns;
  CREATE INDEX turns_unfinished ON turns (project_id) WHERE state <> 'ended';
  -- What the hourly limits count.
  CREATE INDEX turns_by_acceptance ON turns (project_id, accepted_at, number);

  -- What a list of a project's jobs goes through.
  CREATE INDEX jobs_by_project ON jobs (project_id, created_at, id);
  -- The number of the turn that the first request began; null for requests of before this column.
  ALTER TABLE idempotency ADD COLUMN turn INTEGER;

  -- What agents that run now ask; gone with the run.
  CREATE TABLE questions (
    id TEXT PRIMARY KEY,
    job_id TEXT NOT NULL REFERENCES jobs (id),
    turn INTEGER NOT NULL,
    text TEXT NOT NULL,
    -- JSON: what can be chosen.
    choices TEXT NOT NULL,
    allows_text INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,
    answered_at INTEGER,
    -- JSON, or null.
    answer TEXT NOT NULL DEFAULT 'null'
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX questions_by_turn ON questions (job_id, turn);
  `,
  `
  -- What came with the prompts of turns.
  CREATE TABLE attachments (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    turn INTEGER NOT NULL,
    position INTEGER NOT NULL,
    -- Also the name of its file, which is there until the turn has ended.
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (job_id, turn, position)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- Limits look instead of counting: the more there are, the longer counting takes. Which create of its project a first turn is, or which
  -- message a later one is; what was forgotten leaves a gap.
  ALTER TABLE turns ADD COLUMN nth INTEGER NOT NULL DEFAULT 0;
  UPDATE turns SET nth = counted.nth
    FROM (SELECT job_id, number, row_number() OVER (PARTITION BY project_id, number = 1 ORDER BY accepted_at, job_id, number) AS nth
      FROM turns) AS counted
    WHERE turns.job_id = counted.job_id AND turns.number = counted.number;
  CREATE INDEX creates_in_order ON turns (project_id, nth) WHERE number = 1;
  CREATE INDEX messages_in_order ON turns (project_id, nth) WHERE number > 1;
  DROP INDEX turns_by_acceptance;

  -- How many turns of a project have not ended, whoever adds and ends them. A table that takes the place of turns needs the triggers, too.
  CREATE TABLE unfinished (project_id TEXT PRIMARY KEY, turns INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO unfinished (project_id, turns) SELECT project_id, count(*) FROM turns WHERE state <> 'ended' GROUP BY project_id;
  CREATE TRIGGER turn_added AFTER INSERT ON turns WHEN NEW.state <> 'ended' BEGIN
    INSERT INTO unfinished (project_id, turns) VALUES (NEW.project_id, 1)
      ON CONFLICT (project_id) DO UPDATE SET turns = turns + 1;
  END;
  CREATE TRIGGER turn_ended AFTER UPDATE OF state ON turns WHEN OLD.state <> 'ended' AND NEW.state = 'ended' BEGIN
    UPDATE unfinished SET turns = turns - 1 WHERE project_id = NEW.project_id;
  END;
  CREATE TRIGGER turn_forgotten AFTER DELETE ON turns WHEN OLD.state <> 'ended' BEGIN
    UPDATE unfinished SET turns = turns - 1 WHERE project_id = OLD.project_id;
  END;
  `,
  `
  -- Why a turn failed, where a client can act on it.
  ALTER TABLE turns ADD COLUMN cause TEXT;
  `,
  `
  -- Whether the turn's agent runs, and how often the service has ended meanwhile.
  ALTER TABLE turns ADD COLUMN agent_runs INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE turns ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- What of the prompt the person typed: the only part that a pull request may quote. Null: it isn't known.
  ALTER TABLE turns ADD COLUMN words TEXT;
  -- JSON, or null: who asked, and where.
  ALTER TABLE turns ADD COLUMN requester TEXT NOT NULL DEFAULT 'null';
  `,
];
