import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { messageOf } from "../errors.ts";
import type { GroupCommit } from "../store/group-commit.ts";
import type { ClockWatch } from "./clock-watch.ts";
import { KEEP_DONE_MS } from "./storable-task.ts";
import type { TaskTable } from "./task-table.ts";

export type QueueHousekeepingOptions = {
  table: TaskTable;
  commits: GroupCommit;
  clock: Clock;
  clockWatch: ClockWatch;
  logger: Logger;
  /** The machine's time when an earlier process noted it last, epoch milliseconds; null: none did. */
  lastSeenAt: number | null;
  /** How long the id of a task that is done stays known, where it does. @default 7 days */
  keepDoneMs?: number | undefined;
  /** How long abandoned tasks are kept. @default 90 days */
  keepDeadMs?: number | undefined;
  /** Removes a bounded number of other things that are too old, inside a transaction. Returns whether more may be left. */
  sweep?: (() => boolean) | undefined;
  /** Called when the machine's clock was set back by this many milliseconds, after the waiting tasks were brought forward. */
  onClockSetBack?: ((byMs: number) => void) | undefined;
  /** Called when a pass may find something new. */
  wake: () => void;
  /** Called when the waiting tasks couldn't be brought forward. The next pass tries again. */
  onFault: (thrown: unknown) => void;
};

const oneDayMs = 24 * 60 * 60_000;
const retryMs = 1_000;
const sweepEveryMs = 60_000;
/** A step is bounded so that it never blocks for long. If there is more, more steps follow. */
const sweepLimit = 500;
const sweepMoreAfterMs = 1_000;
const seenEveryMs = 10_000;

/** Keeps the table right while tasks run: its pools, its times when the machine's clock is set back, and its size. */
export class QueueHousekeeping {
  readonly #table: TaskTable;
  readonly #commits: GroupCommit;
  readonly #clock: Clock;
  readonly #clockWatch: ClockWatch;
  readonly #logger: Logger;
  readonly #keepDoneMs: number;
  readonly #keepDeadMs: number;
  readonly #sweepMore: () => boolean;
  readonly #onClockSetBack: (byMs: number) => void;
  readonly #wake: () => void;
  readonly #onFault: (thrown: unknown) => void;
  #seenAt: number;
  #sweepDueAt = 0;
  #isStopped = false;
  /** Resolves when what waits was brought forward, or couldn't be. Null: the clock wasn't set back. */
  #following: Promise<void> | null = null;

  constructor(options: QueueHousekeepingOptions) {
    this.#table = options.table;
    this.#commits = options.commits;
    this.#clock = options.clock;
    this.#clockWatch = options.clockWatch;
    this.#logger = options.logger;
    this.#keepDoneMs = options.keepDoneMs ?? KEEP_DONE_MS;
    this.#keepDeadMs = options.keepDeadMs ?? 90 * oneDayMs;
    this.#sweepMore = options.sweep ?? (() => false);
    this.#onClockSetBack = options.onClockSetBack ?? (() => undefined);
    this.#wake = options.wake;
    this.#onFault = options.onFault;
    this.#seenAt = options.lastSeenAt ?? 0;
  }

  /** When the next sweep is due, epoch milliseconds. */
  get sweepDueAt(): number {
    return this.#sweepDueAt;
  }

  /** Puts what waits into the pools of this version, then wakes the queue. Tries again until it succeeds, or until {@link stop}. */
  movePools(): void {
    if (this.#isStopped) return;
    this.#commits
      .run(() => this.#table.movePools())
      .catch((thrown: unknown) => {
        this.#logger.error(
          { error: messageOf(thrown), retryInMs: retryMs },
          "task queue: cannot sort what waits into its pools; trying again",
        );
        this.#clock.wakeAt(this.#clock.now() + retryMs, () => this.movePools());
      })
      .finally(() => this.#wake());
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Inside a transaction: notes the machine's time now and then. */
  see(): void {
    const nowMs = this.#clock.now();
    // Never an earlier time. That the clock was set back is noted together with what follows from it.
    if (nowMs - this.#seenAt >= seenEveryMs) this.#see(nowMs);
  }

  /** Brings what waits forward if the machine's clock was set back, and then wakes the queue. Null: it wasn't set back. */
  followClock(nowMs: number): Promise<void> | null {
    if (this.#following !== null) return this.#following;
    const byMs = this.#clockWatch.setBackMs();
    if (byMs <= 0) return null;
    this.#following = this.#pullIn(byMs, nowMs).finally(() => {
      this.#following = null;
    });
    return this.#following;
  }

  /** Forgets what is too old, when it is time to, and then wakes the queue. */
  sweepIfDue(nowMs: number): void {
    if (nowMs >= this.#sweepDueAt) this.#sweep(nowMs);
  }

  /** Times that were computed before the clock was set back lie too far ahead now. */
  async #pullIn(byMs: number, nowMs: number): Promise<void> {
    this.#logger.warn({ by_ms: byMs }, "the machine's clock was set back; what waits is brought forward");
    this.#sweepDueAt = 0;
    try {
      await this.#commits.run(() => {
        this.#table.pullIn(byMs);
        // Not the time of this commit: the clock may have been set back once more by then.
        this.#see(nowMs);
      });
      this.#onClockSetBack(byMs);
      this.#wake();
    } catch (thrown) {
      this.#clockWatch.notTaken(byMs);
      this.#onFault(thrown);
    }
  }

  /** Inside a transaction. */
  #see(nowMs: number): void {
    this.#table.see(nowMs);
    this.#commits.afterCommit(() => {
      this.#seenAt = nowMs;
    });
  }

  #sweep(nowMs: number): void {
    this.#sweepDueAt = nowMs + sweepEveryMs;
    this.#commits
      .run(() => {
        const done = this.#table.forget("done", nowMs - this.#keepDoneMs, sweepLimit);
        const dead = this.#table.forget("dead", nowMs - this.#keepDeadMs, sweepLimit);
        const more = this.#sweepMore();
        return done || dead || more;
      })
      .then(
        (hasMore) => {
          if (hasMore) this.#sweepDueAt = this.#clock.now() + sweepMoreAfterMs;
          this.#wake();
        },
        (thrown: unknown) =>
          this.#logger.warn({ error: messageOf(thrown) }, "task queue: cannot forget what is too old now"),
      );
  }
}
