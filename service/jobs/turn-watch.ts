import type { Logger } from "../../src/core/ports/logger.ts";
import { messageOf } from "../../src/core/errors.ts";
import type { TurnKey } from "./job.ts";
import type { JobStore } from "./job-store.ts";

/** Aborts turns that were ended while they run: canceled, or their job archived. */
export class TurnWatch {
  readonly #store: JobStore;
  readonly #logger: Logger;
  /** By job: its turns run one after the other. */
  readonly #running = new Map<string, { turn: TurnKey; abort: AbortController }>();

  constructor({ store, logger }: { store: JobStore; logger: Logger }) {
    this.#store = store;
    this.#logger = logger;
  }

  /** A signal that aborts when the turn was ended. Call `end` when the turn is over. */
  watch(turn: TurnKey): { signal: AbortSignal; end: () => void } {
    const abort = new AbortController();
    this.#running.set(turn.jobId, { turn, abort });
    return { signal: abort.signal, end: () => this.#running.delete(turn.jobId) };
  }

  /** Looks at a job's turns, after some of them were ended. */
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
