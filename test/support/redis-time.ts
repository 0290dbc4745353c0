import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@redis/client";
import { vi } from "vitest";
import type { RedisTaskQueue } from "../../src/queue/redis/redis-task-queue.ts";
import type { ManualClock } from "./manual-clock.ts";

/** Redis's time while nobody sets the clock of its machine. */
export function serverTimeOf(clock: ManualClock): () => number {
  const startMs = clock.now() - clock.monotonicMs();
  return () => startMs + clock.monotonicMs();
}

/**
 * BullMQ knows no clock but `Date.now`. Until this is disposed of, that is the manual clock, and whoever waits at the Redis at `url` for the next task looks
 * again and again, as a timer would not.
 */
export async function bullFollows(
  clock: ManualClock,
  { url, prefix }: { url: string; prefix: string },
): Promise<AsyncDisposable> {
  const now = vi.spyOn(Date, "now").mockImplementation(() => clock.now());
  const client = createClient({ url });
  client.on("error", () => {});
  await client.connect();
  let isOver = false;
  const waking = (async () => {
    while (!isOver) {
      for await (const keys of client.scanIterator({ MATCH: `${prefix}:q:*:delayed`, COUNT: 1000 })) {
        for (const key of keys) {
          // Refused where a test has writes fail.
          await client.zAdd(key.replace(/delayed$/, "marker"), { score: 0, value: "0" }).catch(() => {});
        }
      }
      await sleep(20);
    }
  })();
  return {
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      await waking;
      await client.close();
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

/** Whether, at the clock's time, nothing runs and nothing is due. */
export async function isIdle(queue: RedisTaskQueue, clock: ManualClock): Promise<boolean> {
  if (queue.size > 0) return false;
  const next = await queue.nextDueAt();
  return (next === null || next > clock.now()) && queue.size === 0;
}
