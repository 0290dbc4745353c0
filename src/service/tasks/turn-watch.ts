import type { Logger } from "../../core/logger.ts";
import { messageOf } from "../../errors.ts";
import type { TurnKey } from "../jobs/job.ts";
import type { JobStore } from "../jobs/job-store.ts";

type Watched = { turn: TurnKey; abort: AbortController };

/** Aborts turns that were ended while they run: canceled, or their job archived. */
export class TurnWatch {
  readonly #deps: { store: JobStore; logger: Logger };
  readonly #running = new Set<Watched>();

  constructor(deps: { store: JobStore; logger: Logger }) {
    this.#deps = deps;
  }

  /** A signal that aborts when the turn was ended. Call `end` when the turn is over. */
  watch(turn: TurnKey): { signal: AbortSignal; end: () => void } {
    const watched = { turn, abort: new AbortController() };
    this.#running.add(watched);
    return {
      signal: watched.abort.signal,
      end: () => this.#running.delete(watched),
    };
  }

  /** Looks at a job's turns, after some of them were ended. */
  lookAt(jobId: string): void {
    this.#abortEnded([...this.#running].filter(({ turn }) => turn.jobId === jobId));
  }

  #abortEnded(all: readonly Watched[]): void {
    const { store, logger } = this.#deps;
    try {
      for (const { turn, abort } of all) {
        if (abort.signal.aborted) continue;
        const stored = store.turn(turn);
        if (stored?.state !== "ended") continue;
        const fields = { job_id: turn.jobId, turn: turn.number, outcome: stored.outcome };
        logger.info(fields, "turn was ended: its agent is stopped");
        abort.abort(new Error("The turn was ended"));
      }
    } catch (thrown) {
      logger.warn({ error: messageOf(thrown) }, "cannot see whether running turns were ended");
    }
  }
}
