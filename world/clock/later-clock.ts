import type { Clock } from "../../src/shared/machine/ports.ts";
import { createSystemClock } from "../../src/shared/machine/clock-and-log.ts";

/** The system's clock, which a test can set forward. */
export class LaterClock implements Clock {
  readonly #clock = createSystemClock();
  laterMs = 0;

  now(): number {
    return this.#clock.now() + this.laterMs;
  }

  wallMs(): number {
    return this.#clock.wallMs() + this.laterMs;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs() + this.laterMs;
  }

  wakeAt(atMs: number, wake: () => void): () => void {
    return this.#clock.wakeAt(atMs - this.laterMs, wake);
  }
}
