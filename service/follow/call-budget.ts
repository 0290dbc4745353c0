import type { Clock } from "../../src/core/ports/clock.ts";
import { boundRetryAfterMs } from "../../src/core/job/retry.ts";

/** GitHub allows 5,000 an hour. The rest is for turns, which work with the same token. */
const CALLS_PER_HOUR = 4000;
const CALL_MS = 3_600_000 / CALLS_PER_HOUR;
/** What may be used at once after a quiet time. */
const BURST_MS = 300 * CALL_MS;
/** The part of its limit that the host's own count may fall to: others use the token, too. */
const RESERVE = 0.1;

/** The calls that following may make with one token. Those that are answered 304 are free. */
export class CallBudget {
  readonly #clock: Clock;
  /** When the calls so far would be done, one after another at an even pace. */
  #usedUntil = 0;
  #pausedUntil = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a call by its answer. */
  note(status: number, headers: Headers): void {
    const nowMs = this.#clock.now();
    if (status !== 304) this.#usedUntil = Math.max(this.#usedUntil, nowMs) + CALL_MS;
    const told = (name: string) => Number(headers.get(`x-ratelimit-${name}`) ?? NaN);
    const resetMs = told("reset") * 1000;
    if (resetMs > nowMs && told("remaining") < told("limit") * RESERVE) {
      this.pause(boundRetryAfterMs(resetMs - nowMs));
    }
  }

  /** The host wants to be left alone for so long. */
  pause(forMs: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + forMs);
  }

  /** When the next call may be made, epoch milliseconds; not later than now: at once. */
  freeAt(): number {
    return Math.max(this.#usedUntil - BURST_MS, this.#pausedUntil);
  }
}
