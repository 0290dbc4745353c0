// @module-tag all
// @module-tag redis-server
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { RedisClientType } from "@redis/client";
import { openRedisSide } from "../../../src/app/dump/redis-side.ts";
import { openRedisStore } from "../../../src/shared/store/redis/open-redis-store.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { openRedisClient, redisPrefix } from "../../support/redis.ts";
import { type RedisServer, startRedisServer } from "../../support/redis-server.ts";
import { dumpOf } from "../../support/state.ts";
import { type AppRecords, recordSchemas } from "../../../src/app/rules/records.ts";

const logger = new RecordingLogger();
const MINUTE_MS = 60_000;
const PLACE = { teamId: "T", channelId: "C", threadTs: null };
const DRAFT = { version: 1, from: "command", ...PLACE, quoted: null, responseUrl: null } as const;

let server: RedisServer;
let admin: RedisClientType;
beforeAll(async () => {
  server = await startRedisServer();
  admin = await openRedisClient(server.url);
});
afterAll(async () => {
  admin.destroy();
  await server[Symbol.asyncDispose]();
});

function open(url: string, clock = new ManualClock(), onBroken?: (error: Error) => void) {
  return openRedisStore<AppRecords>({
    schemas: recordSchemas,
    url,
    clock,
    logger,
    keepSetAsideMs: MINUTE_MS,
    onBroken,
  });
}

/** What the keys of a store, and their types and texts are. */
async function contents(prefix: string): Promise<[string, string][]> {
  const keys = await admin.keys(`${prefix.replaceAll(/[{}]/g, "?")}:*`);
  return Promise.all(keys.toSorted().map(async (key) => [key, await admin.type(key)] as [string, string]));
}

describe("another program's keys where ours would be", () => {
  const foreign: [string, (prefix: string) => Promise<unknown>][] = [
    ["a name that we don't use", (prefix) => admin.set(`${prefix}:session:7`, "x")],
    ["an earlier build's", (prefix) => admin.hSet(`${prefix}:bull:meta`, "version", "5")],
    ["a list where tasks are", (prefix) => admin.rPush(`${prefix}:task:1`, "x")],
    ["a hash where turns are", (prefix) => admin.hSet(`${prefix}:turn:1`, "a", "b")],
    ["a text where the pools are", (prefix) => admin.set(`${prefix}:pools`, "x")],
    ["a hash where the schema is", (prefix) => admin.hSet(`${prefix}:schema`, "a", "b")],
    ["another schema's name", (prefix) => admin.set(`${prefix}:schema`, "v2-beta")],
  ];
  it.each(foreign)(
    "%s: no app starts, nothing is loaded or dumped, and nothing is written",
    async (_, put) => {
      const { url, prefix } = redisPrefix(server.url);
      await put(prefix);
      const before = await contents(prefix);
      const refused = /another program's or an earlier build's. Set STORE_URL to another prefix/;
      await expect(open(url)).rejects.toThrow(refused);
      const clock = new ManualClock();
      for (const isTarget of [true, false]) {
        await expect(openRedisSide({ url, clock, logger }, isTarget)).rejects.toThrow(refused);
      }
      expect(await contents(prefix)).toEqual(before);
    },
  );

  it("is refused in a store of ours, too", async () => {
    const { url, prefix } = redisPrefix(server.url);
    await (await open(url)).close();
    await admin.set(`${prefix}:pools`, "x");
    await expect(open(url)).rejects.toThrow(`${prefix}:pools is another program's`);
  });

  it("under another prefix concerns nobody", async () => {
    const { url, prefix } = redisPrefix(server.url);
    await admin.set(`${prefix}-2:session:7`, "x");
    await using store = await open(url);
    expect(await store.check()).toBeNull();
  });
});

it("a store that a version without schemas has written is taken over, and keeps what is there", async () => {
  const { url, prefix } = redisPrefix(server.url);
  {
    await using store = await open(url);
    await store.recordsOf("draft").set("d", DRAFT);
    await store.rateLimiter.reserve("gate", { gapMs: 1000 });
    await store.check();
  }
  await admin.del(`${prefix}:schema`);
  await using store = await open(url);
  expect(await store.records.get("draft", "d")).toEqual(DRAFT);
  expect(await admin.get(`${prefix}:schema`)).toBe("1");
});

describe("a newer version's store", () => {
  it("is refused at the start, by a load and by a dump, with what to do", async () => {
    const { url, prefix } = redisPrefix(server.url);
    await admin.set(`${prefix}:schema`, "2");
    const refused = /schema version 2, and this version .* reads up to 1. A newer version wrote it. Run that/;
    await expect(open(url)).rejects.toThrow(refused);
    const clock = new ManualClock();
    await expect(openRedisSide({ url, clock, logger }, true)).rejects.toThrow(refused);
    await expect(dumpOf({ store: url, clock })).rejects.toThrow(refused);
    expect(await contents(prefix)).toEqual([[`${prefix}:schema`, "string"]]);
  });

  it.each(["within a minute", "at its next connection"])(
    "ends a replica that runs when it is written, %s",
    async (when) => {
      const { url, prefix } = redisPrefix(server.url);
      const clock = new ManualClock();
      const broken: Error[] = [];
      await using store = await open(url, clock, (error) => broken.push(error));
      await admin.set(`${prefix}:schema`, "2");
      if (when === "within a minute") clock.advance(MINUTE_MS);
      else {
        const own = (await admin.clientList()).filter(({ name }) => name === prefix);
        for (const { id } of own) await admin.sendCommand(["CLIENT", "KILL", "ID", String(id)]);
      }
      await vi.waitFor(() => expect(broken[0]?.message).toContain("schema version 2"), { timeout: 10_000 });
      expect(await store.records.get("draft", "d").catch(() => undefined)).toBeUndefined();
    },
  );
});

it("a replica that runs on while a dump is being loaded ends", async () => {
  const { url, prefix } = redisPrefix(server.url);
  const clock = new ManualClock();
  const broken: Error[] = [];
  await using _ = await open(url, clock, (error) => broken.push(error));
  await admin.set(`${prefix}:half-loaded`, "1");
  clock.advance(MINUTE_MS);
  await vi.waitFor(() => expect(broken[0]?.message).toContain("load the dump again"), { timeout: 10_000 });
});

it("several replicas of one version start at the same time", async () => {
  const { url, prefix } = redisPrefix(server.url);
  await using stores = new AsyncDisposableStack();
  for (const store of await Promise.all([open(url), open(url), open(url)])) stores.use(store);
  expect(await admin.get(`${prefix}:schema`)).toBe("1");
});
