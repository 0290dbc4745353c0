import { existsSync } from "node:fs";
import { createClient } from "@redis/client";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Task } from "../../src/core/task-queue.ts";
import { migrate } from "../../src/migrate/migrate.ts";
import { Progress } from "../../src/migrate/progress.ts";
import { openRedisSource, openRedisTarget } from "../../src/migrate/redis-side.ts";
import type { Target } from "../../src/migrate/side.ts";
import { openSqliteSource, openSqliteTarget } from "../../src/migrate/sqlite-side.ts";
import { RedisTaskQueue } from "../../src/queue/redis/redis-task-queue.ts";
import { SqliteTaskQueue } from "../../src/queue/sqlite-task-queue.ts";
import { appMigrations } from "../../src/store/app-migrations.ts";
import { openStore } from "../../src/store/open-store.ts";
import { openRedisStore } from "../../src/store/redis/open-redis-store.ts";
import { createSystemClock } from "../../src/system-clock.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { stateOf, toRedis, toSqlite } from "../support/migrate.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { type RedisServer, startRedisServer } from "../support/redis-server.ts";
import { redisPrefix } from "../support/redis.ts";
import { type TempDir, openTempDir } from "../support/temp-dir.ts";

const clock = createSystemClock();
const logger = new RecordingLogger();
const pools = { of: () => "all", budgets: { all: 50 } };
const draft = { version: 1, from: "command", teamId: "T", channelId: "C", threadTs: null } as const;
const Draft = (responseUrl: string) => ({ ...draft, quoted: null, responseUrl });

/** What would happen only after seconds never does: the next look for what BullMQ has not been told, for one. */
const impatient: typeof clock = {
  ...clock,
  wakeAt: (atMs, wake) => (atMs - clock.now() > 3_000 ? () => {} : clock.wakeAt(atMs, wake)),
};

let server: RedisServer;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function openFile(path: string) {
  const migrations = appMigrations({ projects: [], retentionMs: 0, now: 0 });
  const store = await openStore({ url: `sqlite://${path}`, clock, logger, ownerWaitMs: 0, migrations });
  const queue = new SqliteTaskQueue({ db: store.db, commits: store.commits, clock, logger, pools });
  const close = async () => {
    await queue.stop(0);
    await store.close();
  };
  return { store, queue, [Symbol.asyncDispose]: close };
}

async function openRedis(url: string, queueClock = clock) {
  const store = await openRedisStore({ url, clock, logger, keepSetAsideMs: 60_000 });
  const queue = new RedisTaskQueue({ store, clock: queueClock, logger, pools, keepDeadMs: 60_000_000 });
  const close = async () => {
    await queue.stop(0);
    await store.close();
  };
  return { store, queue, [Symbol.asyncDispose]: close };
}

/** A file with so many drafts, and a Redis that is empty. */
async function startPlaces(drafts: number) {
  const resources = new AsyncDisposableStack();
  const dir: TempDir = resources.use(await openTempDir());
  const { url, prefix } = redisPrefix(server.url);
  const places = { path: dir.file("state.sqlite"), url, prefix, clock, dir };
  await using file = await openFile(places.path);
  for (let n = 0; n < drafts; n += 1)
    await file.store.records.draft.set(`draft ${n}`, Draft(`${n}`), 3_600_000);
  return { ...places, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

function silent(): Progress {
  return new Progress({ clock, write: () => {}, isTerminal: false });
}

it("tasks run on Redis as they would have on SQLite, all of them at once, and what is done stays done there and back", async () => {
  await using places = await startPlaces(1);
  const count = 2_000;
  {
    await using file = await openFile(places.path);
    await file.queue.add({ id: "done", type: "test", payload: null });
    await file.queue.add({ id: "dead", type: "test", payload: "secret of the dead" });
    await file.queue.add({ id: "failed", type: "test", payload: { n: 1 } });
    file.queue.start(async ({ id }) => {
      if (id === "dead") return { kind: "dead", reason: "no use" };
      if (id === "failed")
        return { kind: "retry", dueAt: clock.now() + 1, reason: "busy", payload: { n: 2 } };
      return { kind: "done" };
    });
    await vi.waitFor(async () => {
      expect((await file.queue.counts()).dead).toBe(1);
      expect(stateOf(places.path).done.map(({ id }) => id)).toContain("done");
      expect(stateOf(places.path).tasks.find(({ id }) => id === "failed")).toMatchObject({ reason: "busy" });
    });
    await file.queue.stop(1_000);
  }
  {
    await using file = await openFile(places.path);
    for (let n = 0; n < count; n += 1) {
      void file.queue.add({ id: `task ${n}`, type: "test", share: `service ${n % 2}`, payload: { n } });
    }
    await file.queue.add({ id: "later", type: "test", payload: "later", dueAt: clock.now() + 3_600_000 });
  }

  expect(await toRedis(places)).toMatchObject({ record: 1, live: count + 2, dead: 1 });
  const ran = new Map<string, Task>();
  {
    await using redis = await openRedis(places.url, impatient);
    expect(await redis.queue.add({ id: "done", type: "test", payload: null })).toBe(false);
    expect(await redis.store.records.draft.get("draft 0")).toEqual(Draft("0"));
    redis.queue.start(async (task) => {
      ran.set(task.id, task);
      return { kind: "done" };
    });
    await vi.waitFor(() => expect(ran.size).toBe(count + 1), { timeout: 40_000, interval: 50 });
    await vi.waitFor(async () =>
      expect(await redis.queue.counts()).toEqual({ waiting: 1, running: 0, dead: 1 }),
    );
    await redis.queue.stop(1_000);
  }
  expect(ran.get("task 7")).toMatchObject({ payload: { n: 7 }, attempt: 1, deaths: 0 });
  expect(ran.get("failed")).toMatchObject({ payload: { n: 2 } });
  expect(ran.get("failed")?.attempt).toBeGreaterThan(1);

  const back = places.dir.file("back.sqlite");
  expect(await toSqlite({ ...places, path: back })).toEqual({ record: 1, live: 1, dead: 1, done: count + 2 });
  await using file = await openFile(back);
  for (const id of ["done", "failed", "task 7", "dead"]) {
    expect(await file.queue.add({ id, type: "test", payload: null })).toBe(false);
  }
  expect(file.queue.deadTasks(1)).toMatchObject([{ id: "dead", reason: "no use" }]);
}, 60_000);

it("a run that no process has ended counts as a death, and a damaged record is set aside as what it was", async () => {
  await using places = await startPlaces(0);
  {
    await using redis = await openRedis(places.url);
    await redis.queue.add({ id: "deadly", type: "test", payload: null });
    const begun = Promise.withResolvers<void>();
    redis.queue.start(async () => {
      begun.resolve();
      return await new Promise(() => {});
    });
    await begun.promise;
    redis.store.redis.client.destroy();
  }
  const back = places.dir.file("back.sqlite");
  await toSqlite({ ...places, path: back });
  expect(stateOf(back).tasks).toMatchObject([{ id: "deadly", deaths: 1 }]);
  {
    await using file = await openFile(back);
    file.store.db.prepare("INSERT INTO kv VALUES ('draft:bad', 'half a rec', ?)").run(clock.now() + 60_000);
  }
  const second = redisPrefix(server.url);
  await toRedis({ path: back, url: second.url, clock });
  await using redis = await openRedis(second.url);
  expect(await redis.store.records.draft.get("bad")).toBeUndefined();
  expect(await redis.store.redis.client.get(`${second.prefix}:set-aside:draft:bad`)).toContain(
    '"raw":"half a rec"',
  );
});

describe("refused, with what to do:", () => {
  it("a file that an app uses", async () => {
    await using places = await startPlaces(0);
    await using _ = await openFile(places.path);
    await expect(toRedis(places)).rejects.toThrow(
      /in use by another process. Stop the app, and run this again/,
    );
    await expect(toSqlite(places)).rejects.toThrow(
      /in use by another process. Stop the app, and run this again/,
    );
  });

  it("a Redis that an app uses, on either side", async () => {
    await using places = await startPlaces(0);
    await using _ = await openRedis(places.url);
    await expect(toRedis(places)).rejects.toThrow(/An app is using .* Stop all replicas, and run this again/);
    await expect(toSqlite(places)).rejects.toThrow(
      /An app is using .* Stop all replicas, and run this again/,
    );
  });

  it("a file that isn't there; and none is made", async () => {
    await using places = await startPlaces(0);
    const path = places.dir.file("nowhere/state.sqlite");
    await expect(toRedis({ ...places, path })).rejects.toThrow("there is nothing in it");
    expect(existsSync(places.dir.file("nowhere"))).toBe(false);
  });

  it("a file of an earlier version", async () => {
    await using places = await startPlaces(0);
    const path = places.dir.file("old.sqlite");
    await using old = await openStore({ url: `sqlite://${path}`, clock, logger });
    await old.close();
    await expect(toRedis({ ...places, path })).rejects.toThrow("Start the app of this version on it once");
    await expect(toSqlite({ ...places, path })).rejects.toThrow("holds state of another version");
  });

  it("a target that isn't empty, unless all of it has been moved there already", async () => {
    await using places = await startPlaces(2);
    const moved = await toRedis(places);
    expect(await toRedis(places)).toEqual(moved);
    expect(await toSqlite(places)).toEqual(moved);
    await using other = await startPlaces(1);
    await expect(toRedis({ ...places, path: other.path })).rejects.toThrow(
      /isn't empty. Choose another prefix/,
    );
    await expect(toSqlite({ ...places, path: other.path })).rejects.toThrow(
      /isn't empty. Choose a file that doesn't exist yet/,
    );
  });

  it("a Redis whose clock is another", async () => {
    await using places = await startPlaces(0);
    const serverNow = () => clock.now() - 60_000;
    await using source = await openSqliteSource(places.path, clock);
    await using target = await openRedisTarget({ ...places, logger, serverNow });
    await expect(migrate({ source, target, clock, progress: silent() })).rejects.toThrow("60 s behind");
  });

  it("a Redis that may forget what it holds", async () => {
    await using evicting = await startRedisServer({ "maxmemory-policy": "allkeys-lru" });
    const opened = openRedisTarget({ url: evicting.url, clock, logger });
    await expect(opened).rejects.toThrow("Set maxmemory-policy to noeviction");
  });
});

/** A target that fails in some way while it is written to. */
function failing(target: Target, put: Target["put"]): Target {
  return {
    name: target.name,
    migration: () => target.migration(),
    count: () => target.count(),
    pages: () => target.pages(),
    find: (keys) => target.find(keys),
    assertUnused: () => target.assertUnused(),
    note: (migration) => target.note(migration),
    put,
    remove: (keys) => target.remove(keys),
    [Symbol.asyncDispose]: () => target[Symbol.asyncDispose](),
  };
}

describe.each(["redis", "sqlite"] as const)("a migration to %s that was stopped halfway", (to) => {
  async function startHalfway() {
    const places = await startPlaces(600);
    const back = to === "sqlite" ? places.dir.file("back.sqlite") : places.path;
    if (to === "sqlite") await toRedis(places);
    let puts = 0;
    async function stopHalfway() {
      await using source =
        to === "redis"
          ? await openSqliteSource(places.path, clock)
          : await openRedisSource({ ...places, logger });
      await using target =
        to === "redis" ? await openRedisTarget({ ...places, logger }) : await openSqliteTarget(back, clock);
      const stopping = failing(target, (entries) => {
        puts += 1;
        return puts === 2 ? Promise.reject(new Error("stopped")) : target.put(entries);
      });
      await migrate({ source, target: stopping, clock, progress: silent() });
    }
    await expect(stopHalfway()).rejects.toThrow("stopped");
    return { ...places, path: back };
  }
  const again = (places: Parameters<typeof toRedis>[0]) =>
    to === "redis" ? toRedis(places) : toSqlite(places);
  const startApp = (places: { path: string; url: string }) =>
    to === "redis" ? openRedis(places.url) : openFile(places.path);

  it("lets no app start on the target, goes on, and then does", async () => {
    await using places = await startHalfway();
    await expect(startApp(places)).rejects.toThrow(
      /holds an unfinished migration from .* Run that migration again/,
    );
    expect(await again(places)).toEqual({ record: 600, live: 0, dead: 0, done: 0 });
    await using app = await startApp(places);
    expect(await app.store.records.draft.get("draft 599")).toEqual(Draft("599"));
  });

  it("brings over what has changed in the source since", async () => {
    await using places = await startHalfway();
    {
      await using app = to === "redis" ? await openFile(places.path) : await openRedis(places.url);
      for (let n = 0; n < 600; n += 1) await app.store.records.draft.delete(`draft ${n}`);
      await app.store.records.draft.set("draft 0", Draft("new"));
      await app.queue.add({ id: "new", type: "test", payload: null });
    }
    expect(await again(places)).toEqual({ record: 1, live: 1, dead: 0, done: 0 });
    await using app = await startApp(places);
    expect(await app.store.records.draft.get("draft 0")).toEqual(Draft("new"));
    expect(await app.store.records.draft.get("draft 1")).toBeUndefined();
    expect(await app.queue.add({ id: "new", type: "test", payload: null })).toBe(false);
  });

  it("is not taken over by a migration from elsewhere", async () => {
    await using places = await startHalfway();
    await using other = await startPlaces(1);
    const mixed = to === "redis" ? { ...places, path: other.path } : { ...places, url: other.url };
    await expect(again(mixed)).rejects.toThrow(/is part of a migration from .* Finish that one first/);
  });
});

it("a target that loses something is noticed, and no app starts on it", async () => {
  await using places = await startPlaces(300);
  {
    await using source = await openSqliteSource(places.path, clock);
    await using target = await openRedisTarget({ ...places, logger });
    const losing = failing(target, (entries) =>
      target.put(entries.filter(({ id }) => id !== "draft:draft 77")),
    );
    await expect(migrate({ source, target: losing, clock, progress: silent() })).rejects.toThrow(
      /record draft:draft 77 in sqlite:.* isn't in redis:/,
    );
  }
  await expect(openRedis(places.url)).rejects.toThrow("unfinished migration");
});

it("no app starts on a Redis while it is being read, and one does right after", async () => {
  await using places = await startPlaces(1);
  await toRedis(places);
  {
    await using source = await openRedisSource({ ...places, logger });
    await source.hold("to sqlite://elsewhere");
    await expect(openRedis(places.url)).rejects.toThrow(
      /is being migrated to sqlite:.*elsewhere. Wait for the end of it/,
    );
  }
  await using _ = await openRedis(places.url);
});

it("the source keeps every key as it was", async () => {
  await using places = await startPlaces(3);
  await toRedis(places);
  const client = await createClient({ url: server.url }).connect();
  async function dump(): Promise<string[]> {
    const keys = await client.keys(`${places.prefix}*`);
    return await Promise.all(keys.toSorted().map(async (key) => `${key} ${String(await client.dump(key))}`));
  }
  const before = await dump();
  await toSqlite({ ...places, path: places.dir.file("back.sqlite") });
  expect(await dump()).toEqual(before);
  await client.close();
});

it("says how far it has come: one line that changes on a terminal, a line every five seconds in a log", () => {
  for (const [isTerminal, expected] of [
    [true, "\rCopied 500 of about 1,200\u001B[K\rCopied 1,250 of about 1,250\u001B[K\n"],
    [false, "Copied 500 of about 1,200\n"],
  ] as const) {
    const manual = new ManualClock();
    let out = "";
    const progress = new Progress({ clock: manual, write: (text) => (out += text), isTerminal });
    const step = progress.begin("Copied", 1200);
    step(250);
    manual.advance(1_000);
    step(250);
    manual.advance(200);
    step(750);
    progress.end();
    expect(out).toBe(expected);
  }
});
