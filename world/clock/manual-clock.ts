import type { Clock } from "../../src/shared/machine/ports.ts";
import type { Machine } from "../../src/shared/machine/steady-clock.ts";

/** `atMs`: by the monotonic clock, as a timer of the system has it. */
type Wake = { atMs: number; wake: () => void };

/**
 * A clock that stands still until the test moves it. It is also the machine below a steady clock, for tests in which somebody sets
 * the machine's clock.
 */
export class ManualClock implements Clock, Machine {
  #wallMs: number;
  /** Far from the wall clock, so that a test notices where the two are mixed up. */
  #monotonicMs = 1_000;
  readonly #wakes = new Set<Wake>();

  constructor(startMs: number = Date.UTC(2026, 0, 5, 9)) {
    this.#wallMs = startMs;
  }

  now(): number {
    return this.#wallMs;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** As in the port. What is due already is called soon, without the clock being moved. */
  wakeAt(atMs: number, wake: () => void): () => void {
    const entry = { atMs: this.#monotonicMs + (atMs - this.#wallMs), wake };
    this.#wakes.add(entry);
    if (atMs <= this.#wallMs) setImmediate(() => this.#fire(entry));
    return () => {
      this.#wakes.delete(entry);
    };
  }

  wakeIn(ms: number, wake: () => void): () => void {
    return this.wakeAt(this.#wallMs + ms, wake);
  }

  /** Lets time pass, stopping at each wake on the way, also at those that wakes add. Never goes back. */
  advance(ms: number): void {
    const endMs = this.#monotonicMs + ms;
    for (;;) {
      const next = this.#next();
      if (!next || next.atMs > endMs) break;
      this.#pass(next.atMs - this.#monotonicMs);
      this.#fire(next);
    }
    this.#pass(endMs - this.#monotonicMs);
  }

  /** Lets time pass until the wall clock shows `ms` (epoch milliseconds). */
  advanceTo(ms: number): void {
    this.advance(ms - this.#wallMs);
  }

  /** Somebody sets the wall clock to `ms` (epoch milliseconds), back or forward. No time passes: timers run on as they did. */
  setTo(ms: number): void {
    this.#wallMs = ms;
  }

  /** What the wall clock will show at the next wake, in epoch milliseconds; undefined if nobody waits. */
  nextWakeAt(): number | undefined {
    const next = this.#next();
    return next && this.#wallMs + (next.atMs - this.#monotonicMs);
  }

  #pass(ms: number): void {
    if (ms <= 0) return;
    this.#wallMs += ms;
    this.#monotonicMs += ms;
  }

  #next(): Wake | undefined {
    let next: Wake | undefined;
    for (const wake of this.#wakes) {
      if (!next || wake.atMs < next.atMs) next = wake;
    }
    return next;
  }

  #fire(entry: Wake): void {
    if (this.#wakes.delete(entry)) entry.wake();
  }
}
