import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@redis/client";
import { RedisTaskQueue } from "../../src/queue/redis/redis-task-queue.ts";
import { type RedisStore, openRedisStore } from "../../src/store/redis/open-redis-store.ts";
import type { TaskQueueSubject } from "../contracts/task-queue.ts";
import { ManualClock } from "./manual-clock.ts";
import { RecordingLogger } from "./recording-logger.ts";
import { startRedisServer } from "./redis-server.ts";
import { openRedisPrefix } from "./redis.ts";
import { bullFollows, isIdle, serverTimeOf, untilIdle } from "./redis-time.ts";

const concurrency = 4;
const slow = { type: "slow", concurrency: 2 };
const pools = {
  of: (type: string) => (type === slow.type ? "slow" : "rest"),
  budgets: { slow: slow.concurrency, rest: concurrency },
};

/** Long, as BullMQ renews leases by a clock that stands still here. */
const LEASE_MS = 60_000;

/** A queue on a Redis of its own, for what a test does to it. */
export async function openRedisSubject(): Promise<TaskQueueSubject> {
  const server = await startRedisServer();
  const { url } = server;
  const redis = openRedisPrefix(url);
  const clock = new ManualClock();
  const logger = new RecordingLogger();
  const serverNow = serverTimeOf(clock);
  const following = await bullFollows(clock, { url, prefix: redis.prefix });
  async function open(): Promise<{ store: RedisStore; queue: RedisTaskQueue }> {
    const store = await openRedisStore({ url: redis.url, clock, logger, keepSetAsideMs: 60_000, serverNow });
    const queue = new RedisTaskQueue({
      store,
      clock,
      logger,
      pools,
      keepDeadMs: 90 * 24 * 60 * 60_000,
      leaseMs: LEASE_MS,
      lookForStalledEveryMs: 30,
    });
    return { store, queue };
  }
  let process = await open();
  const admin = createClient({ url });
  await admin.connect();

  async function healWrites(): Promise<void> {
    await admin.configSet("min-replicas-to-write", "0");
  }

  return {
    get queue() {
      return process.queue;
    },
    now: () => clock.now(),
    advance: (ms) => clock.advance(ms),
    setClock: (byMs) => clock.setTo(clock.now() + byMs),
    idle: () => untilIdle(() => process.queue, clock),
    settled: async () => {
      // As long as writes fail, BullMQ can be told of nothing.
      for (let n = 0; n < 50 && (await admin.hLen(`${redis.prefix}:outbox`)) > 0; n += 1) await sleep(2);
      // Long enough for what is due to begin; what is held, or not noticed yet, is not waited for.
      for (let n = 0; n < 5 && !(await isIdle(process.queue, clock)); n += 1) await sleep(5);
    },
    concurrency,
    slow,
    reopen: async () => {
      process.store.redis.client.destroy();
      void process.queue.stop(0);
      // Its leases are over.
      for await (const keys of admin.scanIterator({ MATCH: `${redis.prefix}:q:*:lock`, COUNT: 1000 })) {
        if (keys.length > 0) await admin.unlink(keys);
      }
      await admin.del(`${redis.prefix}:alone`);
      process = await open();
    },
    failWrites: async () => {
      await admin.configSet("min-replicas-to-write", "1");
      return healWrites;
    },
    [Symbol.asyncDispose]: async () => {
      await healWrites();
      await following[Symbol.asyncDispose]();
      await process.queue.stop(0);
      await process.store.close();
      await admin.close();
      await server[Symbol.asyncDispose]();
    },
  };
}
