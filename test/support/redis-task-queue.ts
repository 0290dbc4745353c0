import { setTimeout as sleep } from "node:timers/promises";
import type { RedisClientType } from "@redis/client";
import { RedisTaskQueue } from "../../src/queue/redis/redis-task-queue.ts";
import { type RedisStore, openRedisStore } from "../../src/store/redis/open-redis-store.ts";
import { ManualClock } from "./manual-clock.ts";
import { RecordingLogger } from "./recording-logger.ts";
import { leasesAreOver, redisPrefix } from "./redis.ts";
import { isIdle, serverTimeOf, untilIdle } from "./redis-time.ts";
import type { ModelSubject } from "./task-queue-model.ts";

const concurrency = 4;
const slow = { type: "slow", concurrency: 2 };
const pools = {
  of: (type: string) => (type === slow.type ? "slow" : "rest"),
  budgets: { slow: slow.concurrency, rest: concurrency },
};

export const LEASE_MS = 60_000;

/** A queue under a prefix of its own, on a Redis that only this file uses: the test has writes fail in all of it. `admin`: a client there. */
export async function openRedisSubject(
  url: string,
  admin: RedisClientType,
  idle = untilIdle,
): Promise<ModelSubject> {
  const redis = redisPrefix(url);
  const clock = new ManualClock();
  const logger = new RecordingLogger();
  const serverNow = serverTimeOf(clock);
  async function open(): Promise<{ store: RedisStore; queue: RedisTaskQueue }> {
    const store = await openRedisStore({ url: redis.url, clock, logger, keepSetAsideMs: 60_000, serverNow });
    const queue = new RedisTaskQueue({
      store,
      clock,
      logger,
      pools,
      keepDeadMs: 90 * 24 * 60 * 60_000,
      leaseMs: LEASE_MS,
    });
    return { store, queue };
  }
  let process = await open();

  async function healWrites(): Promise<void> {
    await admin.configSet("min-replicas-to-write", "0");
  }

  return {
    get queue() {
      return process.queue;
    },
    get series() {
      return process.store.series;
    },
    now: () => clock.now(),
    nextDueAt: () => process.queue.nextDueAt(),
    // A task that is due begins in about as long.
    turn: () => sleep(4),
    advance: (ms) => clock.advance(ms),
    setClock: (byMs) => clock.setTo(clock.now() + byMs),
    hasOwnTime: true,
    idle: () => idle(() => process.queue, clock),
    settled: async () => {
      // Long enough for what is due to begin; what is held, or not noticed yet, is not waited for.
      for (let n = 0; n < 5 && !(await isIdle(process.queue, clock)); n += 1) await sleep(5);
    },
    concurrency,
    slow,
    reopen: async () => {
      process.store.redis.client.destroy();
      void process.queue.stop(0);
      await leasesAreOver(admin, redis.prefix);
      process = await open();
    },
    failWrites: async () => {
      await admin.configSet("min-replicas-to-write", "1");
      return async () => {
        // What is on its way fails, too.
        for (let n = 0; n < 5 && !(await isIdle(process.queue, clock)); n += 1) await sleep(5);
        await healWrites();
      };
    },
    [Symbol.asyncDispose]: async () => {
      await healWrites();
      await process.queue.stop(0);
      await process.store.close();
    },
  };
}
