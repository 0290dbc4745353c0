import { afterAll, beforeAll } from "vitest";
import { openRedisStore } from "../../src/store/redis/open-redis-store.ts";
import { Note, type RecordStoreSubject, describeRecordStore } from "../contracts/record-store.ts";
import { type SlotsSubject, describeSlots } from "../contracts/slots.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { type RedisServer, startRedisServer } from "../support/redis-server.ts";
import { redisPrefix } from "../support/redis.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function openRecords(): Promise<RecordStoreSubject> {
  const redis = redisPrefix(server.url);
  const clock = new ManualClock();
  const logger = new RecordingLogger();
  const open = () => openRedisStore({ url: redis.url, clock, logger, keepSetAsideMs: 60_000 });
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
      return JSON.parse(String(text)).value;
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

async function openSlots(): Promise<SlotsSubject> {
  const redis = redisPrefix(server.url);
  const clock = new ManualClock();
  const startMs = clock.now() - clock.monotonicMs();
  const open = () =>
    openRedisStore({
      url: redis.url,
      clock,
      logger: new RecordingLogger(),
      keepSetAsideMs: 60_000,
      // Nobody sets the clock of the machine that Redis is on.
      serverNow: () => startMs + clock.monotonicMs(),
    });
  let store = await open();
  return {
    get slots() {
      return store.slots;
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

describeSlots("Redis", openSlots);
