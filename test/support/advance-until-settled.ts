import { setTimeout as sleep } from "node:timers/promises";
import type { ManualClock } from "../../world/clock/manual-clock.ts";

/** Moves the clock by `stepMs` until the promise is settled. Settles in the same way. */
export async function advanceUntilSettled<T>(
  clock: ManualClock,
  promise: Promise<T>,
  stepMs: number,
): Promise<T> {
  let isSettled = false;
  const settle = () => (isSettled = true);
  void promise.then(settle, settle);
  while (!isSettled) {
    clock.advance(stepMs);
    // Time for everything that happens outside of this process.
    await sleep(10);
  }
  return await promise;
}
