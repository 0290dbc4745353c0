// @module-tag all

import { expect, it } from "vitest";
import { RedisTaskQueue } from "../../../src/shared/queue/redis/redis-task-queue.ts";
import { openRedisStore } from "../../../src/shared/store/redis/open-redis-store.ts";
import { createSystemClock } from "../../../src/shared/machine/clock-and-log.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { startRedisServer } from "../../support/redis-server.ts";
import { recordSchemas } from "../../../src/app/rules/records.ts";

it("rejects a decision on a record that is not text, instead of making it again without end", async () => {
  await using server = await startRedisServer();
  const clock = createSystemClock();
  const logger = new RecordingLogger();
  await using store = await openRedisStore({
    schemas: recordSchemas,
    url: server.url,
    clock,
    logger,
    keepSetAsideMs: 60_000,
  });
  const pools = { of: () => "rest", budgets: { rest: 2 } };
  const queue = new RedisTaskQueue({ store, clock, logger, pools, keepDeadMs: 60_000 });
  await store.redis.client.set(`${store.redis.prefix}:turn:one`, Buffer.from([0x22, 0xff, 0x22]));
  let times = 0;
  const deciding = queue.commit((read) => {
    times += 1;
    read("turn", "one");
    return { adds: [{ id: "a", type: "any", payload: null }], value: null };
  });
  await expect(deciding).rejects.toThrow("A record that is decided on was never what it was read as");
  expect(times).toBeLessThan(2_000);
  expect(await queue.counts()).toMatchObject({ waiting: 0 });
  await queue.stop(0);
});
