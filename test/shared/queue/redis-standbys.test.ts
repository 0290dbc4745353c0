// @module-tag redis-server
import { expect, it } from "vitest";
import { codeOf } from "../../../src/shared/errors.ts";
import { createSystemClock } from "../../../src/shared/machine/clock-and-log.ts";
import type { Clock } from "../../../src/shared/machine/ports.ts";
import { RedisTaskQueue } from "../../../src/shared/queue/redis/redis-task-queue.ts";
import { openRedisStore } from "../../../src/shared/store/redis/open-redis-store.ts";
import { type AppRecords, recordSchemas } from "../../../src/app/rules/records.ts";
import { LaterClock } from "../../../world/clock/later-clock.ts";
import { startNewerRedis } from "../../support/newer-redis.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { openRedisClient } from "../../support/redis.ts";
import { startRedisServer } from "../../support/redis-server.ts";
import { PRIMARY, portOf, startLine, startStandby, untilFollowing } from "../../support/redis-standbys.ts";
import { ScriptedHandler } from "../../support/scripted-handler.ts";

const UNCONFIRMED = { code: "store_unconfirmed" };

async function openQueue(url: string, clock: Clock = createSystemClock()) {
  const logger = new RecordingLogger();
  const at = { schemas: recordSchemas, url, clock, logger, keepSetAsideMs: 60_000 };
  const store = await openRedisStore<AppRecords>(at);
  const pools = { of: () => "rest", budgets: { rest: 50 } };
  const queue = new RedisTaskQueue({ store, clock, logger, pools, keepDeadMs: 60_000 });
  return {
    store,
    queue,
    logger,
    add: (id: string) => queue.add({ id, type: "any", payload: null }),
    async [Symbol.asyncDispose]() {
      await queue.stop(0);
      await store.close();
    },
  };
}

it("what is accepted is on a standby; while none confirms, that is said, and tasks go on", async () => {
  await using primary = await startRedisServer(PRIMARY);
  await using standby = await startStandby(portOf(primary));
  const clock = new LaterClock();
  await using app = await openQueue(`${primary.url}?standbys=1`, clock);
  const { queue, store, add, logger } = app;
  const handler = new ScriptedHandler();
  queue.start(handler.handle);
  await expect(add("before")).resolves.toBe(true);
  const there = await openRedisClient(standby.url);
  const keys = ["task", "done"].map((name) => `{docs-agent}:${name}:before`);
  expect(await there.exists(keys)).toBe(1);

  process.kill(standby.pid, "SIGSTOP");
  await expect(add("alone")).rejects.toMatchObject(UNCONFIRMED);
  await handler.started("alone");
  await expect.poll(() => queue.size, { timeout: 10_000 }).toBe(0);
  await expect(queue.check()).resolves.toBeUndefined();
  expect(store.isUnsafe()).toBe(false);
  expect(logger.text("error")).toContain("store: what is written is on too few machines");

  clock.laterMs += 10_000;
  expect(store.isUnsafe()).toBe(true);
  await expect(queue.check()).rejects.toThrow(/on too few machines for 1\d s .* lower standbys in STORE_URL/);

  process.kill(standby.pid, "SIGCONT");
  await expect.poll(() => store.isUnsafe(), { timeout: 10_000 }).toBe(false);
  await expect(add("after")).resolves.toBe(true);
  await expect(queue.check()).resolves.toBeUndefined();
  there.destroy();
});

it(
  "a standby that was promoted without a write never confirms it, also behind the same address",
  { tags: "all" },
  async () => {
    await using primary = await startRedisServer(PRIMARY);
    await using wire = await startLine(portOf(primary));
    await using standby = await startStandby(wire.port);
    await using second = await startStandby(portOf(standby));
    await using address = await startLine(portOf(primary));
    await using app = await openQueue(`${address.url}?standbys=1`);
    await app.add("before");

    wire.cut();
    const alone = app.add("alone").then(() => "confirmed", codeOf);
    // It is on the primary, and its confirmation comes from the promoted standby.
    const old = await openRedisClient(primary.url);
    await expect.poll(() => old.exists("{docs-agent}:task:alone"), { interval: 1 }).toBe(1);
    const promoted = await openRedisClient(standby.url);
    await promoted.sendCommand(["REPLICAOF", "NO", "ONE"]);
    await untilFollowing(second);
    address.leadTo(portOf(standby));
    expect(await alone).toMatch(/^store_(?:unconfirmed|answer_lost)$/);
    const isTaken = () =>
      app.add("after").then(
        () => true,
        () => false,
      );
    await expect.poll(isTaken, { timeout: 20_000 }).toBe(true);
    expect(await promoted.exists("{docs-agent}:task:alone")).toBe(0);
    old.destroy();
    promoted.destroy();
  },
);

it("a call that a server doesn't have isn't confirmed by it", { tags: "all" }, async () => {
  await using primary = await startRedisServer(PRIMARY);
  await using _ = await startStandby(portOf(primary));
  await using app = await openQueue(`${primary.url}?standbys=1`);
  await app.add("first");
  await app.add("second");
  const { confirmations } = app.store;
  await expect(confirmations?.confirm(1)).resolves.toBeUndefined();
  await expect(confirmations?.confirm(3)).rejects.toMatchObject({ code: "store_answer_lost" });
  // As on a server that was promoted without the second call.
  const admin = await openRedisClient(primary.url);
  await admin.set(`{docs-agent}:mark:${confirmations?.process}`, "1:1");
  await app.add("third");
  await expect(confirmations?.confirm(2)).rejects.toMatchObject({ code: "store_answer_lost" });
  await expect(confirmations?.confirm(3)).resolves.toBeUndefined();
  admin.destroy();
});

it("asks a server from 7.2 on for the disks of its standbys", { tags: "all" }, async () => {
  await using primary = await startRedisServer(PRIMARY);
  await using standby = await startStandby(portOf(primary));
  await using newer = await startNewerRedis(portOf(primary));
  await using app = await openQueue(`${newer.url}?standbys=1`);
  await expect(app.add("a")).resolves.toBe(true);
  expect(newer.asked).toContain("WAITAOF 0 1 1000");
  process.kill(standby.pid, "SIGSTOP");
  await expect(app.add("b")).rejects.toMatchObject(UNCONFIRMED);
  process.kill(standby.pid, "SIGCONT");
});
