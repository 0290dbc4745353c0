import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { NewTask, TaskCounts, TaskHandler, TaskQueue } from "../core/task-queue.ts";
import { messageOf } from "../errors.ts";
import { writeProbe } from "../store/sqlite-database.ts";
import { storeErrorsOf } from "../store/store-errors.ts";
import { BatchedAdds } from "./batched-adds.ts";
import { QueueStoppedError } from "./queue-stopped-error.ts";
import {
  type ClaimedTask,
  type DeadTask,
  type StorableResult,
  type StorableTask,
  TaskTable,
  toStorableResult,
  toStorableTask,
} from "./task-table.ts";
import { Waiters } from "./waiters.ts";

export type SqliteTaskQueueOptions = {
  /** The store's database, which this process owns. */
  db: DatabaseSync;
  clock: Clock;
  logger: Logger;
  /** How many handlers run at once. @default 16 */
  concurrency?: number;
  /** How long a claim lasts unless it is renewed, which happens three times as often. @default 60 000 */
  leaseMs?: number;
  /** How long the id of a done task stays known, so that adding it again is a no-op. @default 7 days */
  keepDoneMs?: number;
};

type Run = ClaimedTask & { abort: AbortController };

const faultDelayMs = 1_000;
const throwDelayMs = 60_000;
/** A pass at least this often: it forgets done tasks, and notices a wall clock that jumped (a machine that slept). */
const passAtLeastEveryMs = 60_000;
const forgetEveryMs = 60_000;
/** A step is bounded, so that it never blocks for long; more steps follow when there is more. */
const forgetLimit = 500;
const forgetMoreAfterMs = 1_000;

/** A task queue on the `tasks` table of the store's SQLite file. */
export function createSqliteTaskQueue(options: SqliteTaskQueueOptions): SqliteTaskQueue {
  return new SqliteTaskQueue(options);
}

export class SqliteTaskQueue implements TaskQueue {
  readonly #db: DatabaseSync;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #concurrency: number;
  readonly #leaseMs: number;
  readonly #keepDoneMs: number;
  readonly #table: TaskTable;
  readonly #toStoreError: (thrown: unknown) => Error;

  #handler: TaskHandler | undefined;
  #isRecovered = false;
  #isStopped = false;
  /** What the last pass failed with, until a pass succeeds. */
  #fault: unknown;
  readonly #running = new Map<number, Run>();
  readonly #adds = new BatchedAdds((tasks) => this.#commitAdds(tasks));
  #isPassPending = false;
  #cancelWake: () => void = noop;
  #renewDueAt = Infinity;
  #forgetDueAt = 0;
  readonly #idle = new Waiters();
  readonly #drained = new Waiters();

  constructor(options: SqliteTaskQueueOptions) {
    this.#db = options.db;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#concurrency = options.concurrency ?? 16;
    this.#leaseMs = options.leaseMs ?? 60_000;
    this.#keepDoneMs = options.keepDoneMs ?? 7 * 24 * 60 * 60_000;
    this.#table = new TaskTable(options.db);
    this.#toStoreError = storeErrorsOf(options.db);
  }

  async add(task: NewTask): Promise<boolean> {
    return await this.#adds.add(toStorableTask(task, this.#clock.now()));
  }

  start(handler: TaskHandler): void {
    if (this.#handler) throw new Error("The task queue was started before");
    if (this.#isStopped) throw new QueueStoppedError();
    this.#handler = handler;
    this.#wake();
  }

  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    this.#cancelWake();
    this.#idle.resolveAll();
    if (this.#running.size > 0 && graceMs > 0) await this.#drain(graceMs);
    this.#releaseAll();
  }

  async check(): Promise<void> {
    if (this.#isStopped) throw new QueueStoppedError();
    try {
      writeProbe(this.#db, this.#clock.now());
    } catch (thrown) {
      throw this.#toStoreError(thrown);
    }
    if (this.#fault !== undefined) throw this.#toStoreError(this.#fault);
  }

  async counts(): Promise<TaskCounts> {
    return this.#table.counts();
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
    return this.#table.nextDueAt();
  }

  /** Tasks that were given up, the latest first. */
  deadTasks(limit: number): DeadTask[] {
    return this.#table.deadTasks(limit);
  }

  #commitAdds(tasks: StorableTask[]): boolean[] {
    try {
      return this.#table.addAll(tasks, this.#clock.now());
    } catch (thrown) {
      throw this.#toStoreError(thrown);
    } finally {
      this.#wake();
    }
  }

  /** Has a pass run soon: not at once, so that what happens together leads to one pass. */
  #wake(): void {
    if (this.#isPassPending || this.#isStopped || !this.#handler) return;
    this.#isPassPending = true;
    setImmediate(() => {
      this.#isPassPending = false;
      if (this.#handler && !this.#isStopped) this.#pass(this.#handler);
    });
  }

  /** Claims and starts what is due, and sleeps until there is something to do. Whatever fails is tried again. */
  #pass(handler: TaskHandler): void {
    const nowMs = this.#clock.now();
    try {
      this.#recoverOnce(nowMs);
      // Before claiming: after the machine slept, leases of handlers that still run here have lapsed.
      if (nowMs >= this.#renewDueAt) this.#renew(nowMs);
      this.#claim(handler, nowMs);
      if (nowMs >= this.#forgetDueAt) this.#forget(nowMs);
      this.#sleepUntil(this.#nextPassAt(nowMs));
      this.#fault = undefined;
      if (this.#isIdle(nowMs)) this.#idle.resolveAll();
    } catch (thrown) {
      this.#fault = thrown;
      this.#logger.error(
        { error: messageOf(thrown), retryInMs: faultDelayMs },
        "task queue: pass failed; trying again",
      );
      this.#sleepUntil(nowMs + faultDelayMs);
    }
  }

  /** This process owns the file: what is left running was left by a process that ended. */
  #recoverOnce(nowMs: number): void {
    if (this.#isRecovered) return;
    const tasks = this.#table.recover(nowMs);
    this.#isRecovered = true;
    if (tasks > 0) this.#logger.info({ tasks }, "task queue: running again what an earlier process left");
  }

  #renew(nowMs: number): void {
    this.#table.renew(this.#running.values(), nowMs + this.#leaseMs);
    this.#renewDueAt = this.#running.size > 0 ? nowMs + this.#leaseMs / 3 : Infinity;
  }

  #claim(handler: TaskHandler, nowMs: number): void {
    const free = this.#concurrency - this.#running.size;
    if (free <= 0) return;
    for (const claimed of this.#table.claim(free, nowMs, nowMs + this.#leaseMs)) {
      const run = { ...claimed, abort: new AbortController() };
      this.#running.set(run.seq, run);
      this.#renewDueAt = Math.min(this.#renewDueAt, nowMs + this.#leaseMs / 3);
      void this.#run(handler, run);
    }
  }

  async #run(handler: TaskHandler, run: Run): Promise<void> {
    let result: StorableResult;
    try {
      result = toStorableResult(await handler(run.task, run.abort.signal));
    } catch (thrown) {
      // What a handler throws when it is aborted says nothing.
      if (!this.#holds(run)) return;
      const reason = messageOf(thrown);
      this.#logger.warn(
        { task: run.task.id, type: run.task.type, attempt: run.task.attempt, error: reason },
        "task queue: a handler threw; trying again",
      );
      result = toStorableResult({ kind: "retry", dueAt: this.#clock.now() + throwDelayMs, reason });
    }
    this.#finish(run, result);
  }

  /** Writes a result down, and until that succeeds keeps the claim, so that what was done is not done again. */
  #finish(run: Run, result: StorableResult): void {
    if (!this.#holds(run)) return;
    const { id, type, lane } = run.task;
    let isFinished: boolean;
    try {
      isFinished = this.#table.finish(run, lane, result, this.#clock.now());
    } catch (thrown) {
      this.#logger.error(
        { task: id, type, error: messageOf(thrown), retryInMs: faultDelayMs },
        "task queue: a result could not be written; trying again",
      );
      this.#clock.wakeAt(this.#clock.now() + faultDelayMs, () => this.#finish(run, result));
      return;
    }
    if (!isFinished) {
      this.#logger.warn({ task: id, type }, "task queue: a run lost its lease; its result is ignored");
    }
    this.#running.delete(run.seq);
    if (this.#running.size === 0) this.#drained.resolveAll();
    this.#wake();
  }

  /** False once the run was released: its task may be running again. */
  #holds(run: Run): boolean {
    return this.#running.get(run.seq) === run;
  }

  #forget(nowMs: number): void {
    const hasMore = this.#table.forget(nowMs - this.#keepDoneMs, nowMs, forgetLimit);
    this.#forgetDueAt = nowMs + (hasMore ? forgetMoreAfterMs : forgetEveryMs);
  }

  #nextPassAt(nowMs: number): number {
    const hasRoom = this.#running.size < this.#concurrency;
    const dueAt = (hasRoom ? this.#table.nextDueAt() : null) ?? Infinity;
    return Math.min(dueAt, this.#renewDueAt, nowMs + passAtLeastEveryMs);
  }

  #sleepUntil(atMs: number): void {
    this.#cancelWake();
    this.#cancelWake = this.#clock.wakeAt(atMs, () => this.#wake());
  }

  #isIdle(nowMs: number): boolean {
    if (this.#running.size > 0 || !this.#adds.isEmpty) return false;
    return (this.#table.nextDueAt() ?? Infinity) > nowMs;
  }

  async #drain(graceMs: number): Promise<void> {
    let cancel: () => void = noop;
    const graceIsOver = new Promise<void>((resolve) => {
      cancel = this.#clock.wakeAt(this.#clock.now() + graceMs, resolve);
    });
    await Promise.race([this.#drained.wait(), graceIsOver]);
    cancel();
  }

  /** Aborts what still runs and lets its tasks run again. What those handlers return later finds no claim. */
  #releaseAll(): void {
    const runs = [...this.#running.values()];
    this.#running.clear();
    this.#drained.resolveAll();
    if (runs.length === 0) return;
    try {
      this.#table.release(runs, this.#clock.now());
    } catch (thrown) {
      this.#logger.warn(
        { tasks: runs.length, error: messageOf(thrown) },
        "task queue: tasks could not be released; the next start takes them back",
      );
    }
    for (const { abort } of runs) abort.abort(new QueueStoppedError());
  }
}

function noop(): void {}
