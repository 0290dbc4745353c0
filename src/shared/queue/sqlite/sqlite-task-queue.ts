import type { Clock, Logger } from "../../machine/ports.ts";
import type { DecisionOf, NewTask, PoolCounts, TaskCounts, TaskHandlerOf, TaskQueue } from "../task-queue.ts";
import { type LimitReachedError, messageOf } from "../../errors.ts";
import type { SqliteStore } from "../../store/sqlite/open-sqlite-store.ts";
import type { Kinds, ReadOf } from "../../store/record-types.ts";
import type { GroupCommit } from "../../store/sqlite/group-commit.ts";
import { writeProbe } from "../../store/sqlite/sqlite-database.ts";
import { SqliteHousekeeping } from "./sqlite-housekeeping.ts";
import { SqliteRuns } from "./sqlite-runs.ts";
import { type Pools, toStorableTask } from "../storable-task.ts";
import { QueueStoppedError, FAULT_DELAY_MS } from "../task-runs.ts";
import { TaskTable } from "./task-table.ts";

/** What the queue uses of a store. */
type QueueStore<R extends Kinds> = Pick<SqliteStore<R>, "db" | "commits" | "decided" | "sweep"> & {
  rateLimiter: Pick<SqliteStore<R>["rateLimiter"], "takeWithin" | "pullIn">;
};

type SqliteTaskQueueOptions<R extends Kinds> = {
  /** A program without records, series and limits has only the first two. */
  store: Pick<QueueStore<R>, "db" | "commits"> & Partial<QueueStore<R>>;
  clock: Clock;
  logger: Logger;
  pools: Pools;
  /** How long abandoned tasks are kept. @default 90 days */
  keepDeadMs?: number;
};

/** For a queue without records, series and limits. */
function tasksOnly<R extends Kinds>(): Omit<QueueStore<R>, "db" | "commits"> {
  return {
    decided: { read: noRecords, peek: noRecords, write: noRecords, append: noRecords },
    rateLimiter: { takeWithin: noRecords, pullIn: noop },
    sweep: () => false,
  };
}

/** The longest time between passes: timers leave out the time in which the machine was asleep. */
const PASS_AT_LEAST_EVERY_MS = 10_000;

/**
 * A task queue on the `tasks` table of a SQLite file that one process owns. That process keeps in
 * memory which tasks are running.
 */
export class SqliteTaskQueue<R extends Kinds> implements TaskQueue<R> {
  readonly #options: SqliteTaskQueueOptions<R>;
  readonly #store: QueueStore<R>;
  readonly #commits: GroupCommit;
  readonly #clock: Clock;
  readonly #table: TaskTable;
  readonly #runs: SqliteRuns<R>;
  readonly #housekeeping: SqliteHousekeeping;

  #handler: TaskHandlerOf<R> | undefined;
  /** The last pass's error, until a pass succeeds. */
  #fault: unknown;
  #isPassPending = false;
  #cancelWake: () => void = noop;
  #whenIdle: Array<() => void> = [];

  constructor(options: SqliteTaskQueueOptions<R>) {
    this.#options = options;
    const { clock, logger, pools } = options;
    const store = { ...tasksOnly<R>(), ...options.store };
    const { db, commits } = store;
    this.#store = store;
    this.#commits = commits;
    this.#clock = clock;
    const table = new TaskTable(db, pools, (seq) => this.#runs.runOf(seq)?.hasEnded === false);
    this.#table = table;
    this.#housekeeping = new SqliteHousekeeping({ ...options, store, table });
    this.#runs = new SqliteRuns({
      table,
      commits,
      clock,
      logger,
      budgets: pools.budgets,
      carryOut: (decide) => valueOf(this.#carryOut(decide)),
      commit: (decide) => this.commit(decide),
      write: (work) => this.#writing(() => this.#commits.run(work)),
      onNotStarted: (thrown) => this.#failPass(thrown),
    });
    this.#commits.ride(() => {
      this.#housekeeping.see();
      this.#runs.count();
    });
  }

  async add(task: NewTask): Promise<boolean> {
    return this.#writing(async () => {
      const storable = toStorableTask(task, this.#clock.now(), this.#options.pools);
      return this.#commits.run(() => this.#table.add(storable, this.#clock.now()));
    });
  }

  async commit<T>(decide: DecisionOf<R, T>): Promise<T> {
    if (this.#runs.isReleased) throw new QueueStoppedError();
    return this.#writing(async () => valueOf(await this.#commits.run(() => this.#carryOut(decide))));
  }

  async read<T>(ask: (read: ReadOf<R>) => T): Promise<T> {
    return ask(this.#store.decided.peek);
  }

  start(handler: TaskHandlerOf<R>): void {
    if (this.#handler) throw new Error("The task queue was started before");
    if (this.#runs.isStopped) throw new QueueStoppedError();
    this.#handler = handler;
    this.#runs.beginCounting();
    void this.#movePools();
  }

  async stop(graceMs: number): Promise<void> {
    this.#cancelWake();
    this.#tellIdle();
    await this.#runs.drain(graceMs);
    // Results that have arrived are stored, so that their work isn't repeated.
    await this.#commits.settled();
    await this.#runs.release();
  }

  async check(): Promise<void> {
    if (this.#runs.isStopped) throw new QueueStoppedError();
    await this.#commits.run(() => writeProbe(this.#store.db, this.#clock.now()));
    const standstill = this.#runs.lookForStandstill(this.#runs.nextStartAt());
    for (const fault of [this.#fault, ...this.#runs.faults, standstill]) {
      if (fault !== undefined && fault !== null) throw fault;
    }
  }

  async counts(): Promise<TaskCounts> {
    const { waiting, dead } = this.#table.counts();
    return { waiting: waiting - this.#runs.size, running: this.#runs.size, dead };
  }

  async countsByPool(): Promise<PoolCounts> {
    return this.#runs.countsByPool(this.#table.countsByPool());
  }

  /** Resolves when nothing is running or due, or once the queue is stopped. */
  async idle(): Promise<void> {
    if (this.#runs.isStopped) return;
    const idle = new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    this.#wake();
    await idle;
  }

  /** When the next waiting task is due, epoch milliseconds. Null if none waits. */
  nextDueAt(): number | null {
    const dueAt = this.#runs.nextDueAt();
    return dueAt === Infinity ? null : dueAt;
  }

  /** Writes something, and wakes the queue for what it may add. */
  async #writing<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } finally {
      this.#wake();
    }
  }

  /**
   * Inside a transaction: decides, writes and adds. A refusal is returned rather than thrown: it
   * has nothing to undo, and an error would make all works of the transaction run again.
   */
  #carryOut<T>(decide: DecisionOf<R, T>): CarriedOut<T> {
    const { decided, rateLimiter } = this.#store;
    const { writes = [], removes = [], adds = [], appends = [], within = [], value } = decide(decided.read);
    const refused = within.length > 0 ? rateLimiter.takeWithin(within) : null;
    if (refused !== null) return { refused };
    for (const write of writes) decided.write(write);
    for (const append of appends) decided.append(append);
    for (const id of removes) this.#table.remove(id);
    const nowMs = this.#clock.now();
    for (const task of adds) this.#table.add(toStorableTask(task, nowMs, this.#options.pools), nowMs);
    return { value };
  }

  /** Moves waiting tasks to this version's pools, then wakes the queue. Tries until it succeeds. */
  async #movePools(): Promise<void> {
    if (this.#runs.isStopped) return;
    try {
      await this.#commits.run(() => this.#table.movePools());
    } catch (thrown) {
      this.#options.logger.error(
        { error: messageOf(thrown), retryInMs: FAULT_DELAY_MS },
        "task queue: cannot move waiting tasks to their pools; trying again",
      );
      this.#clock.wakeAt(this.#clock.now() + FAULT_DELAY_MS, () => void this.#movePools());
    }
    this.#wake();
  }

  /** Makes a pass soon but not at once, so that simultaneous events lead to one pass. */
  #wake(): void {
    if (this.#isPassPending || this.#runs.isStopped || !this.#handler) return;
    this.#isPassPending = true;
    setImmediate(() => {
      this.#isPassPending = false;
      if (this.#handler && !this.#runs.isStopped) this.#pass(this.#handler);
    });
  }

  /** Starts due tasks and sleeps until there is something to do. Tries again if this fails. */
  #pass(handler: TaskHandlerOf<R>): void {
    const nowMs = this.#clock.now();
    try {
      this.#commits.assertOwned();
      const following = this.#housekeeping.followClock();
      if (following !== null) {
        following.then(
          () => this.#wake(),
          (thrown: unknown) => this.#failPass(thrown),
        );
        return;
      }
      const nextAt = this.#runs.startDue(handler, nowMs);
      this.#runs.lookForStandstill(nextAt);
      if (nowMs >= this.#housekeeping.sweepDueAt) void this.#housekeeping.sweep().then(() => this.#wake());
      this.#sleepUntil(Math.min(nextAt, this.#housekeeping.sweepDueAt, nowMs + PASS_AT_LEAST_EVERY_MS));
      this.#fault = undefined;
      if (this.#whenIdle.length === 0) return;
      if (this.#isIdle(nowMs)) this.#tellIdle();
      // Other users' commits don't wake the queue.
      else if (!this.#commits.isIdle) this.#wake();
    } catch (thrown) {
      this.#failPass(thrown);
    }
  }

  #failPass(thrown: unknown): void {
    this.#fault = thrown;
    this.#options.logger.error(
      { error: messageOf(thrown), retryInMs: FAULT_DELAY_MS },
      "task queue: pass failed; trying again",
    );
    this.#sleepUntil(this.#clock.now() + FAULT_DELAY_MS);
  }

  #sleepUntil(atMs: number): void {
    this.#cancelWake();
    this.#cancelWake = this.#clock.wakeAt(atMs, () => this.#wake());
  }

  #tellIdle(): void {
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #isIdle(nowMs: number): boolean {
    return this.#runs.size === 0 && this.#commits.isIdle && this.#runs.nextDueAt() > nowMs;
  }
}

type CarriedOut<T> = { value: T } | { refused: LimitReachedError };

function valueOf<T>(done: CarriedOut<T>): T {
  if ("refused" in done) throw done.refused;
  return done.value;
}

function noRecords(): never {
  throw new TypeError("This task queue has no records, series or limits");
}

function noop(): void {}
