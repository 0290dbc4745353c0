import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { codeOf, messageOf, StartError } from "../../shared/errors.ts";
import type { Clock } from "../../shared/machine/ports.ts";
import { QUEUE_TABLES } from "../../shared/store/sqlite/migrations.ts";
import { openSqliteDatabase, type SqliteDatabase } from "../../shared/store/sqlite/sqlite-database.ts";
import { StoreInUseError } from "../../shared/store/store-errors.ts";
import type { ServiceConfig } from "../config/config.ts";

type DataDir = Pick<ServiceConfig, "dataDir">;

/** The path of the only file with the service's state. */
export function stateFileOf({ dataDir }: DataDir): string {
  return join(dataDir, "job-service.sqlite");
}

/**
 * Creates the folder for the state. Throws a {@link StartError} unless this user may use it and the
 * files in it.
 */
export function openDataDir(config: DataDir): void {
  const file = stateFileOf(config);
  try {
    mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
    accessSync(config.dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    for (const path of [file, `${file}-owner`, `${file}-wal`, `${file}-shm`]) {
      if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK);
    }
  } catch (thrown) {
    const code = codeOf(thrown) ?? messageOf(thrown);
    const remedy = ["EACCES", "EPERM"].includes(code)
      ? `Give ${config.dataDir} and all that is in it to the user that the service runs as.`
      : "Check dataDir in the settings.";
    throw new StartError(`Can't open ${file} (${code}). ${remedy}`, { cause: thrown });
  }
}

/**
 * Opens the state as its only owner. Rejects with a {@link StartError} if another process has it or
 * it can't be read.
 */
export async function openServiceDatabase(
  config: DataDir,
  options: { clock: Clock; ownerWaitMs?: number },
): Promise<SqliteDatabase> {
  openDataDir(config);
  const path = stateFileOf(config);
  try {
    return await openSqliteDatabase({ path }, { ...options, migrations: serviceSchema });
  } catch (thrown) {
    if (!(thrown instanceof StoreInUseError)) throw thrown;
    throw new StartError(`Another job service is using ${config.dataDir}. Stop it or change dataDir.`, {
      cause: thrown,
    });
  }
}

/**
 * Runs `work` on the state as its only owner. Resolves to null if a service or another command has
 * it.
 */
export async function withState<T>(
  config: DataDir,
  clock: Clock,
  work: (db: DatabaseSync) => T | Promise<T>,
): Promise<T | null> {
  const opening = openServiceDatabase(config, { clock, ownerWaitMs: 0 });
  const owned = await opening.catch((thrown: unknown) => {
    if (thrown instanceof StartError && thrown.cause instanceof StoreInUseError) return null;
    throw thrown;
  });
  if (owned === null) return null;
  try {
    return await work(owned.db);
  } finally {
    owned.close();
  }
}

/**
 * SQL of a trigger that gives a job the number of its newest change. It is part of a released step.
 */
function numbered(name: string, event: string, job: string, when = "TRUE"): string {
  return `CREATE TRIGGER ${name} AFTER ${event} WHEN ${when} BEGIN
    UPDATE feed SET last = last + 1;
    UPDATE jobs SET changed = (SELECT last FROM feed) WHERE id = ${job};
  END;`;
}

/**
 * The tables of the job service's SQLite file. A change to them is a further step at the end; a
 * released step never changes. The task queue and the probe are the Slack app's.
 *
 * Jobs are rows here and no Keyv records: accepting a request touches the job, its turn, the limits
 * and the idempotency key at once, and Keyv has neither transactions nor compare-and-set. `PRAGMA
 * user_version` counts the steps.
 */
export const serviceSchema: readonly string[] = [
  `${QUEUE_TABLES}
  CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL,
    repository TEXT NOT NULL, -- As it was when the job was created, like ref and model.
    ref TEXT NOT NULL,
    model TEXT NOT NULL,
    pr_link TEXT,
    created_at INTEGER NOT NULL,
    active_at INTEGER NOT NULL, -- When the last turn was accepted or ended.
    archived_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX jobs_by_creation ON jobs (created_at);
  CREATE INDEX jobs_not_archived ON jobs (project_id, active_at) WHERE archived_at IS NULL;
  CREATE INDEX jobs_by_project ON jobs (project_id, created_at, id);

  CREATE TABLE turns (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    number INTEGER NOT NULL, -- 1 is the create, the others are messages.
    project_id TEXT NOT NULL,
    prompt TEXT NOT NULL,
    words TEXT, -- What of the prompt the person typed: all that a pull request may quote.
    requester TEXT NOT NULL DEFAULT 'null', -- JSON, or null: who asked, and where.
    accepted_at INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'running', 'ended')),
    attempts INTEGER NOT NULL DEFAULT 0, -- How often the runner was started and wasn't stopped on purpose.
    due_at INTEGER NOT NULL DEFAULT 0, -- When it may run, if it waits: later after a failed attempt.
    started_at INTEGER,
    ended_at INTEGER,
    outcome TEXT, -- One of ReportedOutcome.
    summary TEXT,
    reason TEXT, -- Why the turn ended like this, or why its last attempt broke off.
    cause TEXT, -- Why it failed, where a client can act on it.
    left_out TEXT NOT NULL DEFAULT '[]', -- JSON: paths.
    progress TEXT NOT NULL DEFAULT '[]', -- JSON: the last lines the runner reported.
    step TEXT,
    plan TEXT NOT NULL DEFAULT '[]', -- JSON.
    usage TEXT NOT NULL DEFAULT 'null', -- JSON, or null: what the models used.
    pull_request TEXT NOT NULL DEFAULT 'null', -- JSON, or null: as the turn left it.
    branch TEXT,
    agent_runs INTEGER NOT NULL DEFAULT 0,
    deaths INTEGER NOT NULL DEFAULT 0, -- How often the service or its runner has ended while the agent ran.
    PRIMARY KEY (job_id, number)
  ) STRICT, WITHOUT ROWID;
  -- With the state, so that counting a project's unfinished turns reads nothing but this.
  CREATE INDEX turns_unfinished ON turns (project_id, state) WHERE state <> 'ended';
  -- What the hourly limits look at.
  CREATE INDEX turns_by_acceptance ON turns (project_id, accepted_at, number);

  CREATE TABLE idempotency (
    project_id TEXT NOT NULL,
    key TEXT NOT NULL,
    request TEXT NOT NULL, -- SHA-256 of what was asked.
    answer TEXT NOT NULL, -- JSON: the job record of the first answer.
    turn INTEGER NOT NULL, -- The number of the turn that the first request began.
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_by_age ON idempotency (created_at);

  CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE, -- SHA-256 of the key, hexadecimal. The key itself is stored nowhere.
    last4 TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
  ) STRICT, WITHOUT ROWID;

  -- What agents that run now ask; gone with the run.
  CREATE TABLE questions (
    id TEXT PRIMARY KEY,
    job_id TEXT NOT NULL REFERENCES jobs (id),
    turn INTEGER NOT NULL,
    text TEXT NOT NULL,
    choices TEXT NOT NULL, -- JSON.
    allows_text INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,
    answered_at INTEGER,
    answer TEXT NOT NULL DEFAULT 'null' -- JSON, or null.
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX questions_by_turn ON questions (job_id, turn);

  -- What came with the prompts of turns.
  CREATE TABLE attachments (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    turn INTEGER NOT NULL,
    position INTEGER NOT NULL,
    id TEXT NOT NULL, -- Also the name of its file, which is there until the turn has ended.
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (job_id, turn, position)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- JSON: what is told of a turn beyond what came of it (checks, claims, context, notes).
  ALTER TABLE turns ADD COLUMN quality TEXT NOT NULL DEFAULT '{}';
  ALTER TABLE turns ADD COLUMN brief TEXT; -- What the agent was told, for an operator to read.
  `,
  `
  -- JSON, or null: the newest one as it stands at the code host.
  ALTER TABLE jobs ADD COLUMN pull_request TEXT NOT NULL DEFAULT 'null';
  -- The jobs whose pull request is followed, or was.
  CREATE TABLE followed (
    job_id TEXT PRIMARY KEY REFERENCES jobs (id),
    project_id TEXT NOT NULL,
    link TEXT NOT NULL,
    began_at INTEGER NOT NULL,
    look_at INTEGER, -- When it is to be looked at; null: it is followed no more.
    memory TEXT NOT NULL DEFAULT '{}' -- JSON.
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX followed_by_look ON followed (project_id, look_at) WHERE look_at IS NOT NULL;
  INSERT INTO followed (job_id, project_id, link, began_at, look_at)
    SELECT id, project_id, pr_link, created_at, 0 FROM jobs
    WHERE pr_link IS NOT NULL AND created_at > (unixepoch() - 90 * 86400) * 1000;
  `,
  `
  -- The number of the newest change of what the job's record shows. Triggers set it, so that no
  -- write can forget to. They say OF what: other columns are shown to nobody.
  ALTER TABLE jobs ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX jobs_by_change ON jobs (project_id, changed);
  CREATE TABLE feed (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    last INTEGER NOT NULL, -- Of all changes. It never falls.
    incarnation TEXT NOT NULL -- Another one in each file, so that cursors of one mean nothing to another.
  ) STRICT;
  INSERT INTO feed VALUES (1, 0, lower(hex(randomblob(8))));
  ${numbered("jobs_added", "INSERT ON jobs", "NEW.id")}
  ${numbered("jobs_changed", "UPDATE OF pr_link, archived_at, pull_request ON jobs", "NEW.id")}
  ${numbered("turns_added", "INSERT ON turns", "NEW.job_id")}
  ${numbered(
    "turns_changed",
    `UPDATE OF state, started_at, ended_at, outcome, summary, reason, cause, left_out, quality,
      pull_request, branch ON turns`,
    "NEW.job_id",
  )}
  -- These are written again and again, and mostly as they were.
  ${numbered(
    "turns_reported",
    "UPDATE OF step, plan, usage ON turns",
    "NEW.job_id",
    "(OLD.step, OLD.plan, OLD.usage) IS NOT (NEW.step, NEW.plan, NEW.usage)",
  )}
  ${numbered("questions_added", "INSERT ON questions", "NEW.job_id")}
  ${numbered("questions_answered", "UPDATE ON questions", "NEW.job_id")}
  ${numbered("questions_removed", "DELETE ON questions", "OLD.job_id")}
  `,
  `
  -- JSON, or null: who wrote what the prompt quotes.
  ALTER TABLE turns ADD COLUMN authors TEXT NOT NULL DEFAULT 'null';
  `,
  `
  -- What the job's branch begins with, as the settings were when it was created.
  ALTER TABLE jobs ADD COLUMN branch_prefix TEXT NOT NULL DEFAULT 'docs-agent/';
  `,
  `
  -- What the turn does: message, address or update.
  ALTER TABLE turns ADD COLUMN kind TEXT NOT NULL DEFAULT 'message';
  `,
  `
  -- 1 for a turn that has answered reviews and failed checks, with a push or with replies.
  ALTER TABLE turns ADD COLUMN is_round INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- Jobs whose pull requests change the same lines. Each pair is there twice, one in either order.
  CREATE TABLE overlaps (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    other_id TEXT NOT NULL REFERENCES jobs (id),
    PRIMARY KEY (job_id, other_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX overlaps_by_other ON overlaps (other_id);
  `,
  `
  -- 1 for a turn that nobody asked for.
  ALTER TABLE turns ADD COLUMN is_unasked INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- JSON, or null: why the turn waits although there is room, and until when.
  ALTER TABLE turns ADD COLUMN held TEXT NOT NULL DEFAULT 'null';
  ${numbered("turns_held", "UPDATE OF held ON turns", "NEW.job_id", "OLD.held IS NOT NEW.held")}
  -- What turns of a project cost is summed up by when they ended.
  CREATE INDEX turns_by_end ON turns (project_id, ended_at) WHERE ended_at IS NOT NULL;
  -- What turns cost that are forgotten by now, by the day (UTC) on which they ended.
  CREATE TABLE spent_before (
    project_id TEXT NOT NULL,
    day INTEGER NOT NULL, -- Counted from the epoch.
    usd REAL NOT NULL,
    PRIMARY KEY (project_id, day)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER turns_forgotten AFTER DELETE ON turns
  WHEN OLD.ended_at IS NOT NULL AND OLD.usage ->> '$.costUsd' > 0 BEGIN
    INSERT INTO spent_before VALUES (OLD.project_id, OLD.ended_at / 86400000, OLD.usage ->> '$.costUsd')
      ON CONFLICT DO UPDATE SET usd = usd + excluded.usd;
  END;
  `,
  `
  ALTER TABLE turns ADD COLUMN pushed TEXT; -- The newest commit that the turn pushed.
  -- The merged pull requests of jobs.
  CREATE TABLE merges (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    link TEXT NOT NULL,
    project_id TEXT NOT NULL,
    merged_at INTEGER NOT NULL, -- When it was seen.
    edits TEXT NOT NULL DEFAULT 'unknown' CHECK (edits IN ('none', 'made', 'unknown')), -- People's.
    PRIMARY KEY (job_id, link)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX merges_by_time ON merges (merged_at);
  INSERT INTO merges (job_id, link, project_id, merged_at)
    SELECT job_id, link, followed.project_id, memory ->> '$.changedAt' FROM followed JOIN jobs ON id = job_id
    WHERE pull_request ->> '$.state' = 'merged' AND memory ->> '$.changedAt' IS NOT NULL;
  `,
  `
  -- The runner that has the turn, or had it last.
  ALTER TABLE turns ADD COLUMN runner TEXT;
  -- Its right to run the turn: SHA-256 of a token, until when, of which attempt, and what the
  -- attempts before had used (JSON, or null).
  ALTER TABLE turns ADD COLUMN lease TEXT;
  ALTER TABLE turns ADD COLUMN lease_until INTEGER;
  ALTER TABLE turns ADD COLUMN lease_attempt INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE turns ADD COLUMN lease_used TEXT NOT NULL DEFAULT 'null';
  -- How often a runner elsewhere was lost while the agent ran.
  ALTER TABLE turns ADD COLUMN losses INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- Runners elsewhere, each with a token of its own, and what it last said of itself.
  CREATE TABLE runners (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    projects TEXT NOT NULL, -- JSON: the ids of the projects that it may run, or null for all.
    hash TEXT NOT NULL UNIQUE, -- SHA-256 of its token, hexadecimal. The token itself is stored nowhere.
    last4 TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    is_draining INTEGER NOT NULL DEFAULT 0,
    seen_at INTEGER, -- Null, like the rest, until it has called for the first time.
    version TEXT,
    protocol INTEGER,
    session TEXT,
    labels TEXT NOT NULL DEFAULT '[]', -- JSON.
    places INTEGER,
    free INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX runners_by_name ON runners (name) WHERE revoked_at IS NULL;
  `,
];
