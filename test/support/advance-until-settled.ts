import { setTimeout as sleep } from "node:timers/promises";
import type { ManualClock } from "../../world/clock/manual-clock.ts";

/** Moves the clock by `stepMs`, again and again, until the promise is settled; then settles as it did. */
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
    // For what happens outside of this process meanwhile.
    await sleep(10);
  }
  return await promise;
}
