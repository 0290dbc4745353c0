import type { Clock } from "../../../core/clock.ts";

type Wake = { atMs: number; wake: () => void; cancel: () => void };

/** A clock on which no time passes while it is paused: what a person takes to answer is not the agent's time. */
export class PausableClock implements Clock {
  readonly #clock: Clock;
  readonly #wakes = new Set<Wake>();
  #pauses = 0;
  #pausedAtMs = 0;
  #lostMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now() - this.#lost();
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs() - this.#lost();
  }

  wakeAt(atMs: number, wake: () => void): () => void {
    const entry: Wake = { atMs, wake, cancel: () => {} };
    this.#wakes.add(entry);
    if (this.#pauses === 0) this.#arm(entry);
    return () => {
      entry.cancel();
      this.#wakes.delete(entry);
    };
  }

  /** No time passes until the returned function is called, nor until those of other pauses are. */
  pause(): () => void {
    if (this.#pauses === 0) {
      this.#pausedAtMs = this.#clock.monotonicMs();
      for (const { cancel } of this.#wakes) cancel();
    }
    this.#pauses += 1;
    let isPaused = true;
    return () => {
      if (!isPaused) return;
      isPaused = false;
      this.#pauses -= 1;
      if (this.#pauses > 0) return;
      this.#lostMs += this.#clock.monotonicMs() - this.#pausedAtMs;
      for (const entry of this.#wakes) this.#arm(entry);
    };
  }

  #arm(entry: Wake): void {
    entry.cancel = this.#clock.wakeAt(entry.atMs + this.#lostMs, () => {
      this.#wakes.delete(entry);
      entry.wake();
    });
  }

  #lost(): number {
    return this.#pauses === 0 ? this.#lostMs : this.#lostMs + this.#clock.monotonicMs() - this.#pausedAtMs;
  }
}
