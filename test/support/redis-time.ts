import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../src/shared/machine/ports.ts";
import type { RedisTaskQueue } from "../../src/shared/queue/redis/redis-task-queue.ts";
import type { ManualClock } from "../../world/clock/manual-clock.ts";
import type { AppRecords } from "../../src/app/rules/records.ts";

/** Redis's time while nobody sets the clock of its machine. */
export function serverTimeOf(clock: ManualClock): () => number {
  const startMs = clock.now() - clock.monotonicMs();
  return () => startMs + clock.monotonicMs();
}

/** Resolves when, at the clock's time, nothing runs and nothing is due. */
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
 * As {@link untilIdle}, but time passes, a second at a time, for as long as something is due that does not run: that a result was lost, or who
 * may run alone, is noticed only then. Rejects after a minute.
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

/** Whether, at the clock's time, nothing runs and nothing is due. */
export async function isIdle(queue: RedisTaskQueue<AppRecords>, clock: Pick<Clock, "now">): Promise<boolean> {
  if (queue.size > 0) return false;
  const next = await queue.nextDueAt();
  return (next === null || next > clock.now()) && queue.size === 0;
}
