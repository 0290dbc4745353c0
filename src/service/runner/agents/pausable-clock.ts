import type { Clock } from "../../../shared/machine/ports.ts";

type Wake = { atMs: number; wake: () => void; cancel: () => void };

/**
 * A clock that stands still while it is paused, for at most `maxPausedMs` in total. The time that a
 * person takes to answer doesn't count as the agent's.
 */
export class PausableClock implements Clock {
  readonly #clock: Clock;
  readonly #maxPausedMs: number;
  readonly #wakes = new Set<Wake>();
  #pauses = 0;
  /** Null while it is running. */
  #pausedAtMs: number | null = null;
  #lostMs = 0;
  #cancelLimit: () => void = () => {};

  constructor(clock: Clock, maxPausedMs: number) {
    this.#clock = clock;
    this.#maxPausedMs = maxPausedMs;
  }

  now(): number {
    return this.#clock.now() - this.#lost();
  }

  wallMs(): number {
    return this.#clock.wallMs();
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs() - this.#lost();
  }

  wakeAt(atMs: number, wake: () => void): () => void {
    const entry: Wake = { atMs, wake, cancel: () => {} };
    this.#wakes.add(entry);
    if (this.#pausedAtMs === null) this.#arm(entry);
    return () => {
      entry.cancel();
      this.#wakes.delete(entry);
    };
  }

  /**
   * Pauses the clock until this is disposed of. With several pauses, it runs again once all have
   * ended.
   */
  pause(): Disposable {
    this.#pauses += 1;
    if (this.#pauses === 1) this.#stop();
    return {
      [Symbol.dispose]: () => {
        this.#pauses -= 1;
        if (this.#pauses === 0) this.#goOn();
      },
    };
  }

  #stop(): void {
    const leftMs = this.#maxPausedMs - this.#lostMs;
    if (leftMs <= 0) return;
    this.#pausedAtMs = this.#clock.monotonicMs();
    for (const { cancel } of this.#wakes) cancel();
    this.#cancelLimit = this.#clock.wakeAt(this.#clock.now() + leftMs, () => this.#goOn());
  }

  #goOn(): void {
    if (this.#pausedAtMs === null) return;
    this.#cancelLimit();
    this.#lostMs = this.#lost();
    this.#pausedAtMs = null;
    for (const entry of this.#wakes) this.#arm(entry);
  }

  #arm(entry: Wake): void {
    entry.cancel = this.#clock.wakeAt(entry.atMs + this.#lostMs, () => {
      this.#wakes.delete(entry);
      entry.wake();
    });
  }

  #lost(): number {
    return this.#pausedAtMs === null
      ? this.#lostMs
      : this.#lostMs + this.#clock.monotonicMs() - this.#pausedAtMs;
  }
}
