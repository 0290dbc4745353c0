import { setTimeout as sleep } from "node:timers/promises";
import type { RedisClientType } from "@redis/client";
import type { Clock } from "../../src/shared/machine/ports.ts";
import { createSteadyClock } from "../../src/shared/machine/steady-clock.ts";
import { RedisTaskQueue } from "../../src/shared/queue/redis/redis-task-queue.ts";
import { type RedisStore, openRedisStore } from "../../src/shared/store/redis/open-redis-store.ts";
import { ManualClock } from "../../world/clock/manual-clock.ts";
import { RecordingLogger } from "./recording-logger.ts";
import { leasesAreOver, redisPrefix } from "./redis.ts";
import { isIdle, serverTimeOf, untilIdle, type untilIdleInTime } from "./redis-time.ts";
import type { ModelSubject } from "./task-queue-model.ts";
import { type AppRecords, recordSchemas } from "../../src/app/rules/records.ts";

const concurrency = 4;
const slow = { type: "slow", concurrency: 2 };
const pools = {
  of: (type: string) => (type === slow.type ? "slow" : "rest"),
  budgets: { slow: slow.concurrency, rest: concurrency },
};

/** The lease of a claim in these tests, in milliseconds. */
export const LEASE_MS = 60_000;

/**
 * Opens a queue under a prefix of its own, on a Redis that only this file uses, because the test
 * makes all its writes fail. `admin` is a client of it.
 */
export async function openRedisSubject(
  url: string,
  admin: RedisClientType,
  idle: typeof untilIdleInTime = untilIdle,
  standbys = 0,
): Promise<ModelSubject> {
  const { prefix, url: ownUrl } = redisPrefix(url);
  const redis = { prefix, url: `${ownUrl}&standbys=${standbys}` };
  const machine = new ManualClock();
  const logger = new RecordingLogger();
  const serverNow = serverTimeOf(machine);
  async function open(): Promise<{
    clock: Clock;
    store: RedisStore<AppRecords>;
    queue: RedisTaskQueue<AppRecords>;
  }> {
    const clock = createSteadyClock(machine);
    const store = await openRedisStore({
      schemas: recordSchemas,
      url: redis.url,
      clock,
      logger,
      keepSetAsideMs: 60_000,
      serverNow,
    });
    const queue = new RedisTaskQueue({
      store,
      clock,
      logger,
      pools,
      keepDeadMs: 90 * 24 * 60 * 60_000,
      leaseMs: LEASE_MS,
    });
    return { clock, store, queue };
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
    now: () => process.clock.now(),
    nextDueAt: () => process.queue.nextDueAt(),
    // A task that is due begins after about this time.
    turn: () => sleep(4),
    advance: (ms) => machine.advance(ms),
    setClock: (byMs) => machine.setTo(machine.now() + byMs),
    idle: () => idle(() => process.queue, process.clock, machine),
    settled: async () => {
      // Long enough for due tasks to begin. It doesn't wait for tasks that are held or weren't
      // noticed yet.
      for (let n = 0; n < 5 && !(await isIdle(process.queue, process.clock)); n += 1) await sleep(5);
    },
    concurrency,
    slow,
    reopen: async () => {
      process.store.redis.client.destroy();
      process.store.confirmations?.close();
      void process.queue.stop(0);
      await leasesAreOver(admin, redis.prefix);
      process = await open();
    },
    failWrites: async () => {
      await admin.configSet("min-replicas-to-write", "9");
      return async () => {
        // Writes that are on their way fail too.
        for (let n = 0; n < 5 && !(await isIdle(process.queue, process.clock)); n += 1) await sleep(5);
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
