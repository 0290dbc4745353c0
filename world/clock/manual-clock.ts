import type { Clock } from "../../src/shared/machine/ports.ts";
import type { Machine } from "../../src/shared/machine/steady-clock.ts";

/** A timer. `atMs` is a time of the monotonic clock, like that of the system's timers. */
type Wake = { atMs: number; wake: () => void };

/**
 * A clock that moves only when the test moves it. It can also be the machine below a steady clock,
 * for tests in which somebody sets the machine's clock.
 */
export class ManualClock implements Clock, Machine {
  #wallMs: number;
  /**
   * The monotonic clock. It is far from the wall clock, so that a test notices if the two are mixed
   * up.
   */
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

  /** See the port. A timer that is already due is called soon, without a move of the clock. */
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

  /**
   * Lets time pass, and stops at each timer on the way, including those that timers add. It never
   * goes back.
   */
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

  /**
   * Sets the wall clock to `ms` (epoch milliseconds), back or forward, as a person would. No time
   * passes, so timers aren't affected.
   */
  setTo(ms: number): void {
    this.#wallMs = ms;
  }

  /**
   * Returns the wall clock's time at the next timer, in epoch milliseconds. Undefined if there is
   * none.
   */
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
