// @module-tag all
// @module-tag redis-server
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openSqliteDatabase } from "../../../src/shared/store/sqlite/sqlite-database.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { type RedisServer, startRedisServer } from "../../support/redis-server.ts";
import { redisPrefix } from "../../support/redis.ts";
import { dumpOf, loadInto } from "../../support/state.ts";
import { openTempDir } from "../../support/temp-dir.ts";

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
      .tuple(fc.constantFrom("turn", "job", "thread", "draft", "service", "notice", "set-aside"), ids)
      .map(([kind, id]) => `${kind}:${id}`),
    value: json.map((value) => `{"value":${value}}`),
    expires_at: fc.option(soon),
  }),
  { selector: ({ key }) => key },
);

const series = fc.uniqueArray(
  fc.record({
    name: ids,
    entries: fc.array(texts, { minLength: 1, maxLength: 5 }),
    // Redis counts by its own clock how long it keeps one.
    expires_at: soon.map((at) => at + DAY_MS),
  }),
  { selector: ({ name }) => name, maxLength: 10 },
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

it("whatever is stored is the same after a load into Redis, and after one back into SQLite", async () => {
  await fc.assert(
    fc.asyncProperty(records, series, tasks, async (records, series, tasks) => {
      await using dir = await openTempDir();
      const prefix = redisPrefix(redis.url);
      const [before, after] = [dir.file("before.sqlite"), dir.file("after.sqlite")];
      const { db, close } = await openSqliteDatabase({ path: before }, { clock });
      db.exec("BEGIN");
      for (const { key, value, expires_at } of records) {
        db.prepare("INSERT INTO kv (key, value, expires_at) VALUES (?, ?, ?)").run(key, value, expires_at);
      }
      for (const { name, entries, expires_at } of series) {
        const insert = db.prepare("INSERT INTO series (name, entry, expires_at) VALUES (?, ?, ?)");
        for (const entry of entries) insert.run(name, entry, expires_at);
      }
      const columns = Object.keys(tasks[0] ?? {});
      for (const task of tasks) {
        db.prepare(
          `INSERT INTO tasks (${columns.join(", ")}) VALUES (${columns.map((name) => `:${name}`).join(", ")})`,
        ).run(task);
      }
      db.exec("COMMIT");
      close();
      const first = await dumpOf({ store: before, clock });
      const counts = {
        records: records.length,
        series: series.length,
        tasks: tasks.filter(({ state }) => state !== "done").length,
        done: tasks.filter(({ state }) => state === "done").length,
      };
      expect(await loadInto({ store: prefix.url, clock }, first)).toMatchObject(counts);
      const second = await dumpOf({ store: prefix.url, clock });
      expect(await loadInto({ store: after, clock }, second)).toMatchObject(counts);
      const third = await dumpOf({ store: after, clock });
      expect(comparable(third)).toEqual(comparable(first));
    }),
    { numRuns: 20 },
  );
}, 120_000);

/** The entries, in one order; Redis says only about how long a series stays. */
function comparable(lines: readonly string[]): string[] {
  return lines
    .slice(1, -1)
    .map((line) => (line.includes('"kind":"series"') ? line.replace(/"expiresAt":\d+,/, "") : line))
    .toSorted();
}
