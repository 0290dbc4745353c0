import type { Clock } from "../core/ports/process.ts";

/** The longest delay of `setTimeout`. A longer one fires at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** The machine's clock. */
export function createSystemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonicMs: () => performance.now(),
    wakeAt(atMs, wake) {
      let timer: NodeJS.Timeout;
      function arm(): void {
        const left = atMs - Date.now();
        timer = left > MAX_TIMEOUT_MS ? setTimeout(arm, MAX_TIMEOUT_MS) : setTimeout(wake, Math.max(0, left));
      }
      arm();
      return () => clearTimeout(timer);
    },
  };
}
