// @module-tag redis-server
import { afterAll, beforeAll, expect, it } from "vitest";
import { openRedisStore } from "../../../src/shared/store/redis/open-redis-store.ts";
import { Note, type RecordStoreSubject, describeRecordStore } from "../../contracts/record-store.ts";
import { type RateLimiterSubject, describeRateLimiter } from "../../contracts/rate-limiter.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { type RedisServer, startRedisServer } from "../../support/redis-server.ts";
import { redisPrefix } from "../../support/redis.ts";
import { type AppRecords, recordSchemas } from "../../../src/app/rules/records.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function openRecords(): Promise<RecordStoreSubject> {
  const redis = redisPrefix(server.url);
  const clock = new ManualClock();
  const logger = new RecordingLogger();
  const open = () =>
    openRedisStore<AppRecords>({
      schemas: recordSchemas,
      url: redis.url,
      clock,
      logger,
      keepSetAsideMs: 60_000,
    });
  let store = await open();
  let notes = store.recordsNamed("notes", Note);
  let drafts = store.recordsNamed("drafts", Note);
  return {
    get notes() {
      return notes;
    },
    get drafts() {
      return drafts;
    },
    advance: (ms) => clock.advance(ms),
    now: () => clock.now(),
    damage: async (id, text) => {
      await store.redis.client.set(`${redis.prefix}:notes:${id}`, text);
    },
    setAside: async (key) => {
      const text = await store.redis.client.get(`${redis.prefix}:set-aside:${key}`);
      // Its end comes first.
      return JSON.parse(String(text).replace(/^\d+\|/, "")).value;
    },
    setAsideCount: () => store.setAsideCount(),
    errors: () => logger.text("error"),
    reopen: async () => {
      await store.close();
      store = await open();
      notes = store.recordsNamed("notes", Note);
      drafts = store.recordsNamed("drafts", Note);
    },
    [Symbol.asyncDispose]: async () => {
      await store.close();
    },
  };
}

describeRecordStore("Redis", openRecords);

async function openRateLimiter(): Promise<RateLimiterSubject> {
  const redis = redisPrefix(server.url);
  const clock = new ManualClock();
  const startMs = clock.now() - clock.monotonicMs();
  const open = () =>
    openRedisStore({
      schemas: recordSchemas,
      url: redis.url,
      clock,
      logger: new RecordingLogger(),
      keepSetAsideMs: 60_000,
      // Nobody sets the clock of the machine that Redis is on.
      serverNow: () => startMs + clock.monotonicMs(),
    });
  let store = await open();
  return {
    get rateLimiter() {
      return store.rateLimiter;
    },
    now: () => clock.now(),
    advance: (ms) => clock.advance(ms),
    setBack: (byMs) => clock.setTo(clock.now() - byMs),
    reopen: async () => {
      await store.close();
      store = await open();
    },
    [Symbol.asyncDispose]: async () => {
      await store.close();
    },
  };
}

describeRateLimiter("Redis", openRateLimiter);

it("Redis: a time that one replica reserved is kept by another whose clock is minutes away", async () => {
  const redis = redisPrefix(server.url);
  const redisClock = new ManualClock();
  const openReplica = (aheadMs: number) => {
    const clock = new ManualClock();
    clock.setTo(clock.now() + aheadMs);
    const logger = new RecordingLogger();
    const serverNow = () => redisClock.now();
    return openRedisStore({
      schemas: recordSchemas,
      url: redis.url,
      clock,
      logger,
      keepSetAsideMs: 60_000,
      serverNow,
    });
  };
  const stores = [await openReplica(-4 * 60_000), await openReplica(4 * 60_000)] as const;
  const [behind, ahead] = stores;
  const rate = { gapMs: 1_000 };
  await behind.rateLimiter.reserve("a", rate);
  for (const [reserving, keeping] of [[behind, ahead] as const, [ahead, behind] as const]) {
    const { reservedMs } = await reserving.rateLimiter.reserve("a", rate);
    const kept = await keeping.rateLimiter.reserve("a", rate, reservedMs);
    expect(kept.reservedMs).toBe(reservedMs);
    expect(kept.at).toBe((keeping === ahead ? 4 : -4) * 60_000 + reservedMs);
  }
  for (const store of stores) await store.close();
});

it("Redis: sends nothing to a server that has fallen silent, and goes on once it speaks", async () => {
  await using silent = await startRedisServer();
  const store = await openRedisStore({
    schemas: recordSchemas,
    url: silent.url,
    clock: new ManualClock(),
    logger: new RecordingLogger(),
    keepSetAsideMs: 60_000,
  });
  const ping = () => store.redis.ask((client) => client.ping());
  expect(await ping()).toBe("PONG");
  process.kill(silent.pid, "SIGSTOP");
  await expect(ping()).rejects.toMatchObject({ code: "store_answer_lost" });
  let isSent = false;
  const asked = store.redis.ask(async () => {
    isSent = true;
  });
  await expect(asked).rejects.toMatchObject({ code: "store_unavailable" });
  expect(isSent).toBe(false);
  process.kill(silent.pid, "SIGCONT");
  await expect.poll(() => ping().catch(() => null)).toBe("PONG");
  await store.close();
});

it("Redis: has no more listeners on its connection than Node.js allows without a warning", async () => {
  await using server = await startRedisServer();
  const clock = new ManualClock();
  const logger = new RecordingLogger();
  await using store = await openRedisStore({
    schemas: recordSchemas,
    url: server.url,
    clock,
    logger,
    keepSetAsideMs: 60_000,
  });
  const { client } = store.redis;
  const counts = client.eventNames().map((name) => client.listenerCount(name));
  expect(Math.max(...counts)).toBeLessThanOrEqual(10);
});
