import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { appMigrations } from "../../src/store/app-migrations.ts";
import { openSqliteDatabase } from "../../src/store/sqlite-database.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { stateOf, toRedis, toSqlite } from "../support/migrate.ts";
import { type RedisServer, startRedisServer } from "../support/redis-server.ts";
import { redisPrefix } from "../support/redis.ts";
import { openTempDir } from "../support/temp-dir.ts";

const DAY_MS = 24 * 60 * 60_000;
const clock = new ManualClock();
const now = clock.now();

const texts = fc.string({ unit: "binary" });
const ids = fc.string({ unit: "binary", minLength: 1 });
const json = fc.json();
const times = fc.integer({ min: now - 100 * DAY_MS, max: now + 100 * DAY_MS });
const soon = fc.integer({ min: now + 1, max: now + 100 * DAY_MS });
const counts = fc.integer({ min: 0, max: 1000 });

const records = fc.uniqueArray(
  fc.record({
    key: fc
      .tuple(
        fc.constantFrom(
          "turn",
          "job",
          "thread",
          "draft",
          "service",
          "notice",
          "list",
          "history",
          "set-aside",
        ),
        ids,
      )
      .map(([kind, id]) => `${kind}:${id}`),
    value: json.map((value) => `{"value":${value}}`),
    expires_at: fc.option(soon),
  }),
  { selector: ({ key }) => key },
);

const common = {
  id: ids,
  type: ids,
  pool: texts,
  known: fc.constantFrom("once", "pending", "latest"),
  payload: json,
  due_at: times,
  attempt: counts,
  surprises: counts,
  deaths: counts,
  added_at: times,
  reason: fc.option(ids),
};
const waiting = fc
  .tuple(fc.record(common), fc.option(fc.record({ next_payload: json, next_due_at: times })))
  .map(([task, next]) => ({
    ...task,
    state: "waiting",
    ended_at: null,
    next_payload: null,
    next_due_at: null,
    ...next,
  }));
const dead = fc.record({
  ...common,
  state: fc.constant("dead"),
  ended_at: times,
  next_payload: fc.constant(null),
  next_due_at: fc.constant(null),
});
const done = fc
  .record({ id: ids, ended_at: fc.integer({ min: now - 7 * DAY_MS + 1, max: now }) })
  .map((task) => ({
    ...task,
    type: "submit",
    pool: "creates",
    known: "once",
    payload: null,
    state: "done",
    due_at: now,
    attempt: 1,
    surprises: 0,
    deaths: 0,
    added_at: now,
    reason: null,
    next_payload: null,
    next_due_at: null,
  }));
const tasks = fc.uniqueArray(fc.oneof(waiting, dead, done), { selector: ({ id }) => id, maxLength: 30 });

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis[Symbol.asyncDispose]());

it("whatever is stored is the same after a move to Redis, and after the move back", async () => {
  await fc.assert(
    fc.asyncProperty(records, tasks, async (records, tasks) => {
      await using dir = await openTempDir();
      const prefix = redisPrefix(redis.url);
      const [before, after] = [dir.file("before.sqlite"), dir.file("after.sqlite")];
      const migrations = appMigrations({ projects: [], retentionMs: 0, now });
      const { db, close } = await openSqliteDatabase({ path: before }, { clock, migrations });
      for (const { key, value, expires_at } of records) {
        db.prepare("INSERT INTO kv (key, value, expires_at) VALUES (?, ?, ?)").run(key, value, expires_at);
      }
      const columns = Object.keys(tasks[0] ?? {});
      for (const task of tasks) {
        db.prepare(
          `INSERT INTO tasks (${columns.join(", ")}) VALUES (${columns.map((name) => `:${name}`).join(", ")})`,
        ).run(task);
      }
      close();
      const state = stateOf(before);
      const moved = await toRedis({ path: before, url: prefix.url, clock });
      expect(moved).toEqual({
        record: records.length,
        live: tasks.filter((task) => task.state === "waiting").length,
        dead: tasks.filter((task) => task.state === "dead").length,
        done: tasks.filter((task) => task.state === "done").length,
      });
      expect(stateOf(before)).toEqual(state);
      expect(await toSqlite({ path: after, url: prefix.url, clock })).toEqual(moved);
      expect(stateOf(after)).toEqual(state);
    }),
    { numRuns: 30 },
  );
}, 120_000);
