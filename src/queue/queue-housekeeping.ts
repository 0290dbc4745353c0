import type { Clock } from "../core/ports/clock.ts";
import type { Logger } from "../core/ports/logger.ts";
import { messageOf } from "../core/errors.ts";
import type { GroupCommit } from "../store/sqlite/group-commit.ts";
import { KEEP_DONE_MS } from "./storable-task.ts";
import type { TaskTable } from "./sqlite/task-table.ts";

export type QueueHousekeepingOptions = {
  table: TaskTable;
  commits: GroupCommit;
  clock: Clock;
  logger: Logger;
  /** How long abandoned tasks are kept. @default 90 days */
  keepDeadMs?: number | undefined;
  /**
   * Removes a bounded number of other things that are too old, inside a transaction. Returns
   * whether more may be left.
   */
  sweep?: (() => boolean) | undefined;
  /**
   * Called when the machine's clock was set back by this many milliseconds, after the waiting tasks
   * were brought forward.
   */
  onClockSetBack?: ((byMs: number) => void) | undefined;
};

const ninetyDaysMs = 90 * 24 * 60 * 60_000;
const sweepEveryMs = 60_000;
/** A step is bounded so that it never blocks for long. If there is more, more steps follow. */
const sweepLimit = 500;
const sweepMoreAfterMs = 1_000;
const seenEveryMs = 10_000;
/** Clocks are slewed by milliseconds all the time; only a step is worth a word. */
const toleranceMs = 2_000;

/**
 * Keeps the table right while tasks run: its times when the machine's clock is set back, and its
 * size.
 */
export class QueueHousekeeping {
  readonly #options: QueueHousekeepingOptions;
  readonly #clock: Clock;
  /** When the next sweep is due, epoch milliseconds. */
  sweepDueAt = 0;
  /** The machine's time as it was noted last, also by an earlier process, epoch milliseconds. */
  #seenAt: number;
  /**
   * The furthest that the machine's clock was ahead of the monotonic one, milliseconds, since it
   * was last set back.
   */
  #aheadMs: number;
  /**
   * Settles when what waits was brought forward, or couldn't be. Null: the clock wasn't set back.
   */
  #following: Promise<void> | null = null;

  constructor(options: QueueHousekeepingOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#seenAt = options.table.lastSeenAt() ?? 0;
    this.#aheadMs = Math.max(this.#clock.now(), this.#seenAt) - this.#clock.monotonicMs();
  }

  /**
   * Notes what the clock shows, so that times that are computed by it now are known when it is set
   * back soon after.
   */
  lookAtClock(): void {
    this.#aheadMs = Math.max(this.#aheadMs, this.#nowAheadMs());
  }

  /** Inside a transaction: notes the machine's time now and then. */
  see(): void {
    const nowMs = this.#clock.now();
    // Never an earlier time. That the clock was set back is noted together with what follows from
    // it.
    if (nowMs - this.#seenAt >= seenEveryMs) this.#see(nowMs);
  }

  /**
   * Brings what waits forward if the machine's clock was set back; rejects if that has to be tried
   * again. Null: it wasn't set back.
   */
  followClock(): Promise<void> | null {
    if (this.#following !== null) return this.#following;
    const aheadMs = this.#nowAheadMs();
    const byMs = Math.round(this.#aheadMs - aheadMs);
    this.#aheadMs = aheadMs;
    if (byMs <= toleranceMs) return null;
    this.#following = this.#pullIn(byMs).finally(() => {
      this.#following = null;
    });
    return this.#following;
  }

  /** Forgets what is too old. Resolves, also where that fails. */
  async sweep(): Promise<void> {
    const { table, commits, keepDeadMs = ninetyDaysMs, sweep = () => false, logger } = this.#options;
    const nowMs = this.#clock.now();
    this.sweepDueAt = nowMs + sweepEveryMs;
    try {
      const hasMore = await commits.run(() => {
        const done = table.forget("done", nowMs - KEEP_DONE_MS, sweepLimit);
        const dead = table.forget("dead", nowMs - keepDeadMs, sweepLimit);
        const more = sweep();
        return done || dead || more;
      });
      if (hasMore) this.sweepDueAt = this.#clock.now() + sweepMoreAfterMs;
    } catch (thrown) {
      logger.warn({ error: messageOf(thrown) }, "task queue: cannot forget what is too old now");
    }
  }

  /** Times that were computed before the clock was set back lie too far ahead now. */
  async #pullIn(byMs: number): Promise<void> {
    const { table, commits, logger, onClockSetBack } = this.#options;
    const nowMs = this.#clock.now();
    logger.warn({ by_ms: byMs }, "the machine's clock was set back; what waits is brought forward");
    this.sweepDueAt = 0;
    try {
      await commits.run(() => {
        table.pullIn(byMs);
        // Not the time of this commit: the clock may have been set back once more by then.
        this.#see(nowMs);
      });
    } catch (thrown) {
      this.#aheadMs += byMs;
      throw thrown;
    }
    onClockSetBack?.(byMs);
  }

  /** Inside a transaction. */
  #see(nowMs: number): void {
    this.#options.table.see(nowMs);
    this.#options.commits.afterCommit(() => {
      this.#seenAt = nowMs;
    });
  }

  #nowAheadMs(): number {
    return this.#clock.now() - this.#clock.monotonicMs();
  }
}
