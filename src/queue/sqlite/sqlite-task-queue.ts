import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../core/ports/clock.ts";
import type { Logger } from "../../core/ports/logger.ts";
import type { Read, Write } from "../../core/ports/records.ts";
import type {
  Append,
  Decision,
  Limit,
  NewTask,
  TaskCounts,
  TaskHandler,
  TaskQueue,
} from "../../core/ports/task-queue.ts";
import { type LimitReachedError, messageOf } from "../../core/errors.ts";
import type { GroupCommit } from "../../store/sqlite/group-commit.ts";
import { writeProbe } from "../../store/sqlite/sqlite-database.ts";
import { QueueHousekeeping, type QueueHousekeepingOptions } from "../queue-housekeeping.ts";
import { SqliteRuns } from "./sqlite-runs.ts";
import { type Pools, toStorableTask } from "../storable-task.ts";
import { QueueStoppedError, faultDelayMs } from "../task-runs.ts";
import { TaskTable } from "./task-table.ts";

type SqliteTaskQueueOptions = Pick<QueueHousekeepingOptions, "keepDeadMs" | "sweep" | "onClockSetBack"> & {
  /** The store's database, which this process owns. */
  db: DatabaseSync;
  /** What writes to `db`. */
  commits: GroupCommit;
  clock: Clock;
  logger: Logger;
  /**
   * What decisions read and write, inside a transaction; `peek` reads records outside of one.
   * Absent: there are no records and no series.
   */
  records?: { read: Read; peek: Read; write: (write: Write) => void; append: (append: Append) => void };
  /**
   * Inside a transaction: counts against limits, or returns why it doesn't. Absent: no plan has
   * any.
   */
  takeWithin?: (limits: readonly Limit[]) => LimitReachedError | null;
  /** @default one pool of 16 */
  pools?: Pools;
};

/** A pass at least this often, to notice a clock that was set back. */
const passAtLeastEveryMs = 10_000;

/**
 * A task queue on the `tasks` table of a SQLite file that one process owns. What runs is known in
 * that process's memory.
 */
export class SqliteTaskQueue implements TaskQueue {
  readonly #db: DatabaseSync;
  readonly #commits: GroupCommit;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #records: NonNullable<SqliteTaskQueueOptions["records"]>;
  readonly #takeWithin: NonNullable<SqliteTaskQueueOptions["takeWithin"]>;
  readonly #pools: Pools;
  readonly #table: TaskTable;
  readonly #runs: SqliteRuns;
  readonly #housekeeping: QueueHousekeeping;

  #handler: TaskHandler | undefined;
  /** The error of the last pass, until a pass succeeds. */
  #fault: unknown;
  #isPassPending = false;
  #cancelWake: () => void = noop;
  #whenIdle: Array<() => void> = [];

  constructor(options: SqliteTaskQueueOptions) {
    const { db, commits, clock, logger } = options;
    this.#db = db;
    this.#commits = commits;
    this.#clock = clock;
    this.#logger = logger;
    this.#records = options.records ?? {
      read: noRecords,
      peek: noRecords,
      write: noRecords,
      append: noRecords,
    };
    this.#takeWithin = options.takeWithin ?? noRecords;
    this.#pools = options.pools ?? { of: () => "all", budgets: { all: 16 } };
    const table = new TaskTable(db, this.#pools, (seq) => this.#runs.runOf(seq)?.hasEnded === false);
    this.#table = table;
    this.#housekeeping = new QueueHousekeeping({ ...options, table });
    this.#runs = new SqliteRuns({
      table,
      commits,
      clock,
      logger,
      budgets: this.#pools.budgets,
      carryOut: (decide) => valueOf(this.#carryOut(decide)),
      commit: (decide) => this.commit(decide),
      onEnd: () => this.#housekeeping.lookAtClock(),
      onEnded: () => this.#wake(),
      onNotStarted: (thrown) => this.#failPass(thrown),
    });
    this.#commits.ride(() => {
      this.#housekeeping.see();
      this.#runs.count();
    });
  }

  async add(task: NewTask): Promise<boolean> {
    this.#housekeeping.lookAtClock();
    const storable = toStorableTask(task, this.#clock.now(), this.#pools);
    try {
      return await this.#commits.run(() => this.#table.add(storable, this.#clock.now()));
    } finally {
      this.#wake();
    }
  }

  async commit<T>(decide: Decision<T>): Promise<T> {
    if (this.#runs.isReleased) throw new QueueStoppedError();
    this.#housekeeping.lookAtClock();
    try {
      const done = await this.#commits.run(() => this.#carryOut(decide));
      // A limit that was reached lies further ahead by a clock that was set back since.
      const following = "refused" in done ? this.#housekeeping.followClock() : null;
      if (following === null) return valueOf(done);
      await following;
      return valueOf(await this.#commits.run(() => this.#carryOut(decide)));
    } finally {
      this.#wake();
    }
  }

  async read<T>(ask: (read: Read) => T): Promise<T> {
    return ask(this.#records.peek);
  }

  start(handler: TaskHandler): void {
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
    // A result that has come by now is written, so that its work isn't done again.
    await this.#commits.settled();
    await this.#runs.release();
  }

  async check(): Promise<void> {
    if (this.#runs.isStopped) throw new QueueStoppedError();
    await this.#commits.run(() => writeProbe(this.#db, this.#clock.now()));
    for (const fault of [this.#fault, ...this.#runs.faults, this.#lookForStandstill()]) {
      if (fault !== undefined && fault !== null) throw fault;
    }
  }

  async counts(): Promise<TaskCounts> {
    const { waiting, dead } = this.#table.counts();
    return { waiting: waiting - this.#runs.size, running: this.#runs.size, dead };
  }

  /**
   * Resolves when, at the clock's time, nothing runs and nothing is due, or once the queue is
   * stopped.
   */
  async idle(): Promise<void> {
    if (this.#runs.isStopped) return;
    const idle = new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    this.#wake();
    await idle;
  }

  /** When the next task that waits is due, in epoch milliseconds; null if none waits. */
  nextDueAt(): number | null {
    const dueAt = this.#runs.nextDueAt();
    return dueAt === Infinity ? null : dueAt;
  }

  /**
   * Inside a transaction: decides, writes and adds. A refusal is returned, as it has nothing that
   * would have to be undone: what is thrown here has all works of the transaction run once more.
   */
  #carryOut<T>(decide: Decision<T>): CarriedOut<T> {
    const { writes = [], adds = [], appends = [], within = [], value } = decide(this.#records.read);
    const refused = within.length > 0 ? this.#takeWithin(within) : null;
    if (refused !== null) return { refused };
    for (const write of writes) this.#records.write(write);
    for (const append of appends) this.#records.append(append);
    const nowMs = this.#clock.now();
    for (const task of adds) this.#table.add(toStorableTask(task, nowMs, this.#pools), nowMs);
    return { value };
  }

  #lookForStandstill(): Error | null {
    const firstAt = this.#runs.nextStartAt();
    return this.#runs.lookForStandstill(firstAt === Infinity ? null : firstAt);
  }

  /**
   * Puts what waits into the pools of this version, then wakes the queue. Tries again until it
   * succeeds.
   */
  async #movePools(): Promise<void> {
    if (this.#runs.isStopped) return;
    try {
      await this.#commits.run(() => this.#table.movePools());
    } catch (thrown) {
      this.#logger.error(
        { error: messageOf(thrown), retryInMs: faultDelayMs },
        "task queue: cannot sort what waits into its pools; trying again",
      );
      this.#clock.wakeAt(this.#clock.now() + faultDelayMs, () => void this.#movePools());
    }
    this.#wake();
  }

  /** Makes a pass soon, but not at once, so that things that happen together lead to one pass. */
  #wake(): void {
    if (this.#isPassPending || this.#runs.isStopped || !this.#handler) return;
    this.#isPassPending = true;
    setImmediate(() => {
      this.#isPassPending = false;
      if (this.#handler && !this.#runs.isStopped) this.#pass(this.#handler);
    });
  }

  /**
   * Starts what is due and sleeps until there is something to do. If this fails, it is tried again.
   */
  #pass(handler: TaskHandler): void {
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
      this.#runs.startDue(handler, nowMs);
      this.#lookForStandstill();
      if (nowMs >= this.#housekeeping.sweepDueAt) void this.#housekeeping.sweep().then(() => this.#wake());
      this.#sleepUntil(
        Math.min(this.#runs.nextStartAt(), this.#housekeeping.sweepDueAt, nowMs + passAtLeastEveryMs),
      );
      this.#fault = undefined;
      if (this.#isIdle(nowMs)) this.#tellIdle();
      // A commit that somebody else asked for doesn't wake the queue.
      else if (this.#whenIdle.length > 0 && !this.#commits.isIdle) this.#wake();
    } catch (thrown) {
      this.#failPass(thrown);
    }
  }

  #failPass(thrown: unknown): void {
    this.#fault = thrown;
    this.#logger.error(
      { error: messageOf(thrown), retryInMs: faultDelayMs },
      "task queue: pass failed; trying again",
    );
    this.#sleepUntil(this.#clock.now() + faultDelayMs);
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
