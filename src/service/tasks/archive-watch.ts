import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import { messageOf } from "../../errors.ts";
import type { JobStore } from "../jobs/job-store.ts";

const LOOK_EVERY_MS = 1000;

/** Aborts turns that run for a job that was archived, by this process or by the command line in another. */
export class ArchiveWatch {
  readonly #deps: { store: JobStore; clock: Clock; logger: Logger };
  readonly #running = new Map<string, AbortController>();
  #cancelLook: (() => void) | null = null;

  constructor(deps: { store: JobStore; clock: Clock; logger: Logger }) {
    this.#deps = deps;
  }

  /** A signal that aborts when the job is archived, within a second or so. Call `end` when the turn is over. */
  watch(jobId: string): { signal: AbortSignal; end: () => void } {
    const abort = new AbortController();
    this.#running.set(jobId, abort);
    this.#lookLater();
    return {
      signal: abort.signal,
      end: () => {
        this.#running.delete(jobId);
        if (this.#running.size > 0) return;
        this.#cancelLook?.();
        this.#cancelLook = null;
      },
    };
  }

  #lookLater(): void {
    const { clock } = this.#deps;
    this.#cancelLook ??= clock.wakeAt(clock.now() + LOOK_EVERY_MS, () => this.#look());
  }

  #look(): void {
    const { store, logger } = this.#deps;
    this.#cancelLook = null;
    try {
      for (const [jobId, abort] of this.#running) {
        if (store.job(jobId)?.status === "archived") abort.abort(new Error("The job was archived"));
      }
    } catch (thrown) {
      logger.warn({ error: messageOf(thrown) }, "cannot see whether running jobs were archived");
    }
    if (this.#running.size > 0) this.#lookLater();
  }
}
