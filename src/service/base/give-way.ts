import { setImmediate as nextTurn } from "node:timers/promises";

/** Sooner than anybody notices. */
const EVERY_MS = 10;

/**
 * Returns a function to await in each round of a loop that may be long: every few milliseconds, it
 * lets everything else that waits for this thread go first.
 */
export function createGiveWay(): () => Promise<void> {
  let sinceMs = performance.now();
  return async () => {
    if (performance.now() - sinceMs < EVERY_MS) return;
    await nextTurn();
    sinceMs = performance.now();
  };
}
