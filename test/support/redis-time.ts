import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../src/shared/machine/ports.ts";
import type { RedisTaskQueue } from "../../src/shared/queue/redis/redis-task-queue.ts";
import type { ManualClock } from "../../world/clock/manual-clock.ts";
import type { AppRecords } from "../../src/app/rules/records.ts";

/** Returns Redis's time, provided that nobody sets the clock of its machine. */
export function serverTimeOf(clock: ManualClock): () => number {
  const startMs = clock.now() - clock.monotonicMs();
  return () => startMs + clock.monotonicMs();
}

/** Resolves when nothing runs and nothing is due at the clock's time. */
export async function untilIdle(
  queue: () => RedisTaskQueue<AppRecords>,
  clock: Pick<Clock, "now">,
): Promise<void> {
  for (;;) {
    if (await isIdle(queue(), clock)) return;
    await sleep(5);
  }
}

/**
 * Works like {@link untilIdle}, but moves the clock by a second at a time as long as a task is due
 * and doesn't run. Only with time does a queue notice that a result was lost, or who may run alone.
 * Rejects after a minute.
 */
export async function untilIdleInTime(
  queue: () => RedisTaskQueue<AppRecords>,
  clock: Pick<Clock, "now">,
  machine: Pick<ManualClock, "advance">,
): Promise<void> {
  for (let seconds = 0; seconds < 60; seconds += 1) {
    for (let looks = 0; looks < 40; looks += 1) {
      if (await isIdle(queue(), clock)) return;
      await sleep(5);
    }
    machine.advance(1_000);
  }
  throw new Error("Something is due, and does not run.");
}

/** Resolves to true if nothing runs and nothing is due at the clock's time. */
export async function isIdle(queue: RedisTaskQueue<AppRecords>, clock: Pick<Clock, "now">): Promise<boolean> {
  if (queue.size > 0) return false;
  const next = await queue.nextDueAt();
  return (next === null || next > clock.now()) && queue.size === 0;
}
