import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { DocsAgentError } from "../errors.ts";

const LATE_MS = 60_000;

/** Tasks wait although this process could run them. */
class QueueStandsStillError extends DocsAgentError {
  readonly code = "queue_stands_still";

  constructor(lateMs: number) {
    const seconds = Math.floor(lateMs / 1_000);
    super(
      `The first task that waits has been due for ${seconds} s, and this process has begun none for a minute. Look at the log for errors of the task queue, and restart the process.`,
    );
  }
}

/** Notices that a process begins nothing, although something has been due for a minute and there is room for it. */
export class Standstill {
  readonly #clock: Clock;
  readonly #logger: Logger;
  #beganAtMs: number;
  #isSaid = false;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
    this.#beganAtMs = clock.monotonicMs();
  }

  /** A task was begun. */
  began(): void {
    this.#beganAtMs = this.#clock.monotonicMs();
  }

  /**
   * Returns what is wrong, and logs it once, if nothing was begun for a minute and something is late by as much; otherwise null. `firstDueAt`: when
   * the first task was due that nobody has claimed and for which there is room, epoch milliseconds; null if there is none.
   */
  look(firstDueAt: number | null): DocsAgentError | null {
    const lateMs = firstDueAt === null ? 0 : this.#clock.now() - firstDueAt;
    const isStill = lateMs >= LATE_MS && this.#clock.monotonicMs() - this.#beganAtMs >= LATE_MS;
    const error = isStill ? new QueueStandsStillError(lateMs) : null;
    if (error !== null && !this.#isSaid) {
      this.#logger.error({ late_ms: lateMs }, `task queue: ${error.message}`);
    }
    this.#isSaid = isStill;
    return error;
  }
}
