// @module-tag redis-server
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AppQueue, type AppRecords } from "../../../src/app/rules/records.ts";
import { RedisTaskQueue } from "../../../src/shared/queue/redis/redis-task-queue.ts";
import { SqliteTaskQueue } from "../../../src/shared/queue/sqlite/sqlite-task-queue.ts";
import type { Side } from "../../../src/app/dump/transfer.ts";
import { openSqliteStore } from "../../../src/shared/store/sqlite/open-sqlite-store.ts";
import { openRedisStore } from "../../../src/shared/store/redis/open-redis-store.ts";
import { createSystemClock } from "../../../src/shared/machine/clock-and-log.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { type RedisServer, startRedisServer } from "../../support/redis-server.ts";
import { redisPrefix } from "../../support/redis.ts";
import { dumpOf, loadInto } from "../../support/state.ts";
import { openTempDir } from "../../support/temp-dir.ts";
import { recordSchemas } from "../../../src/app/rules/records.ts";

const clock = createSystemClock();
const logger = new RecordingLogger();
const pools = { of: () => "all", budgets: { all: 50 } };
const draft = { version: 1, from: "command", teamId: "T", channelId: "C", threadTs: null } as const;
const Draft = (responseUrl: string) => ({ ...draft, quoted: null, responseUrl });
const HOUR_MS = 3_600_000;

let server: RedisServer;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** An app on a store, as far as its store and its queue go. */
async function openApp(store: string) {
  if (store.startsWith("redis:")) {
    const opened = await openRedisStore({
      schemas: recordSchemas,
      url: store,
      clock,
      logger,
      keepSetAsideMs: HOUR_MS,
    });
    const queue = new RedisTaskQueue({ store: opened, clock, logger, pools, keepDeadMs: HOUR_MS });
    return { store: opened, queue, ...closing(opened, queue) };
  }
  const opened = await openSqliteStore({
    schemas: recordSchemas,
    url: `sqlite://${store}`,
    clock,
    logger,
    ownerWaitMs: 0,
  });
  const queue = new SqliteTaskQueue<AppRecords>({ store: opened, clock, logger, pools });
  return { store: opened, queue, ...closing(opened, queue) };
}

function closing(store: { close(): Promise<void> }, queue: { stop(graceMs: number): Promise<void> }) {
  return {
    [Symbol.asyncDispose]: async () => {
      await queue.stop(1_000);
      await store.close();
    },
  };
}

/** A place of each kind, and a dump of a store with so many drafts, a series, a task that waits and one that is done. */
async function startPlaces(drafts = 600) {
  const resources = new AsyncDisposableStack();
  const dir = resources.use(await openTempDir());
  const from = dir.file("from.sqlite");
  {
    await using app = await openApp(from);
    for (let n = 0; n < drafts; n += 1) {
      void app.store.recordsOf("draft").set(`draft ${n}`, Draft(`${n}\u2028\u2029\n`), 48 * HOUR_MS);
    }
    await app.queue.commit(() => ({
      appends: ["a", "b"].map((entry) => ({ series: "s", entry, keep: 9, ttlMs: 48 * HOUR_MS })),
      adds: [
        { id: "done", type: "test", payload: null },
        { id: "later", type: "test", payload: { n: 1 }, dueAt: clock.now() + HOUR_MS },
      ],
      value: null,
    }));
    app.queue.start(async () => ({ kind: "done" }));
    await expect.poll(() => app.queue.counts()).toEqual({ waiting: 1, running: 0, dead: 0 });
  }
  const lines = await dumpOf({ store: from, clock });
  const stores = { sqlite: dir.file("to.sqlite"), redis: redisPrefix(server.url).url };
  return { dir, from, lines, stores, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** The same target, one method of which is another. */
function withMethod<K extends keyof Side>(target: Side, replaced: K, method: Side[K]): Side {
  return new Proxy(target, {
    get(of, name) {
      if (name === replaced) return method;
      const value: unknown = Reflect.get(of, name);
      return typeof value === "function" ? value.bind(of) : value;
    },
  });
}

describe.each(["sqlite", "redis"] as const)("a load into %s", (kind) => {
  it("is what was dumped: records, series, what waits, and what is known as done", async () => {
    await using places = await startPlaces();
    const store = places.stores[kind];
    const totals = { records: 600, series: 1, tasks: 1, done: 1 };
    expect(await loadInto({ store, clock }, places.lines)).toMatchObject(totals);
    await using app = await openApp(store);
    expect(await app.store.records.get("draft", "draft 599")).toEqual(Draft("599\u2028\u2029\n"));
    expect(await app.store.series.of("s")).toEqual(["a", "b"]);
    expect(await app.queue.counts()).toMatchObject({ waiting: 1, dead: 0 });
    expect(await app.queue.add({ id: "done", type: "test", payload: null })).toBe(false);
    expect(await app.queue.add({ id: "later", type: "test", payload: null })).toBe(false);
  });

  it("is refused where something is", async () => {
    await using places = await startPlaces(3);
    const store = places.stores[kind];
    await loadInto({ store, clock }, places.lines);
    await expect(loadInto({ store, clock }, places.lines)).rejects.toThrow(/isn't empty. Set STORE_URL to/);
    await using app = await openApp(store);
    await expect(loadInto({ store, clock }, places.lines)).rejects.toThrow(/Stop (the app|all replicas)/);
    expect(await app.store.records.get("draft", "draft 2")).toEqual(Draft("2\u2028\u2029\n"));
  });

  it("that broke off lets no app start and nothing be dumped, and is repeated from the beginning", async () => {
    await using places = await startPlaces();
    const store = places.stores[kind];
    let puts = 0;
    const breaking = loadInto({ store, clock }, places.lines, (target) =>
      withMethod(target, "put", async (entries) => {
        puts += 1;
        if (puts === 2) throw new Error("killed");
        await target.put(entries);
      }),
    );
    await expect(breaking).rejects.toThrow("killed");
    await expect(openApp(store)).rejects.toThrow(/hasn't finished.* load the dump again/);
    await expect(dumpOf({ store, clock })).rejects.toThrow(/load of another dump .*hasn't finished/);
    // Another dump, in which something that the first one had is missing.
    await using other = await startPlaces(2);
    expect(await loadInto({ store, clock }, other.lines)).toMatchObject({ records: 2 });
    await using app = await openApp(store);
    expect(await app.store.records.get("draft", "draft 1")).toEqual(Draft("1\u2028\u2029\n"));
    expect(await app.store.records.get("draft", "draft 2")).toBeUndefined();
    expect(await app.store.series.of("s")).toEqual(["a", "b"]);
  });

  it("lets no app start from its beginning on, before its first line is there", async () => {
    await using places = await startPlaces(3);
    const store = places.stores[kind];
    const begun = Promise.withResolvers<void>();
    const mayGoOn = Promise.withResolvers<void>();
    async function* lines() {
      begun.resolve();
      await mayGoOn.promise;
      yield* places.lines;
    }
    const loading = loadInto({ store, clock }, lines());
    await begun.promise;
    await expect(openApp(store)).rejects.toThrow(/hasn't finished|in use by another process/);
    mayGoOn.resolve();
    expect(await loading).toMatchObject({ records: 3 });
    await using _ = await openApp(store);
  });

  it("that lost something is noticed, and no app starts on it", async () => {
    await using places = await startPlaces(3);
    const store = places.stores[kind];
    const losing = loadInto({ store, clock }, places.lines, (target) =>
      withMethod(target, "put", (entries) => target.put(entries.filter(({ id }) => id !== "draft:draft 1"))),
    );
    await expect(losing).rejects.toThrow("doesn't hold what was put there");
    await expect(openApp(store)).rejects.toThrow("hasn't finished");
  });
});

it.each([
  ["sqlite", "redis"],
  ["redis", "sqlite"],
] as const)("from %s into %s, a task that was added again while it ran runs once more", async (from, to) => {
  await using dir = await openTempDir();
  const stores = { sqlite: dir.file("state.sqlite"), redis: redisPrefix(server.url).url };
  const add = (queue: AppQueue, n: number) =>
    queue.add({ id: "t", type: "test", payload: n, onDuplicate: "latest" });
  {
    await using app = await openApp(stores[from]);
    const begun = Promise.withResolvers<void>();
    app.queue.start(async () => {
      begun.resolve();
      return new Promise<never>(() => {});
    });
    await add(app.queue, 1);
    await begun.promise;
    expect(await add(app.queue, 2)).toBe(true);
  }
  await loadInto({ store: stores[to], clock }, await dumpOf({ store: stores[from], clock }));
  await using app = await openApp(stores[to]);
  const runs: unknown[] = [];
  app.queue.start(async ({ payload }) => {
    runs.push(payload);
    return { kind: "done" };
  });
  await expect.poll(() => app.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 0 });
  expect(runs).toEqual([1, 2]);
});

it("an app in another database of the same Redis may run meanwhile", async () => {
  const { url } = redisPrefix(`${server.url}/1`);
  const store = url.replace("/1?", "/2?");
  await using _ = await openApp(url);
  expect(await dumpOf({ store, clock })).toHaveLength(2);
});

describe("a dump is refused", () => {
  const cut: [string, (lines: readonly string[]) => readonly string[], string][] = [
    ["whose end is missing", (lines) => lines.slice(0, -1), "its last line is missing"],
    ["a line of which is missing", (lines) => lines.toSpliced(3, 1), "don't add up"],
    [
      "a line of which is another",
      (lines) => lines.with(3, lines[3]?.replace('"T\\"', '"U\\"') ?? "").with(4, lines[3] ?? ""),
      "don't add up",
    ],
    [
      "that is cut within a line",
      (lines) => [...lines.slice(0, 3), '{"kind":"rec'],
      "isn't an entry of this format",
    ],
    ["of another format", (lines) => lines.with(0, '{"docsAgentState":99}'), "format 99"],
    ["that is something else", () => ['{"a":1}'], "isn't a Docs Agent dump"],
    ["that is empty", () => [], "no dump on the standard input"],
  ];
  const places = ["sqlite", "redis"] as const;
  it.each(places.flatMap((kind) => cut.map((row) => [kind, ...row] as const)))(
    "into %s: one %s; and no app starts there until a whole one is loaded",
    async (kind, _, damage, message) => {
      await using places = await startPlaces(9);
      const store = places.stores[kind];
      await expect(loadInto({ store, clock }, damage(places.lines))).rejects.toThrow(message);
      await expect(openApp(store)).rejects.toThrow("hasn't finished");
      // Whatever it was, the whole one can be loaded now.
      const npms = ["", "> docs-agent-slack@0.1.0 state", "> exec node src/app/dump/main.ts dump", ""];
      expect(await loadInto({ store, clock }, [...npms, ...places.lines])).toMatchObject({ records: 9 });
      await using _app = await openApp(store);
    },
  );

  it("into Redis that an app opened meanwhile, and then it may start again", async () => {
    await using places = await startPlaces(1);
    const store = places.stores.redis;
    let app: AsyncDisposable | undefined;
    const loading = loadInto({ store, clock }, places.lines, (target) =>
      withMethod(target, "markHalfLoaded", async (isHalf) => {
        app ??= await openApp(store);
        await target.markHalfLoaded(isHalf);
      }),
    );
    await expect(loading).rejects.toThrow("Stop all replicas");
    await app?.[Symbol.asyncDispose]();
    await using _ = await openApp(store);
  });

  it("of a file that isn't there; and none is made", async () => {
    await using dir = await openTempDir();
    await expect(dumpOf({ store: dir.file("nowhere/state.sqlite"), clock })).rejects.toThrow("nothing in it");
    expect(existsSync(dir.file("nowhere"))).toBe(false);
  });

  it.each(["sqlite", "redis"] as const)("of a store on %s that an app uses", async (kind) => {
    await using places = await startPlaces(1);
    const store = places.stores[kind];
    await using _ = await openApp(store);
    await expect(dumpOf({ store, clock })).rejects.toThrow(/Stop (the app|all replicas), and run this again/);
  });
});
