import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { Read, Write } from "../core/records.ts";
import type {
  Append,
  Decision,
  Limit,
  NewTask,
  TaskCounts,
  TaskHandler,
  TaskQueue,
} from "../core/task-queue.ts";
import { type LimitReachedError, messageOf } from "../errors.ts";
import type { GroupCommit } from "../store/group-commit.ts";
import { writeProbe } from "../store/sqlite-database.ts";
import { ClockWatch } from "./clock-watch.ts";
import { type Pools, poolName } from "./pool-budgets.ts";
import { QueueHousekeeping } from "./queue-housekeeping.ts";
import type { QueueHousekeepingOptions } from "./queue-housekeeping.ts";
import { QueueStoppedError } from "./queue-stopped-error.ts";
import { Standstill } from "./standstill.ts";
import { toStorableTask } from "./storable-task.ts";
import { TaskRuns } from "./task-runs.ts";
import { type DeadTask, TaskTable } from "./task-table.ts";
import { Waiters } from "./waiters.ts";

type SqliteTaskQueueOptions = Pick<
  QueueHousekeepingOptions,
  "keepDoneMs" | "keepDeadMs" | "sweep" | "onClockSetBack"
> & {
  /** The store's database, which this process owns. */
  db: DatabaseSync;
  /** What writes to `db`. */
  commits: GroupCommit;
  clock: Clock;
  logger: Logger;
  /** What decisions read and write, inside a transaction; `peek` reads records outside of one. Absent: there are no records and no series. */
  records?: { read: Read; peek: Read; write: (write: Write) => void; append: (append: Append) => void };
  /** Inside a transaction: counts against limits, or returns why it doesn't. Absent: no plan has any. */
  takeWithin?: (limits: readonly Limit[]) => LimitReachedError | null;
  /** @default one pool of 16 */
  pools?: Pools;
};

const faultDelayMs = 1_000;
/** A pass at least this often, to notice a clock that was set back. */
const passAtLeastEveryMs = 10_000;

/** A task queue on the `tasks` table of a SQLite file that one process owns. What runs is known in that process's memory. */
export class SqliteTaskQueue implements TaskQueue {
  readonly #db: DatabaseSync;
  readonly #commits: GroupCommit;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #records: NonNullable<SqliteTaskQueueOptions["records"]>;
  readonly #takeWithin: NonNullable<SqliteTaskQueueOptions["takeWithin"]>;
  readonly #table: TaskTable;
  readonly #clockWatch: ClockWatch;
  readonly #runs: TaskRuns;
  readonly #housekeeping: QueueHousekeeping;
  readonly #standstill: Standstill;

  #handler: TaskHandler | undefined;
  #isStopped = false;
  /** The error of the last pass, until a pass succeeds. */
  #fault: unknown;
  #isPassPending = false;
  #cancelWake: () => void = noop;
  readonly #idle = new Waiters();

  constructor(options: SqliteTaskQueueOptions) {
    const { db, commits, clock, logger, pools = { of: () => "all", budgets: { all: 16 } } } = options;
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
    this.#table = new TaskTable(db, {
      poolOf: (type, share) => poolName(pools, type, share),
      isRunning: (seq) => this.#runs.isRunning(seq),
      isHeld: (seq) => this.#runs.isHeld(seq),
    });
    const lastSeenAt = this.#table.lastSeenAt();
    this.#clockWatch = new ClockWatch(clock, lastSeenAt);
    this.#standstill = new Standstill(clock, logger);
    const shared = { table: this.#table, commits, clock, clockWatch: this.#clockWatch, logger };
    this.#runs = new TaskRuns({
      ...shared,
      budgets: pools.budgets,
      carryOut: (decide) => valueOf(this.#carryOut(decide)),
      commit: (decide) => this.commit(decide),
      onEnded: () => this.#wake(),
      onBegan: () => this.#standstill.began(),
      onNotStarted: (thrown) => this.#failPass(thrown),
    });
    this.#housekeeping = new QueueHousekeeping({
      ...shared,
      lastSeenAt,
      keepDoneMs: options.keepDoneMs,
      keepDeadMs: options.keepDeadMs,
      sweep: options.sweep,
      onClockSetBack: options.onClockSetBack,
      wake: () => this.#wake(),
      onFault: (thrown) => this.#failPass(thrown),
    });
    this.#commits.ride(() => {
      this.#housekeeping.see();
      this.#runs.count();
    });
  }

  async add(task: NewTask): Promise<boolean> {
    this.#clockWatch.look();
    const storable = toStorableTask(task, this.#clock.now());
    try {
      return await this.#commits.run(() => this.#table.add(storable, this.#clock.now()));
    } finally {
      this.#wake();
    }
  }

  async commit<T>(decide: Decision<T>): Promise<T> {
    if (this.#runs.isReleased) throw new QueueStoppedError();
    this.#clockWatch.look();
    try {
      const done = await this.#commits.run(() => this.#carryOut(decide));
      // A limit that was reached lies further ahead by a clock that was set back since.
      const following = "refused" in done ? this.#housekeeping.followClock(this.#clock.now()) : null;
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
    if (this.#isStopped) throw new QueueStoppedError();
    this.#handler = handler;
    this.#runs.beginCounting();
    this.#housekeeping.movePools();
  }

  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    this.#cancelWake();
    this.#idle.resolveAll();
    this.#housekeeping.stop();
    await this.#runs.stop(graceMs);
    // A result that has come by now is written, so that its work isn't done again.
    await this.#commits.settled();
    this.#runs.release();
    await this.#commits.settled();
  }

  async check(): Promise<void> {
    if (this.#isStopped) throw new QueueStoppedError();
    await this.#commits.run(() => writeProbe(this.#db, this.#clock.now()));
    for (const fault of [this.#fault, ...this.#runs.faults, this.#lookForStandstill()]) {
      if (fault !== undefined && fault !== null) throw fault;
    }
  }

  async counts(): Promise<TaskCounts> {
    const { waiting, dead } = this.#table.counts();
    return { waiting: waiting - this.#runs.size, running: this.#runs.size, dead };
  }

  /** Resolves when, at the clock's time, nothing runs and nothing is due, or once the queue is stopped. */
  async idle(): Promise<void> {
    if (this.#isStopped) return;
    const idle = this.#idle.wait();
    this.#wake();
    await idle;
  }

  /** When the next task that waits is due, in epoch milliseconds; null if none waits. */
  nextDueAt(): number | null {
    const dueAt = this.#runs.nextDueAt();
    return dueAt === Infinity ? null : dueAt;
  }

  /** Abandoned tasks, the latest first. */
  deadTasks(limit: number): DeadTask[] {
    return this.#table.deadTasks(limit);
  }

  /**
   * Inside a transaction: decides, writes and adds. A refusal is returned, as it has nothing that would have to be undone: what is thrown here has
   * all works of the transaction run once more.
   */
  #carryOut<T>(decide: Decision<T>): CarriedOut<T> {
    const { writes = [], adds = [], appends = [], within = [], value } = decide(this.#records.read);
    const refused = within.length > 0 ? this.#takeWithin(within) : null;
    if (refused !== null) return { refused };
    for (const write of writes) this.#records.write(write);
    for (const append of appends) this.#records.append(append);
    const nowMs = this.#clock.now();
    for (const task of adds) this.#table.add(toStorableTask(task, nowMs), nowMs);
    return { value };
  }

  #lookForStandstill(): Error | null {
    const firstAt = this.#runs.nextStartAt();
    return this.#standstill.look(firstAt === Infinity ? null : firstAt);
  }

  /** Makes a pass soon, but not at once, so that things that happen together lead to one pass. */
  #wake(): void {
    if (this.#isPassPending || this.#isStopped || !this.#handler) return;
    this.#isPassPending = true;
    setImmediate(() => {
      this.#isPassPending = false;
      if (this.#handler && !this.#isStopped) this.#pass(this.#handler);
    });
  }

  /** Starts what is due and sleeps until there is something to do. If this fails, it is tried again. */
  #pass(handler: TaskHandler): void {
    const nowMs = this.#clock.now();
    try {
      this.#commits.assertOwned();
      if (this.#housekeeping.followClock(nowMs) !== null) return;
      this.#runs.startDue(handler, nowMs);
      this.#lookForStandstill();
      this.#housekeeping.sweepIfDue(nowMs);
      this.#sleepUntil(
        Math.min(this.#runs.nextStartAt(), this.#housekeeping.sweepDueAt, nowMs + passAtLeastEveryMs),
      );
      this.#fault = undefined;
      if (this.#isIdle(nowMs)) this.#idle.resolveAll();
      // A commit that somebody else asked for doesn't wake the queue.
      else if (!this.#idle.isEmpty && !this.#commits.isIdle) this.#wake();
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
