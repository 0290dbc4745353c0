import type { Clock } from "../core/clock.ts";

/** Clocks are slewed by milliseconds all the time; only a step is worth a word. */
const TOLERANCE_MS = 2_000;

/** Notices a machine's clock that was set back, while the process runs and while none did. */
export class ClockWatch {
  readonly #clock: Clock;
  /** The furthest that the machine's clock was ahead of the monotonic one, milliseconds, since it was last set back. */
  #aheadMs: number;

  /** `lastSeenAt`: the machine's time as an earlier process noted it last, epoch milliseconds; null: there was none. */
  constructor(clock: Clock, lastSeenAt: number | null) {
    this.#clock = clock;
    this.#aheadMs = Math.max(clock.now(), lastSeenAt ?? 0) - clock.monotonicMs();
  }

  /** Notes what the clock shows, so that times that are computed by it now are known when it is set back soon after. */
  look(): void {
    this.#aheadMs = Math.max(this.#aheadMs, this.#nowAheadMs());
  }

  /** By how much the clock was set back since the last call; 0: it was not. */
  setBackMs(): number {
    const nowAheadMs = this.#nowAheadMs();
    const backMs = Math.round(this.#aheadMs - nowAheadMs);
    this.#aheadMs = nowAheadMs;
    return backMs > TOLERANCE_MS ? backMs : 0;
  }

  /** What {@link setBackMs} said last could not be acted on: it is to say so again. */
  notTaken(byMs: number): void {
    this.#aheadMs += byMs;
  }

  #nowAheadMs(): number {
    return this.#clock.now() - this.#clock.monotonicMs();
  }
}
