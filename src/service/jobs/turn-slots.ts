import { messageOf } from "../../shared/errors.ts";
import type { Logger } from "../../shared/machine/ports.ts";
import type { JobStore } from "./job-store.ts";
import type { TurnKey } from "./job.ts";

type Slot = { projectId: string };
type Waiter = Slot & { limit: number; signal: AbortSignal; give: (release: (() => void) | null) => void };

/**
 * Limits how many turns run at once, per project and in total. Whoever has waited longest and fits
 * goes first.
 */
export class TurnSlots {
  readonly #total: number;
  readonly #taken = new Set<Slot>();
  readonly #waiters = new Set<Waiter>();
  readonly #closing = new AbortController();

  constructor(total: number) {
    this.#total = total;
  }

  /**
   * Resolves to a function that gives the slot back, or to null once the slots are closed or the
   * signal has aborted.
   */
  take(waiting: Slot & { limit: number; signal: AbortSignal }): Promise<(() => void) | null> {
    return new Promise((resolve) => {
      this.#waiters.add({ ...waiting, give: resolve });
      waiting.signal.addEventListener("abort", () => this.#handOut());
      this.#handOut();
    });
  }

  /** The number of running turns. */
  get taken(): number {
    return this.#taken.size;
  }

  /** Everyone who waits, now or later, gets null. */
  close(): void {
    this.#closing.abort();
    this.#handOut();
  }

  /** Aborts when the slots are closed. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  #occupy(slot: Slot): () => void {
    this.#taken.add(slot);
    return () => {
      if (this.#taken.delete(slot)) this.#handOut();
    };
  }

  #handOut(): void {
    for (const waiter of this.#waiters) {
      const isOver = waiter.signal.aborted || this.closed.aborted;
      if (isOver || this.#hasRoom(waiter)) {
        this.#waiters.delete(waiter);
        waiter.give(isOver ? null : this.#occupy(waiter));
      }
    }
  }

  #hasRoom({ projectId, limit }: Waiter): boolean {
    if (this.taken >= this.#total) return false;
    return [...this.#taken].filter((slot) => slot.projectId === projectId).length < limit;
  }
}

/**
 * Aborts turns that are ended while they run or wait for a slot, because they were canceled or
 * their job was archived.
 */
export class TurnWatch {
  readonly #store: JobStore;
  readonly #logger: Logger;
  /** By job, because a job's turns run one after the other. */
  readonly #watched = new Map<string, { turn: TurnKey; abort: AbortController }>();

  constructor({ store, logger }: { store: JobStore; logger: Logger }) {
    this.#store = store;
    this.#logger = logger;
  }

  /** Returns a signal that aborts if the turn is ended. Dispose of it when the turn is over. */
  watch(turn: TurnKey): { signal: AbortSignal } & Disposable {
    const abort = new AbortController();
    this.#watched.set(turn.jobId, { turn, abort });
    return { signal: abort.signal, [Symbol.dispose]: () => this.#watched.delete(turn.jobId) };
  }

  /** Call this after some of a job's turns were ended. */
  lookAt(jobId: string): void {
    const watched = this.#watched.get(jobId);
    if (watched === undefined || watched.abort.signal.aborted) return;
    try {
      const stored = this.#store.turn(watched.turn);
      if (stored?.state !== "ended") return;
      const fields = { job_id: jobId, turn: stored.number, outcome: stored.outcome };
      this.#logger.info(fields, "turn was ended: it stops");
      watched.abort.abort(new Error("The turn was ended"));
    } catch (thrown) {
      this.#logger.warn({ error: messageOf(thrown) }, "cannot see whether running turns were ended");
    }
  }
}
