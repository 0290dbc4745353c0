import type { Clock } from "../../src/core/ports/clock.ts";
import type { ChangeStore } from "./change-store.ts";

/** How many requests of a project may wait for changes at once. */
const MAX_WAITING = 32;

type Waiter = { after: number; wake: () => void };

/** Lets requests wait until a job of their project changes. */
export class ChangeFeed {
  readonly #changes: ChangeStore;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Set<Waiter>>();
  #isLookPending = false;
  #isClosed = false;

  constructor({ changes, clock }: { changes: ChangeStore; clock: Clock }) {
    this.#changes = changes;
    this.#clock = clock;
  }

  /**
   * Resolves once a job of the project has changed after this, the time is over, the signal aborts
   * or the feed is closed. False at once: too many wait already.
   */
  async wait(projectId: string, after: number, forMs: number, signal: AbortSignal): Promise<boolean> {
    if (this.#isClosed || forMs === 0 || this.#changes.lastOf(projectId) > after) return true;
    const waiting = this.#waiting.get(projectId) ?? new Set();
    if (waiting.size >= MAX_WAITING) return false;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { after, wake: resolve };
    waiting.add(waiter);
    this.#waiting.set(projectId, waiting);
    const cancel = this.#clock.wakeAt(this.#clock.now() + forMs, resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (signal.aborted) resolve();
    try {
      await promise;
      return true;
    } finally {
      cancel();
      waiting.delete(waiter);
      if (waiting.size === 0) this.#waiting.delete(projectId);
    }
  }

  /**
   * Call it after a write, also inside its transaction: soon afterwards those are woken whose
   * project has changed.
   */
  look(): void {
    if (this.#isLookPending || this.#waiting.size === 0) return;
    this.#isLookPending = true;
    setImmediate(() => {
      this.#isLookPending = false;
      for (const [projectId, waiting] of this.#waiting) {
        const last = this.#isClosed ? 0 : this.#changes.lastOf(projectId);
        for (const { after, wake } of waiting) if (last > after) wake();
      }
    });
  }

  /** Ends all waiting, for good. */
  close(): void {
    this.#isClosed = true;
    for (const waiting of this.#waiting.values()) for (const { wake } of waiting) wake();
  }
}
