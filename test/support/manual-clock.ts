import type { Clock } from "../../src/core/clock.ts";

type Wake = { atMs: number; wake: () => void };

/** A clock that stands still until the test moves it. */
export class ManualClock implements Clock {
  #nowMs: number;
  readonly #wakes = new Set<Wake>();

  constructor(startMs: number = Date.UTC(2026, 0, 5, 9)) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  /** As in the port. What is due already is called soon, without the clock being moved. */
  wakeAt(atMs: number, wake: () => void): () => void {
    const entry = { atMs, wake };
    this.#wakes.add(entry);
    if (atMs <= this.#nowMs) setImmediate(() => this.#fire(entry));
    return () => {
      this.#wakes.delete(entry);
    };
  }

  advance(ms: number): void {
    this.advanceTo(this.#nowMs + ms);
  }

  /** Moves to `ms` (epoch milliseconds), stopping at each wake on the way, also at those that wakes add. Never moves back. */
  advanceTo(ms: number): void {
    for (;;) {
      const next = this.#next();
      if (!next || next.atMs > ms) break;
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      this.#fire(next);
    }
    this.#nowMs = Math.max(this.#nowMs, ms);
  }

  /** When the next wake is due, in epoch milliseconds; undefined if nobody waits. */
  nextWakeAt(): number | undefined {
    return this.#next()?.atMs;
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
