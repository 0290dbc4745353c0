import { once } from "node:events";
import { connect, createServer } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { openSqliteTarget } from "../../src/migrate/sqlite-side.ts";
import { createSystemClock } from "../../src/system-clock.ts";
import { AppProcess } from "../support/app-process.ts";
import { stateOf, toRedis, toSqlite } from "../support/migrate.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { openRedisClient, redisPrefix } from "../support/redis.ts";
import { isSampled } from "../support/sampled.ts";
import { openTempDir } from "../support/temp-dir.ts";

const clock = createSystemClock();

/** Where a migration dies: at the n-th thing that it says to Redis, or at the n-th commit to the file. */
type Death = { at: "redis" | "commit"; phase: "before" | "after"; number: number };

/** Between the migration and its Redis. `onSaid` may end the migration; what it returns says whether Redis still hears it. */
async function startWire(redisUrl: string) {
  const wire = {
    url: "",
    onSaid: async (): Promise<{ isHeard: boolean; after: () => Promise<void> }> => nothing,
  };
  const server = createServer((near) => {
    const far = connect(Number(new URL(redisUrl).port), "127.0.0.1");
    for (const socket of [near, far]) socket.on("error", () => {});
    far.pipe(near);
    near.on("close", () => far.end());
    let last = Promise.resolve();
    near.on("data", (data) => {
      last = last.then(async () => {
        const { isHeard, after } = await wire.onSaid();
        if (isHeard) far.write(data);
        await after();
      });
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  wire.url = `redis://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}`;
  return Object.assign(wire, { [Symbol.asyncDispose]: async () => void server.close() });
}
const nothing = { isHeard: true, after: async () => {} };

/** 600 entries of all kinds: several pages of each. */
async function fill(path: string): Promise<void> {
  const target = await openSqliteTarget(path, clock);
  await target[Symbol.asyncDispose]();
  const db = new DatabaseSync(path);
  const now = clock.now();
  db.exec(`
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 300)
      INSERT INTO kv SELECT 'turn:' || n, '{"value":{"n":' || n || '}}', ${now + 3_600_000} + n FROM n;
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 300)
      INSERT INTO tasks (id, type, pool, known, payload, state, due_at, added_at, ended_at)
      SELECT 'task ' || n, 'test', 'all', 'once', iif(n % 3 = 2, NULL, '{"n":' || n || '}'),
        CASE n % 3 WHEN 0 THEN 'waiting' WHEN 1 THEN 'dead' ELSE 'done' END, ${now} + n, ${now},
        iif(n % 3 = 0, NULL, ${now} - n) FROM n;
  `);
  db.close();
}

/** Kills a migration there, runs it again, and compares. Returns whether there was anything to kill. */
async function dieAndGoOn(to: "redis" | "sqlite", redisUrl: string, death: Death): Promise<boolean> {
  await using resources = new AsyncDisposableStack();
  const dir = resources.use(await openTempDir());
  const { prefix } = redisPrefix(redisUrl);
  // A migration looks through all keys of the database, also those that an earlier one left there.
  const admin = await openRedisClient(redisUrl);
  resources.defer(() => admin.close());
  await admin.flushDb();
  const direct = `${redisUrl}?prefix=${prefix.slice(1, -1)}`;
  const wire = resources.use(await startWire(redisUrl));
  const [before, after] = [dir.file("before.sqlite"), dir.file("after.sqlite")];
  await fill(before);
  const state = stateOf(before);
  if (to === "sqlite") await toRedis({ path: before, url: direct, clock });

  const redis = `${wire.url}?prefix=${prefix.slice(1, -1)}`;
  const [from, target] = to === "redis" ? [`sqlite://${before}`, redis] : [redis, `sqlite://${after}`];
  const program = {
    file: "src/migrate/main.ts",
    args: ["--from", from ?? "", "--to", target ?? ""],
    readyMessage: "",
  };
  const killAtCommit = death.at === "commit" ? { killAtCommit: `${death.phase}:${death.number}` } : {};
  const first = resources.use(new AppProcess({ env: {}, program, ...killAtCommit }));
  let said = 0;
  wire.onSaid = async () => {
    said += 1;
    if (death.at !== "redis" || said !== death.number) return nothing;
    if (death.phase === "after") return { isHeard: true, after: () => first.kill() };
    await first.kill();
    return { isHeard: false, after: async () => {} };
  };
  const ending = await first.exit();
  wire.onSaid = async () => nothing;
  if (ending === 0) return false;
  expect(ending).toBe("SIGKILL");

  const second = resources.use(new AppProcess({ env: {}, program }));
  expect({ code: await second.exit(), stderr: second.stderr }).toEqual({ code: 0, stderr: "" });
  expect(second.stdout).toContain("found the same");
  if (to === "redis") {
    const live = await admin.zRange(`${prefix}:live`, 0, -1);
    expect(live).toHaveLength(100);
    expect((await admin.hKeys(`${prefix}:outbox`)).toSorted()).toEqual(live.toSorted());
    await toSqlite({ path: after, url: direct, clock });
  }
  expect(stateOf(before)).toEqual(state);
  expect(stateOf(after)).toEqual(state);
  return true;
}

it.concurrent.each([
  ["redis", "redis", "before"],
  ["redis", "redis", "after"],
  ["sqlite", "redis", "after"],
  ["sqlite", "commit", "before"],
  ["sqlite", "commit", "after"],
] as const)(
  "a migration to %s, killed at every %s write (%s it), ends the same when it is run again",
  async (to, at, phase) => {
    await using redis = await startRedisServer();
    let deaths = 0;
    for (let isOver = false; !isOver; deaths += isOver ? 0 : 1) {
      if (!isSampled(deaths)) continue;
      isOver = !(await dieAndGoOn(to, redis.url, { at, phase, number: deaths + 1 }));
    }
    // The mark, the pages of each kind, the mark; over Redis also each look and each page that is read.
    expect(deaths).toBeGreaterThanOrEqual(at === "commit" ? 5 : 20);
  },
  600_000,
);
