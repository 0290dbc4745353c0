import { within } from "../core/clock.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { Decision, Step, TaskEnd, TaskHandler } from "../core/task-queue.ts";
import { messageOf } from "../errors.ts";
import type { GroupCommit } from "../store/group-commit.ts";
import { StoreInUseError, StoreUnavailableError } from "../store/store-errors.ts";
import type { ClockWatch } from "./clock-watch.ts";
import { PoolBudgets } from "./pool-budgets.ts";
import type { Pools } from "./pool-budgets.ts";
import { QueueStoppedError } from "./queue-stopped-error.ts";
import { checkTaskEnd } from "./storable-task.ts";
import type { LoadedTask, TaskTable } from "./task-table.ts";
import { surprise } from "./surprise.ts";
import { Waiters } from "./waiters.ts";

type TaskRunsOptions = {
  table: TaskTable;
  commits: GroupCommit;
  clock: Clock;
  clockWatch: ClockWatch;
  logger: Logger;
  budgets: Pools["budgets"];
  /** Carries out the decision that a handler returned, inside a transaction. */
  carryOut: (decide: Decision<TaskEnd>) => TaskEnd;
  /** Commits what a handler decides before it ends. */
  commit: <T>(decide: Decision<T>) => Promise<T>;
  /** Called when a run has ended and its result is on the disk. */
  onEnded: () => void;
  /** Called when a run begins. */
  onBegan: () => void;
  /** Called when tasks that were due couldn't be started. They are still due. */
  onNotStarted: (thrown: unknown) => void;
};

/**
 * `isHeldBack`: it waits for another that may end the process. `isCounted`: its start is on the disk. `hasEnded`: its result is written,
 * and on its way to the disk.
 */
type Run = LoadedTask & {
  abort: AbortController;
  isHeldBack: boolean;
  isCounted: boolean;
  hasEnded: boolean;
};

const faultDelayMs = 1_000;
/** A task that kills its process runs again soon after the next start, so only runs in this time are counted. */
const countRunsForMs = 60_000;
/** Tasks that were running in this many process deaths run one at a time, so that the one that kills is the only one given up. */
const doubtfulDeaths = 2;

/** Runs tasks that are due, within the budgets of their pools, and holds each until its result is on the disk. */
export class TaskRuns {
  readonly #table: TaskTable;
  readonly #commits: GroupCommit;
  readonly #clock: Clock;
  readonly #clockWatch: ClockWatch;
  readonly #logger: Logger;
  readonly #budgets: PoolBudgets;
  readonly #carryOut: TaskRunsOptions["carryOut"];
  readonly #commit: TaskRunsOptions["commit"];
  readonly #onEnded: () => void;
  readonly #onBegan: () => void;
  readonly #onNotStarted: (thrown: unknown) => void;
  /** Tasks up to this number were there before this process. */
  readonly #newestBefore: number;

  readonly #running = new Map<number, Run>();
  /** Runs whose results couldn't be written, each with the reason. */
  readonly #unwritten = new Map<Run, unknown>();
  /** Of those that were there when processes died again and again: the one that runs, and those that wait for it. */
  #doubtful: Run | null = null;
  #heldBack: Run[] = [];
  readonly #drained = new Waiters();
  #countsSinceMs = -Infinity;
  #isStopped = false;
  #isReleased = false;

  constructor(options: TaskRunsOptions) {
    this.#table = options.table;
    this.#commits = options.commits;
    this.#clock = options.clock;
    this.#clockWatch = options.clockWatch;
    this.#logger = options.logger;
    this.#budgets = new PoolBudgets(options.budgets);
    this.#carryOut = options.carryOut;
    this.#commit = options.commit;
    this.#onEnded = options.onEnded;
    this.#onBegan = options.onBegan;
    this.#onNotStarted = options.onNotStarted;
    this.#newestBefore = options.table.newestSeq();
  }

  /** How many tasks are held. */
  get size(): number {
    return this.#running.size;
  }

  /** Whether a run of the task has yet to end. */
  isRunning(seq: number): boolean {
    return this.#running.get(seq)?.hasEnded === false;
  }

  /** Whether the task runs, or its result isn't on the disk yet. */
  isHeld(seq: number): boolean {
    return this.#running.has(seq);
  }

  /** Why results couldn't be written, for those that still aren't. */
  get faults(): Iterable<unknown> {
    return this.#unwritten.values();
  }

  /** Whether the runs were released: what they still do counts for nothing. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** When the next task that isn't held is due, in epoch milliseconds; Infinity if none waits. */
  nextDueAt(): number {
    return this.#nextDueIn([...this.#table.pools]);
  }

  /** As {@link nextDueAt}, among the pools that may run one more. */
  nextStartAt(): number {
    return this.#nextDueIn([...this.#table.pools].filter((pool) => this.#budgets.roomIn(pool) > 0));
  }

  /** From now on, starts are counted for a while. */
  beginCounting(): void {
    this.#countsSinceMs = this.#clock.monotonicMs();
  }

  /** Starts what is due, unless a result can't be written: then whatever ran would have to be done again. */
  startDue(handler: TaskHandler, nowMs: number): void {
    if (this.#unwritten.size > 0) return;
    const suspects: Run[] = [];
    try {
      for (const pool of this.#table.pools) {
        const room = this.#budgets.roomIn(pool);
        if (room === 0) continue;
        for (const seq of this.#table.due(pool, nowMs, room, this.#budgets.heldIn(pool))) {
          const run = this.#hold(seq, pool);
          if (run.isHeldBack) this.#heldBack.push(run);
          else if (seq <= this.#newestBefore && this.#isCounting) suspects.push(run);
          else void this.#run(handler, run);
        }
      }
    } finally {
      // Also when a row can't be read: those that could be read are held already.
      if (this.#doubtful === null || !this.#holds(this.#doubtful)) {
        // The least doubtful first, so that processes that go on dying are not blamed on one of them.
        this.#heldBack.sort((a, b) => b.task.deaths - a.task.deaths);
        this.#doubtful = this.#heldBack.pop() ?? null;
        if (this.#doubtful !== null) {
          this.#doubtful.isHeldBack = false;
          suspects.push(this.#doubtful);
        }
      }
      if (suspects.length > 0) this.#countAndRun(handler, suspects);
    }
  }

  #hold(seq: number, pool: string): Run {
    const loaded = this.#table.load(seq);
    const run: Run = {
      ...loaded,
      abort: new AbortController(),
      isHeldBack: loaded.task.deaths >= doubtfulDeaths,
      isCounted: false,
      hasEnded: false,
    };
    this.#running.set(seq, run);
    this.#budgets.hold(pool);
    return run;
  }

  /** Inside a transaction: counts the starts that are not counted yet, of runs that go on after it. */
  count(): void {
    if (!this.#isCounting) return;
    for (const run of this.#running.values()) {
      if (run.isCounted || run.isHeldBack || run.hasEnded) continue;
      this.#table.countRun(run.seq);
      this.#commits.afterCommit(() => {
        run.isCounted = true;
      });
    }
  }

  /** Starts nothing more. Resolves when no task is held, or after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    for (const run of this.#heldBack.splice(0)) this.#forget(run);
    if (this.#running.size === 0 || graceMs <= 0) return;
    await within(this.#clock, graceMs, this.#drained.wait(), undefined);
  }

  /** Aborts what still runs. Those tasks wait and run again after the next start. What their handlers return is ignored. */
  release(): void {
    this.#isReleased = true;
    const runs = [...this.#running.values()];
    this.#running.clear();
    this.#budgets.releaseAll();
    this.#unwritten.clear();
    this.#drained.resolveAll();
    this.#uncount(runs.filter(({ isCounted }) => isCounted));
    for (const { abort } of runs) abort.abort(new QueueStoppedError());
  }

  get #isCounting(): boolean {
    return this.#clock.monotonicMs() - this.#countsSinceMs <= countRunsForMs;
  }

  #nextDueIn(pools: readonly string[]): number {
    return Math.min(
      ...pools.flatMap((pool) => this.#table.nextDueAt(pool, this.#budgets.heldIn(pool)) ?? []),
    );
  }

  /** One of these may have killed the process before this one, and may kill this one at once: their starts are counted first. */
  #countAndRun(handler: TaskHandler, runs: readonly Run[]): void {
    this.#commits.run(noop).then(
      () => {
        for (const run of runs) {
          if (!this.#holds(run)) continue;
          if (!this.#isStopped) {
            void this.#run(handler, run);
            continue;
          }
          this.#forget(run);
          this.#uncount([run]);
        }
      },
      (thrown: unknown) => {
        for (const run of runs) this.#forget(run);
        this.#onNotStarted(thrown);
      },
    );
  }

  async #run(handler: TaskHandler, run: Run): Promise<void> {
    this.#onBegan();
    let step: Step;
    try {
      step = await handler(run.task, {
        signal: run.abort.signal,
        commit: this.#commit,
        assertHeld: () => {
          if (!this.#holds(run)) throw new QueueStoppedError();
        },
      });
      if (typeof step !== "function") checkTaskEnd(step);
    } catch (thrown) {
      // What an aborted handler throws means nothing.
      if (!this.#holds(run)) return;
      step = surprise({ clock: this.#clock, logger: this.#logger }, run.task, thrown);
    }
    this.#finish(run, step);
  }

  /** Writes a result down. Until that succeeds the task counts as running, so that its work isn't done twice. */
  #finish(run: Run, step: Step): void {
    if (!this.#holds(run)) return;
    this.#clockWatch.look();
    const { id, type } = run.task;
    this.#commits
      .run(() => {
        if (!this.#holds(run)) return;
        const end = typeof step === "function" ? this.#carryOut(step) : step;
        this.#table.end(run, end, this.#clock.now());
        // A later add in this transaction finds the task waiting.
        run.hasEnded = true;
        this.#commits.afterUndo(() => {
          run.hasEnded = false;
        });
        this.#commits.afterCommit(() => {
          this.#forget(run);
          this.#onEnded();
        });
      })
      .catch((thrown: unknown) => {
        if (!this.#holds(run)) return;
        if (!(thrown instanceof StoreUnavailableError || thrown instanceof StoreInUseError)) {
          this.#finish(run, surprise({ clock: this.#clock, logger: this.#logger }, run.task, thrown));
          return;
        }
        this.#unwritten.set(run, thrown);
        this.#logger.error(
          { task: id, type, error: messageOf(thrown), retryInMs: faultDelayMs },
          "task queue: a result could not be written; trying again",
        );
        this.#clock.wakeAt(this.#clock.now() + faultDelayMs, () => this.#finish(run, step));
      });
  }

  #forget(run: Run): void {
    if (!this.#holds(run)) return;
    this.#running.delete(run.seq);
    this.#unwritten.delete(run);
    this.#budgets.release(run.pool);
    if (this.#running.size === 0) this.#drained.resolveAll();
  }

  /** False once the run was released: its task may be running again. */
  #holds(run: Run): boolean {
    return this.#running.get(run.seq) === run;
  }

  /** The process stopped and did not die, so these runs don't count as deaths. */
  #uncount(runs: readonly Run[]): void {
    if (runs.length === 0) return;
    this.#commits
      .run(() => {
        for (const { seq } of runs) this.#table.uncountRun(seq);
      })
      .catch((thrown: unknown) =>
        this.#logger.warn(
          { error: messageOf(thrown) },
          "task queue: what was aborted stays counted as if the process had died",
        ),
      );
  }
}

function noop(): void {}
