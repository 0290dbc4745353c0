import { setTimeout as sleep } from "node:timers/promises";
import type { RedisClientType } from "@redis/client";
import { vi } from "vitest";
import type { RedisTaskQueue } from "../../src/queue/redis/redis-task-queue.ts";
import type { ManualClock } from "./manual-clock.ts";

/** Redis's time while nobody sets the clock of its machine. */
export function serverTimeOf(clock: ManualClock): () => number {
  const startMs = clock.now() - clock.monotonicMs();
  return () => startMs + clock.monotonicMs();
}

/** How often what has become due is looked for. */
const WAKE_EVERY_MS = 10;

/** Wakes the workers of each queue in which something is due: BullMQ keeps times in milliseconds, times 4096. prefix; now */
const WAKE = `
  for _, pool in ipairs(redis.call('SMEMBERS', KEYS[1] .. ':pools')) do
    local queue = KEYS[1] .. ':q:' .. redis.sha1hex(pool) .. ':'
    local first = redis.call('ZRANGE', queue .. 'delayed', 0, 0, 'WITHSCORES')
    if first[2] and tonumber(first[2]) < (tonumber(ARGV[1]) + 1) * 4096 then redis.call('ZADD', queue .. 'marker', 0, '0') end
  end
`;

/**
 * BullMQ knows no clock but `Date.now`. Until this is disposed of, that is the manual clock, and whoever waits at Redis for the next task of `prefix` is
 * woken when it is due, as a timer would not.
 */
export function bullFollows(
  clock: ManualClock,
  { client, prefix }: { client: RedisClientType; prefix: string },
): AsyncDisposable {
  const now = vi.spyOn(Date, "now").mockImplementation(() => clock.now());
  let isOver = false;
  const waking = (async () => {
    while (!isOver) {
      // Refused where a test has writes fail.
      await client.eval(WAKE, { keys: [prefix], arguments: [String(clock.now())] }).catch(() => {});
      await sleep(WAKE_EVERY_MS);
    }
  })();
  return {
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      await waking;
      now.mockRestore();
    },
  };
}

/** Resolves when, at the clock's time, nothing runs and nothing is due. */
export async function untilIdle(queue: () => RedisTaskQueue, clock: ManualClock): Promise<void> {
  for (;;) {
    if (await isIdle(queue(), clock)) return;
    await sleep(5);
  }
}

/**
 * As {@link untilIdle}, but time passes, a second at a time, for as long as something is due that does not run: BullMQ tries a job again after a second that a worker
 * took as it stopped, and notices after a few that somebody set the clock. Rejects after a minute.
 */
export async function untilIdleInTime(queue: () => RedisTaskQueue, clock: ManualClock): Promise<void> {
  for (let seconds = 0; seconds < 60; seconds += 1) {
    for (let looks = 0; looks < 40; looks += 1) {
      if (await isIdle(queue(), clock)) return;
      await sleep(5);
    }
    clock.advance(1_000);
  }
  throw new Error("Something is due, and does not run.");
}

/** Whether, at the clock's time, nothing runs and nothing is due. */
export async function isIdle(queue: RedisTaskQueue, clock: ManualClock): Promise<boolean> {
  if (queue.size > 0) return false;
  const next = await queue.nextDueAt();
  return (next === null || next > clock.now()) && queue.size === 0;
}
