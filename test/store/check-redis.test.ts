import { describe, expect, it, vi } from "vitest";
import { openRedisStore } from "../../src/store/redis/open-redis-store.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { openRedisClient } from "../support/redis.ts";
import { startRedisServer } from "../support/redis-server.ts";

const REMEDY = "Check that Redis runs and that STORE_URL is right.";

function open(url: string) {
  return openRedisStore({
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

describe("does not open a Redis that", () => {
  it.each(["allkeys-lru", "volatile-ttl"])("evicts keys (%s)", async (policy) => {
    await using server = await startRedisServer({ "maxmemory-policy": policy });
    await expect(open(server.url)).rejects.toThrow("Set maxmemory-policy to noeviction.");
  });

  it("wants another password, and does not show the one it was given", async () => {
    await using server = await startRedisServer({ requirepass: "right" });
    const opened = open(server.url.replace("//", "//:wr0ng@"));
    await expect(opened).rejects.toThrow(REMEDY);
    await expect(opened).rejects.not.toThrow("wr0ng");
  });

  it("isn't there", async () => {
    await expect(open("redis://127.0.0.1:1")).rejects.toThrow(REMEDY);
  });
});

it("says that Redis refuses the password after it was changed, and goes on once it is taken again", async () => {
  await using server = await startRedisServer({ requirepass: "first" });
  const logger = new RecordingLogger();
  const url = server.url.replace("//", "//:first@");
  await using store = await openRedisStore({ url, clock: new ManualClock(), logger, keepSetAsideMs: 1000 });
  const admin = await openRedisClient(url);
  await admin.configSet("requirepass", "second");
  await admin.sendCommand(["CLIENT", "KILL", "SKIPME", "yes"]);
  await vi.waitFor(() => expect(store.check()).rejects.toThrow("WRONGPASS"), { timeout: 10_000 });
  expect(logger.text("error")).toContain("WRONGPASS");
  await admin.configSet("requirepass", "first");
  await vi.waitFor(() => store.check(), { timeout: 10_000 });
  admin.destroy();
}, 30_000);
