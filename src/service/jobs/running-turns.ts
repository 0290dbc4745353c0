import { messageOf } from "../../shared/errors.ts";
import type { Logger } from "../../shared/machine/ports.ts";
import type { JobStore } from "./job-store.ts";
import type { TurnKey } from "./rows.ts";

/**
 * The turns that run or wait for a place. Aborts those that are ended meanwhile, because they were
 * canceled or their job was archived.
 */
export class RunningTurns {
  readonly #store: JobStore;
  readonly #logger: Logger;
  /** By job, because a job's turns run one after the other. */
  readonly #turns = new Map<string, { turn: TurnKey; abort: AbortController }>();

  constructor({ store, logger }: { store: JobStore; logger: Logger }) {
    this.#store = store;
    this.#logger = logger;
  }

  /** Returns a signal that aborts if the turn is ended. Dispose of it when the turn is over. */
  add(turn: TurnKey): { signal: AbortSignal } & Disposable {
    const abort = new AbortController();
    this.#turns.set(turn.jobId, { turn, abort });
    return { signal: abort.signal, [Symbol.dispose]: () => this.#turns.delete(turn.jobId) };
  }

  /** Call this after some of a job's turns were ended. */
  abortIfEnded(jobId: string): void {
    const running = this.#turns.get(jobId);
    if (running === undefined || running.abort.signal.aborted) return;
    try {
      const stored = this.#store.turn(running.turn);
      if (stored?.state !== "ended") return;
      const fields = { job_id: jobId, turn: stored.number, outcome: stored.outcome };
      this.#logger.info(fields, "turn was ended: it stops");
      running.abort.abort(new Error("The turn was ended"));
    } catch (thrown) {
      this.#logger.warn({ error: messageOf(thrown) }, "cannot see whether running turns were ended");
    }
  }
}
