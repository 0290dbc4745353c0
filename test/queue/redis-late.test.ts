import { expect, it } from "vitest";
import { BullPools } from "../../src/queue/redis/bull-pools.ts";
import { RedisTaskQueue } from "../../src/queue/redis/redis-task-queue.ts";
import { openRedisStore } from "../../src/store/redis/open-redis-store.ts";
import { createSystemClock } from "../../src/system-clock.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { ScriptedHandler, never } from "../support/scripted-handler.ts";

const system = createSystemClock();
/** What would happen after seconds happens after a few milliseconds. */
const clock: typeof system = {
  ...system,
  wakeAt: (atMs, wake) => system.wakeAt(Math.min(atMs, system.now() + 50), wake),
};

it("finds a run that BullMQ has lost behind more late tasks than are looked at at once", async () => {
  await using server = await startRedisServer();
  const logger = new RecordingLogger();
  await using store = await openRedisStore({ url: server.url, clock, logger, keepSetAsideMs: 60_000 });
  const pools = { of: (type: string) => type, budgets: { stuck: 1, free: 1 } };
  const queue = new RedisTaskQueue({ store, clock, logger, pools, keepDeadMs: 60_000 });
  const handler = new ScriptedHandler();
  const dueAt = clock.now() - 60_000;
  for (let n = 0; n < 600; n += 1) handler.on(`stuck ${n}`, never);
  await Promise.all(
    Array.from({ length: 600 }, (_, n) =>
      queue.add({ id: `stuck ${n}`, type: "stuck", payload: null, dueAt }),
    ),
  );
  queue.start(handler.handle);
  const lost = { id: "lost", type: "free", payload: null };
  await queue.add({ ...lost, dueAt: clock.now() + 1_000 });
  const { client, prefix } = store.redis;
  const jobKey = `${prefix}:q:${BullPools.queueName("free")}:`;
  const run = await client.hGet(`${prefix}:task:lost`, "run");
  const job = BullPools.jobId({ id: "lost", run: run ?? "" });
  await expect.poll(() => client.hLen(`${prefix}:outbox`)).toBe(0);
  expect(await client.zRem(`${jobKey}delayed`, job)).toBe(1);
  expect(await client.unlink(jobKey + job)).toBe(1);
  await handler.started("lost");
  await queue.stop(0);
  expect(handler.runsOf("lost")).toMatchObject([{ deaths: 0, attempt: 1 }]);
}, 30_000);
