// @module-tag all

import { describe, expect, it, vi } from "vitest";
import { openRedisStore } from "../../../src/shared/store/redis/open-redis-store.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { evictSomething, openRedisClient } from "../../support/redis.ts";
import { startRedisServer } from "../../support/redis-server.ts";
import { PRIMARY, portOf, startStandby } from "../../support/redis-standbys.ts";
import { type AppRecords, recordSchemas } from "../../../src/app/rules/records.ts";

const REMEDY = "Check that Redis runs and that STORE_URL is right.";

function open(url: string) {
  return openRedisStore({
    schemas: recordSchemas,
    url,
    clock: new ManualClock(),
    logger: new RecordingLogger(),
    keepSetAsideMs: 1000,
  });
}

describe("what a crash of Redis may cost", () => {
  it.each([
    ["nothing", { appendonly: "yes", appendfsync: "always" }, null],
    ["the last second", { appendonly: "yes", appendfsync: "everysec" }, "may lose the last second"],
    ["half a minute", { appendonly: "yes", appendfsync: "no" }, "may lose the last half minute"],
    ["all since its last snapshot", {}, "may lose everything since its last snapshot"],
    ["nobody knows", { "rename-command": 'CONFIG ""' }, "couldn't be checked"],
  ])("is said: %s", async (_, settings, risk) => {
    await using server = await startRedisServer(settings);
    await using store = await open(server.url);
    if (risk === null) expect(store.risk).toBeNull();
    else expect(store.risk).toContain(risk);
  });
});

describe("what a failover may cost", () => {
  it("is said if nothing waits for a standby, or if one is missing, also when that changes", async () => {
    const durable = { ...PRIMARY, appendonly: "yes", appendfsync: "always" };
    await using server = await startRedisServer(durable);
    await using missing = await open(`${server.url}?standbys=1`);
    expect(missing.risk).toContain("only 0 of the 1 standbys that STORE_URL asks for follow Redis");
    await using _ = await startStandby(portOf(server));
    await using alone = await open(server.url);
    expect(alone.risk).toContain("Set ?standbys=1 in STORE_URL.");
    await missing.check();
    expect(missing.risk).toBeNull();
  });
});

describe("does not open a Redis that", () => {
  it.each(["allkeys-lru", "volatile-ttl"])("evicts keys (%s)", async (policy) => {
    await using server = await startRedisServer({ "maxmemory-policy": policy });
    await expect(open(server.url)).rejects.toThrow("Set maxmemory-policy to noeviction.");
  });

  it("wants another password, and does not show the one it was given", async () => {
    await using server = await startRedisServer({ requirepass: "right" });
    const opened = open(server.url.replace("//", "//:wr0ng@"));
    await expect(opened).rejects.toThrow("Correct user and password in STORE_URL");
    await expect(opened).rejects.not.toThrow("wr0ng");
  });

  it("isn't there", async () => {
    await expect(open("redis://127.0.0.1:1")).rejects.toThrow(REMEDY);
  });
});

describe("a Redis that is told to evict keys while the app runs", () => {
  async function start(settings: Record<string, string> = {}) {
    const resources = new AsyncDisposableStack();
    const server = resources.use(await startRedisServer(settings));
    const clock = new ManualClock();
    const logger = new RecordingLogger();
    const open = () =>
      openRedisStore<AppRecords>({
        schemas: recordSchemas,
        url: server.url,
        clock,
        logger,
        keepSetAsideMs: 1000,
      });
    const admin = await openRedisClient(server.url);
    resources.defer(() => admin.destroy());
    const errors = () => logger.lines.filter(({ level }) => level === "error");
    return { resources, server, clock, logger, open, admin, errors, store: resources.use(await open()) };
  }

  it("isn't well, and says so in one line, not in one each minute", async () => {
    const { resources, clock, logger, admin, errors, store } = await start();
    await using _ = resources;
    await admin.configSet("maxmemory-policy", "volatile-lru");
    clock.advance(60_000);
    await vi.waitFor(() => expect(errors()).toHaveLength(1));
    expect(logger.text("error")).toContain("Set maxmemory-policy to noeviction.");
    clock.advance(300_000);
    await expect(store.check()).rejects.toThrow("Set maxmemory-policy to noeviction.");
    expect(errors()).toHaveLength(1);

    await admin.configSet("maxmemory-policy", "noeviction");
    expect(await store.check()).toBeNull();
    expect(logger.text("info")).toContain("Redis keeps its keys again");
    await admin.configSet("maxmemory-policy", "allkeys-lru");
    await expect(store.check()).rejects.toThrow("allkeys-lru");
    expect(errors()).toHaveLength(2);
  });

  it("is noticed at the next connection", async () => {
    const { resources, admin, errors } = await start();
    await using _ = resources;
    await admin.configSet("maxmemory-policy", "allkeys-lfu");
    await admin.sendCommand(["CLIENT", "KILL", "SKIPME", "yes"]);
    const own = async () => (await admin.clientList()).find(({ name }) => name !== "");
    await vi.waitFor(async () => expect(await own()).toBeDefined(), { timeout: 10_000 });
    await vi.waitFor(() =>
      expect(
        errors()
          .map(({ fields }) => JSON.stringify(fields))
          .join(),
      ).toContain("allkeys-lfu"),
    );
  });

  it("and has removed some: that stays known when it is over, also to the next start, until it is reset", async () => {
    const { resources, clock, logger, open, admin, errors, store } = await start();
    await using _ = resources;
    await evictSomething(admin);
    clock.advance(60_000);
    await vi.waitFor(() => expect(errors()).toHaveLength(1));
    expect(logger.text("error")).toMatch(/Redis has removed \d+ keys .* may be missing/);
    expect(await store.check()).toMatch(/Redis has removed \d+ keys .* CONFIG RESETSTAT/);
    expect(errors()).toHaveLength(1);
    {
      await using again = await open();
      expect(await again.check()).toContain("Redis has removed");
      expect(errors()).toHaveLength(2);
    }
    await admin.sendCommand(["CONFIG", "RESETSTAT"]);
    expect(await store.check()).toBeNull();
  });

  it("is found out without CONFIG, which managed servers forbid", async () => {
    await using server = await startRedisServer({
      "maxmemory-policy": "allkeys-lru",
      "rename-command": 'CONFIG ""',
    });
    await expect(open(server.url)).rejects.toThrow("Set maxmemory-policy to noeviction.");
  });
});

it("says that Redis refuses the password after it was changed, and goes on once it is taken again", async () => {
  await using server = await startRedisServer({ requirepass: "first" });
  const logger = new RecordingLogger();
  const url = server.url.replace("//", "//:first@");
  await using store = await openRedisStore({
    schemas: recordSchemas,
    url,
    clock: new ManualClock(),
    logger,
    keepSetAsideMs: 1000,
  });
  const admin = await openRedisClient(url);
  await admin.configSet("requirepass", "second");
  await admin.sendCommand(["CLIENT", "KILL", "SKIPME", "yes"]);
  await vi.waitFor(() => expect(store.check()).rejects.toThrow("WRONGPASS"), { timeout: 10_000 });
  expect(logger.text("error")).toContain("WRONGPASS");
  await admin.configSet("requirepass", "first");
  await vi.waitFor(() => store.check(), { timeout: 10_000 });
  admin.destroy();
}, 30_000);
