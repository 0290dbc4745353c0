import type { Logger } from "./ports.ts";

/** Time after which a stop is forced, milliseconds. */
export const FORCED_AFTER_MS = 9500;

/** A signal that comes again this soon is the same one: npm passes on what its whole group got. */
const SAME_WITHIN_MS = 500;

/** Calls `take` for each signal that asks the process to stop, once if it comes twice at once. */
export function onStopSignal(
  take: (signal: NodeJS.Signals) => void,
  signals: Pick<NodeJS.Process, "on"> = process,
  monotonicMs = () => performance.now(),
): void {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    let takenAtMs = -Infinity;
    signals.on(signal, () => {
      const nowMs = monotonicMs();
      if (nowMs - takenAtMs < SAME_WITHIN_MS) return;
      takenAtMs = nowMs;
      take(signal);
    });
  }
}

/**
 * Signals that ask the process to stop. Construct it first of all: process 1 ignores signals
 * without a handler, and a start takes a moment. A second signal, or a stop that takes too long,
 * ends the process at once.
 */
export class StopSignals {
  /** Resolves with the first signal. */
  readonly asked: Promise<NodeJS.Signals>;
  #logger: Pick<Logger, "warn" | "error"> | null = null;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
    this.asked = promise;
    let isAsked = false;
    onStopSignal((signal) => {
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

  /** Logs a forced end from now on. */
  logTo(logger: Logger): void {
    this.#logger = logger;
  }
}
