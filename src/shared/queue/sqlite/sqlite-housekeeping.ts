import type { Clock, Logger } from "../../machine/ports.ts";
import { messageOf } from "../../errors.ts";
import type { SqliteStore } from "../../store/sqlite/open-sqlite-store.ts";
import type { Kinds } from "../../store/record-types.ts";
import { KEEP_DONE_MS } from "../storable-task.ts";
import type { TaskTable } from "./task-table.ts";

type SqliteHousekeepingOptions = {
  table: TaskTable;
  store: Pick<SqliteStore<Kinds>, "commits" | "sweep"> & {
    rateLimiter: Pick<SqliteStore<Kinds>["rateLimiter"], "pullIn">;
  };
  clock: Clock;
  logger: Logger;
  /** How long abandoned tasks are kept. @default 90 days */
  keepDeadMs?: number | undefined;
};

const NINETY_DAYS_MS = 90 * 24 * 60 * 60_000;
const SWEEP_EVERY_MS = 60_000;
/** A step is bounded so that it never blocks for long. More steps follow if needed. */
const SWEEP_LIMIT = 500;
const SWEEP_MORE_AFTER_MS = 1_000;
const SEEN_EVERY_MS = 10_000;
/** Clocks are adjusted by milliseconds all the time. Only a step matters. */
const TOLERANCE_MS = 2_000;

/**
 * Maintains the task table while tasks run: limits its size, and corrects its times if the
 * machine's clock was set back while no process had them.
 */
export class SqliteHousekeeping {
  readonly #options: SqliteHousekeepingOptions;
  readonly #clock: Clock;
  /** When the next sweep is due, epoch milliseconds. */
  sweepDueAt = 0;
  /** The time that was last noted, perhaps by an earlier process, epoch milliseconds. */
  #seenAt: number;
  /** By how much waiting tasks still have to be brought forward, milliseconds. */
  #behindMs: number;
  /** Settles when waiting tasks were brought forward, or couldn't be. */
  #following: Promise<void> | null = null;

  constructor(options: SqliteHousekeepingOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#seenAt = options.table.lastSeenAt() ?? 0;
    this.#behindMs = Math.round(this.#seenAt - this.#clock.now());
    if (this.#behindMs <= TOLERANCE_MS) return;
    // They are saved with the next commit, which is the one that brings the tasks forward.
    options.store.rateLimiter.pullIn(this.#behindMs);
    // Each pass tries again.
    this.followClock()?.catch(noop);
  }

  /** Inside a transaction: notes the time now and then. */
  see(): void {
    const nowMs = this.#clock.now();
    // Never notes an earlier time: that goes together with its consequences.
    if (nowMs - this.#seenAt >= SEEN_EVERY_MS) this.#see(nowMs);
  }

  /**
   * Brings waiting tasks forward if an earlier process noted a later time. Rejects if that has to
   * be tried again. Null if there is nothing to do.
   */
  followClock(): Promise<void> | null {
    if (this.#behindMs <= TOLERANCE_MS) return null;
    this.#following ??= this.#pullIn(this.#behindMs).finally(() => (this.#following = null));
    return this.#following;
  }

  /** Removes old tasks. Resolves even if that fails. */
  async sweep(): Promise<void> {
    const { table, store, keepDeadMs = NINETY_DAYS_MS, logger } = this.#options;
    const nowMs = this.#clock.now();
    this.sweepDueAt = nowMs + SWEEP_EVERY_MS;
    try {
      const hasMore = await store.commits.run(() => {
        const done = table.forget("done", nowMs - KEEP_DONE_MS, SWEEP_LIMIT);
        const dead = table.forget("dead", nowMs - keepDeadMs, SWEEP_LIMIT);
        const more = store.sweep();
        return done || dead || more;
      });
      if (hasMore) this.sweepDueAt = this.#clock.now() + SWEEP_MORE_AFTER_MS;
    } catch (thrown) {
      logger.warn({ error: messageOf(thrown) }, "task queue: cannot remove old tasks now");
    }
  }

  /** Times computed before the clock was set back now lie too far ahead. */
  async #pullIn(byMs: number): Promise<void> {
    const { table, store, logger } = this.#options;
    const nowMs = this.#clock.now();
    logger.warn({ by_ms: byMs }, "the machine's clock was set back; waiting tasks are brought forward");
    await store.commits.run(() => {
      table.pullIn(byMs);
      this.#see(nowMs);
      store.commits.afterCommit(() => (this.#behindMs = 0));
    });
  }

  /** Inside a transaction. */
  #see(nowMs: number): void {
    this.#options.table.see(nowMs);
    this.#options.store.commits.afterCommit(() => (this.#seenAt = nowMs));
  }
}

function noop(): void {}
