import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../src/core/clock.ts";
import { openRedisSource, openRedisTarget } from "../../src/migrate/redis-side.ts";
import { migrate } from "../../src/migrate/migrate.ts";
import { Progress } from "../../src/migrate/progress.ts";
import { openSqliteSource, openSqliteTarget } from "../../src/migrate/sqlite-side.ts";
import { RecordingLogger } from "./recording-logger.ts";

type Options = { path: string; url: string; clock: Clock };

/** Moves a file to a Redis whose time is the clock's. */
export async function toRedis({ path, url, clock }: Options) {
  const logger = new RecordingLogger();
  await using source = await openSqliteSource(path, clock);
  await using target = await openRedisTarget({ url, clock, logger, serverNow: () => clock.now() });
  return await migrate({ source, target, clock, progress: silent(clock) });
}

/** Moves a Redis whose time is the clock's to a file. */
export async function toSqlite({ path, url, clock }: Options) {
  const logger = new RecordingLogger();
  await using source = await openRedisSource({ url, clock, logger, serverNow: () => clock.now() });
  await using target = await openSqliteTarget(path, clock);
  return await migrate({ source, target, clock, progress: silent(clock) });
}

function silent(clock: Clock): Progress {
  return new Progress({ clock, write: () => {}, isTerminal: false });
}

/** All that a file holds, in the order of keys: records, tasks, and the ids of those that are done. */
export function stateOf(path: string) {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return {
      records: db.prepare("SELECT * FROM kv WHERE key NOT LIKE 'probe:%' ORDER BY key").all(),
      tasks: db
        .prepare(
          `SELECT id, type, pool, known, payload, state, due_at, attempt, surprises, deaths, next_payload, next_due_at, added_at,
            ended_at, reason FROM tasks WHERE state <> 'done' ORDER BY id`,
        )
        .all(),
      done: db.prepare("SELECT id, ended_at FROM tasks WHERE state = 'done' ORDER BY id").all(),
    };
  } finally {
    db.close();
  }
}
