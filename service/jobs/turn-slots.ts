import { messageOf } from "../../src/core/errors.ts";
import type { Logger } from "../../src/core/ports/process.ts";
import type { JobStore } from "./job-store.ts";
import type { TurnKey } from "./job.ts";

type Waiter = { projectId: string; limit: number; isAlone: boolean; take: () => void };

/**
 * Limits how many turns run at once, per project and in total. Whoever has waited longest and fits
 * goes first. Nobody overtakes a turn that must run alone, or runs beside it.
 */
export class TurnSlots {
  readonly #total: number;
  readonly #taken = new Map<string, number>();
  readonly #waiters = new Set<Waiter>();
  readonly #closing = new AbortController();
  #isAloneTaken = false;

  constructor(total: number) {
    this.#total = total;
  }

  /** Resolves to a function that gives the slot back, or to null once the slots are closed. */
  take(projectId: string, limit: number, isAlone = false): Promise<(() => void) | null> {
    return new Promise((resolve) => {
      const waiter = {
        projectId,
        limit,
        isAlone,
        take: () => resolve(this.closed.aborted ? null : this.#occupy(projectId, isAlone)),
      };
      this.#waiters.add(waiter);
      this.#handOut();
    });
  }

  /** The number of running turns. */
  get taken(): number {
    return [...this.#taken.values()].reduce((sum, count) => sum + count, 0);
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

  #occupy(projectId: string, isAlone: boolean): () => void {
    this.#count(projectId, 1);
    this.#isAloneTaken ||= isAlone;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      if (isAlone) this.#isAloneTaken = false;
      this.#count(projectId, -1);
      this.#handOut();
    };
  }

  #handOut(): void {
    for (const waiter of this.#waiters) {
      if (this.#hasRoom(waiter) || this.closed.aborted) {
        this.#waiters.delete(waiter);
        waiter.take();
      } else if (waiter.isAlone) return;
    }
  }

  #hasRoom({ projectId, limit, isAlone }: Waiter): boolean {
    if (isAlone) return this.taken === 0;
    return !this.#isAloneTaken && (this.#taken.get(projectId) ?? 0) < limit && this.taken < this.#total;
  }

  #count(projectId: string, change: number): void {
    this.#taken.set(projectId, (this.#taken.get(projectId) ?? 0) + change);
  }
}

/**
 * Aborts turns that are ended while they run, because they were canceled or their job was archived.
 */
export class TurnWatch {
  readonly #store: JobStore;
  readonly #logger: Logger;
  /** By job, because a job's turns run one after the other. */
  readonly #running = new Map<string, { turn: TurnKey; abort: AbortController }>();

  constructor({ store, logger }: { store: JobStore; logger: Logger }) {
    this.#store = store;
    this.#logger = logger;
  }

  /** Returns a signal that aborts if the turn is ended. Call `end` when the turn is over. */
  watch(turn: TurnKey): { signal: AbortSignal; end: () => void } {
    const abort = new AbortController();
    this.#running.set(turn.jobId, { turn, abort });
    return { signal: abort.signal, end: () => this.#running.delete(turn.jobId) };
  }

  /** Call this after some of a job's turns were ended. */
  lookAt(jobId: string): void {
    const watched = this.#running.get(jobId);
    if (watched === undefined || watched.abort.signal.aborted) return;
    try {
      const stored = this.#store.turn(watched.turn);
      if (stored?.state !== "ended") return;
      const fields = { job_id: jobId, turn: stored.number, outcome: stored.outcome };
      this.#logger.info(fields, "turn was ended: its agent is stopped");
      watched.abort.abort(new Error("The turn was ended"));
    } catch (thrown) {
      this.#logger.warn({ error: messageOf(thrown) }, "cannot see whether running turns were ended");
    }
  }
}
