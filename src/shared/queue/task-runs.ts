import { within, type Clock, type Logger } from "../machine/ports.ts";
import type {
  CommitOptions,
  DecisionOf,
  PoolCounts,
  StepOf,
  Task,
  TaskEnd,
  TaskHandlerOf,
} from "./task-queue.ts";
import { DocsAgentError, messageOf } from "../errors.ts";
import type { Kinds } from "../store/record-types.ts";
import { StoreInUseError, StoreUnavailableError } from "../store/store-errors.ts";
import { type Pools, checkTaskEnd } from "./storable-task.ts";

/** The task queue was stopped and runs nothing anymore. */
export class QueueStoppedError extends DocsAgentError {
  readonly code = "queue_stopped";

  constructor() {
    super("The task queue was stopped. Tasks that were added run after the next start of the process.");
  }
}

/** Tasks are waiting although this process could run them. */
class QueueStandsStillError extends DocsAgentError {
  readonly code = "queue_stands_still";

  constructor(lateMs: number) {
    const seconds = Math.floor(lateMs / 1_000);
    super(
      `The first task that waits has been due for ${seconds} s, ` +
        "and this process has begun none for a minute. " +
        "Look at the log for errors of the task queue, and restart the process.",
    );
  }
}

/** One run of a task. `key` identifies the task among those that run here. */
export type Run = { key: string | number; pool: string; task: Task; abort: AbortController };

export type TaskRunsOptions = { clock: Clock; logger: Logger; budgets: Pools["budgets"] };

export const FAULT_DELAY_MS = 1_000;
const THROW_DELAY_MS = 60_000;
/** How long nothing may begin although a task is due and there is room for it. */
const STANDSTILL_MS = 60_000;

/**
 * This process's runs of tasks, within the budgets of their pools, each from its start until its
 * result is stored.
 */
export abstract class TaskRuns<R extends Kinds, U extends Run> {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #budgets: Pools["budgets"];
  readonly #running = new Map<U["key"], U>();
  /** Number of running tasks, by pool. */
  readonly #held = new Map<string, number>();
  /** Runs whose results couldn't be stored, each with the reason. */
  readonly #unwritten = new Map<U, unknown>();
  /** Resolves when none is held after the stop. */
  readonly #drained = Promise.withResolvers<void>();
  #beganAtMs: number;
  #isStandstillSaid = false;
  #isStopped = false;
  #isReleased = false;

  constructor({ clock, logger, budgets }: TaskRunsOptions) {
    this.#clock = clock;
    this.#logger = logger;
    this.#budgets = budgets;
    this.#beganAtMs = clock.monotonicMs();
  }

  /** Commits a decision that a run makes before it ends. */
  protected abstract commit<T>(run: U, decide: DecisionOf<R, T>, options?: CommitOptions): Promise<T>;
  /** Stores how a run ends. Rejects with a store error if it may succeed later. */
  protected abstract end(run: U, step: StepOf<R>): Promise<void>;
  /** Makes tasks run again as if they hadn't run. */
  protected abstract handBack(runs: readonly U[]): Promise<void>;

  get size(): number {
    return this.#running.size;
  }

  get all(): readonly U[] {
    return [...this.#running.values()];
  }

  /** The reasons why results still couldn't be stored. */
  get faults(): Iterable<unknown> {
    return this.#unwritten.values();
  }

  /** False while a result can't be stored: new runs would have to be repeated. */
  get mayBegin(): boolean {
    return !this.#isStopped && this.#unwritten.size === 0;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** True once the runs were released, after which their results don't count. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** Number of tasks held, by pool. */
  get held(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#held);
  }

  heldIn(pool: string): number {
    return this.#held.get(pool) ?? 0;
  }

  /** How many more tasks a pool, or a partition of it, may run. */
  roomIn(pool: string): number {
    return (this.#budgets[pool.split(" ")[0] ?? ""] ?? 0) - this.heldIn(pool);
  }

  /** Takes the number of unfinished tasks of each pool, or partition of it. */
  countsByPool(unfinished: Iterable<readonly [name: string, tasks: number]>): PoolCounts {
    const counts: PoolCounts = {};
    for (const pool of Object.keys(this.#budgets)) counts[pool] = { waiting: 0, running: 0 };
    for (const [name, tasks] of unfinished) {
      const count = (counts[name.split(" ")[0] ?? ""] ??= { waiting: 0, running: 0 });
      const running = Math.min(tasks, this.heldIn(name));
      count.running += running;
      count.waiting += tasks - running;
    }
    return counts;
  }

  /** The run of a task, unless its result is already on the disk. */
  runOf(key: U["key"]): U | undefined {
    return this.#running.get(key);
  }

  /**
   * Returns an error, and logs it once, if nothing has begun for a minute and a task has been due
   * for a minute. Otherwise null. `firstDueAt` is when the first unclaimed task with room for it
   * was due, epoch milliseconds; Infinity if there is none.
   */
  lookForStandstill(firstDueAt: number): Error | null {
    const lateMs = this.#clock.now() - firstDueAt;
    const isStill = lateMs >= STANDSTILL_MS && this.#clock.monotonicMs() - this.#beganAtMs >= STANDSTILL_MS;
    const error = isStill ? new QueueStandsStillError(lateMs) : null;
    if (error !== null && !this.#isStandstillSaid) {
      this.#logger.error({ late_ms: lateMs }, `task queue: ${error.message}`);
    }
    this.#isStandstillSaid = isStill;
    return error;
  }

  /** Starts no more tasks. Resolves when none is held, or after `graceMs`. */
  async drain(graceMs: number): Promise<void> {
    this.#isStopped = true;
    if (this.#running.size === 0 || graceMs <= 0) return;
    await within(this.#clock, graceMs, this.#drained.promise, undefined);
  }

  /**
   * Aborts running tasks, which run again after the next start or elsewhere. Their handlers'
   * results are ignored.
   */
  async release(): Promise<void> {
    this.#isReleased = true;
    const runs = this.all;
    this.#running.clear();
    this.#held.clear();
    this.#unwritten.clear();
    this.#drained.resolve();
    for (const { abort } of runs) abort.abort(new QueueStoppedError());
    if (runs.length > 0) await this.handBack(runs);
  }

  protected hold(run: U): void {
    // This process had lost the task and has it again.
    const before = this.#running.get(run.key);
    if (before !== undefined) this.forget(before);
    this.#running.set(run.key, run);
    this.#held.set(run.pool, this.heldIn(run.pool) + 1);
  }

  protected forget(run: U): void {
    if (!this.holds(run)) return;
    this.#running.delete(run.key);
    this.#unwritten.delete(run);
    this.#held.set(run.pool, this.heldIn(run.pool) - 1);
    if (this.#isStopped && this.#running.size === 0) this.#drained.resolve();
  }

  /**
   * False once the run was released or another run of its task began. The task may be running
   * again.
   */
  protected holds(run: U): boolean {
    return this.#running.get(run.key) === run;
  }

  protected assertHeld(run: U): void {
    if (!this.holds(run)) throw new QueueStoppedError();
  }

  /**
   * Runs a held task and stores its result. It is held until that succeeds, so that its work isn't
   * done twice.
   */
  protected async run(handler: TaskHandlerOf<R>, run: U): Promise<void> {
    this.#beganAtMs = this.#clock.monotonicMs();
    let step: StepOf<R>;
    try {
      step = await handler(run.task, {
        signal: run.abort.signal,
        commit: (decide, options) => this.commit(run, decide, options),
        assertHeld: () => this.assertHeld(run),
      });
      if (typeof step !== "function") checkTaskEnd(step);
    } catch (thrown) {
      // An aborted handler's error means nothing.
      if (!this.holds(run)) return;
      step = this.#unexpectedFailure(run, thrown);
    }
    while (this.holds(run)) {
      try {
        await this.end(run, step);
        this.forget(run);
      } catch (thrown) {
        if (!this.holds(run)) return;
        const isStores = thrown instanceof StoreUnavailableError || thrown instanceof StoreInUseError;
        if (!isStores && typeof step === "function") step = this.#unexpectedFailure(run, thrown);
        else await this.#waitToWrite(run, thrown);
      }
    }
  }

  /** The end of a run whose handler threw: it is tried again in a minute. */
  #unexpectedFailure({ task: { id, type, attempt } }: U, thrown: unknown): TaskEnd {
    const reason = messageOf(thrown);
    this.#logger.warn(
      { task: id, type, attempt, error: reason },
      "task queue: a handler threw; trying again",
    );
    return { kind: "retry", dueAt: this.#clock.now() + THROW_DELAY_MS, reason, isUnexpected: true };
  }

  async #waitToWrite(run: U, thrown: unknown): Promise<void> {
    const { id, type } = run.task;
    // Logged as an error only once, however long it takes.
    const level = this.#unwritten.has(run) ? "debug" : "error";
    this.#unwritten.set(run, thrown);
    this.#logger[level](
      { task: id, type, error: messageOf(thrown), retryInMs: FAULT_DELAY_MS },
      "task queue: a result could not be written; trying again",
    );
    await new Promise<void>((resolve) => {
      this.#clock.wakeAt(this.#clock.now() + FAULT_DELAY_MS, resolve);
      run.abort.signal.addEventListener("abort", () => resolve());
    });
  }
}
