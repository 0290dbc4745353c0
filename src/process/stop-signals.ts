import type { Logger } from "../core/ports/logger.ts";

/** A stop that takes longer than this ends the process as it is, milliseconds. */
export const FORCED_AFTER_MS = 9500;

/**
 * Signals that ask the process to stop. Constructed first of all: process 1 ignores a signal that
 * has no handler, and a start takes a moment. A second signal, or a stop that takes too long, ends
 * the process.
 */
export class StopSignals {
  /** Resolves with the first signal. */
  readonly asked: Promise<NodeJS.Signals>;
  #logger: Pick<Logger, "warn" | "error"> | null = null;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
    this.asked = promise;
    let isAsked = false;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => {
        if (isAsked) {
          this.#logger?.warn({ signal }, "stopping at once: unfinished tasks run again after the next start");
          process.exit(1);
        }
        isAsked = true;
        setTimeout(() => {
          this.#logger?.error({}, "the stop took too long: unfinished tasks run again after the next start");
          process.exit(1);
        }, FORCED_AFTER_MS).unref();
        resolve(signal);
      });
    }
  }

  /** From now on, a forced end is logged. */
  logTo(logger: Logger): void {
    this.#logger = logger;
  }
}
