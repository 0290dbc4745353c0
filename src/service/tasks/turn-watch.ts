import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import { messageOf } from "../../errors.ts";
import type { TurnKey } from "../jobs/acceptance.ts";
import type { JobStore } from "../jobs/job-store.ts";

const LOOK_EVERY_MS = 1000;

type Watched = { turn: TurnKey; abort: AbortController };

/** Aborts turns that were ended while they run: canceled, or their job archived, by this process or by the command line in another. */
export class TurnWatch {
  readonly #deps: { store: JobStore; clock: Clock; logger: Logger };
  readonly #running = new Set<Watched>();
  #cancelLook: (() => void) | null = null;

  constructor(deps: { store: JobStore; clock: Clock; logger: Logger }) {
    this.#deps = deps;
  }

  /** A signal that aborts when the turn was ended, within a second or so. Call `end` when the turn is over. */
  watch(turn: TurnKey): { signal: AbortSignal; end: () => void } {
    const watched = { turn, abort: new AbortController() };
    this.#running.add(watched);
    this.#lookLater();
    return {
      signal: watched.abort.signal,
      end: () => {
        this.#running.delete(watched);
        if (this.#running.size > 0) return;
        this.#cancelLook?.();
        this.#cancelLook = null;
      },
    };
  }

  /** Looks at a job's turns now: this process has ended some of them. */
  lookAt(jobId: string): void {
    this.#abortEnded([...this.#running].filter(({ turn }) => turn.jobId === jobId));
  }

  #lookLater(): void {
    const { clock } = this.#deps;
    this.#cancelLook ??= clock.wakeAt(clock.now() + LOOK_EVERY_MS, () => {
      this.#cancelLook = null;
      this.#abortEnded([...this.#running]);
      if (this.#running.size > 0) this.#lookLater();
    });
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
