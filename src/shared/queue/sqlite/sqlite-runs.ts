import type { DecisionOf, StepOf, TaskEnd, TaskHandlerOf } from "../task-queue.ts";
import { messageOf } from "../../errors.ts";
import type { Kinds } from "../../store/record-types.ts";
import type { GroupCommit } from "../../store/sqlite/group-commit.ts";
import { type Run, TaskRuns, type TaskRunsOptions } from "../task-runs.ts";
import type { LoadedTask, TaskTable } from "./task-table.ts";

type SqliteRunsOptions<R extends Kinds> = TaskRunsOptions & {
  table: TaskTable;
  commits: GroupCommit;
  /** Carries out a handler's final decision, inside a transaction. */
  carryOut: (decide: DecisionOf<R, TaskEnd>) => TaskEnd;
  /** Commits a decision that a handler makes before it ends. */
  commit: <T>(decide: DecisionOf<R, T>) => Promise<T>;
  /** Does work in the next transaction. See `GroupCommit.run`. */
  write: (work: () => void) => Promise<void>;
  /** Called when due tasks couldn't be started. They are still due. */
  onNotStarted: (thrown: unknown) => void;
};

/**
 * `isHeldBack` is true while it waits for another task that may end the process, `isCounted` once
 * its start is on the disk, and `hasEnded` once its result is on its way to the disk.
 */
type SqliteRun = Run & LoadedTask & { isHeldBack: boolean; isCounted: boolean; hasEnded: boolean };

/**
 * A task that kills its process runs again soon after the next start, so starts are only counted
 * this long.
 */
const COUNT_RUNS_FOR_MS = 60_000;
/**
 * Tasks that were running in this many process deaths run one at a time, so that only the culprit
 * is given up.
 */
const DOUBTFUL_DEATHS = 2;

/** Runs a table's due tasks, and counts for each how many processes die while running it. */
export class SqliteRuns<R extends Kinds> extends TaskRuns<R, SqliteRun> {
  readonly #options: SqliteRunsOptions<R>;
  readonly #table: TaskTable;
  /** Tasks up to this number are older than this process. */
  readonly #newestBefore: number;
  /**
   * Of the tasks that were running when processes died: the one that runs now, and those that wait
   * for it.
   */
  #doubtful: SqliteRun | null = null;
  #heldBack: SqliteRun[] = [];
  #countsSinceMs = -Infinity;

  constructor(options: SqliteRunsOptions<R>) {
    super(options);
    this.#options = options;
    this.#table = options.table;
    this.#newestBefore = options.table.newestSeq();
  }

  /** When the next task that isn't held is due, epoch milliseconds. Infinity if none waits. */
  nextDueAt(): number {
    return this.#nextDueIn([...this.#table.pools]);
  }

  /** Like {@link nextDueAt}, among pools with room. */
  nextStartAt(): number {
    return this.#nextDueIn([...this.#table.pools].filter((pool) => this.roomIn(pool) > 0));
  }

  /** Counts starts from now on, for a while. */
  beginCounting(): void {
    this.#countsSinceMs = this.#options.clock.monotonicMs();
  }

  /** Starts due tasks. Returns when the next one is due, like {@link nextStartAt}. */
  startDue(handler: TaskHandlerOf<R>, nowMs: number): number {
    if (!this.mayBegin) return this.nextStartAt();
    const suspects: SqliteRun[] = [];
    let nextAt = Infinity;
    try {
      for (const pool of this.#table.pools) {
        const room = this.roomIn(pool);
        if (room <= 0) continue;
        // Most pools have nothing to do in most passes.
        const firstAt = this.#table.nextDueAt(pool, 0) ?? Infinity;
        if (firstAt > nowMs) {
          nextAt = Math.min(nextAt, firstAt);
          continue;
        }
        const due = this.#table.due(pool, nowMs, room + this.heldIn(pool));
        for (const seq of due.filter((each) => this.runOf(each) === undefined).slice(0, room)) {
          const run = this.#load(seq);
          this.hold(run);
          if (run.isHeldBack) this.#heldBack.push(run);
          else if (seq <= this.#newestBefore && this.#isCounting) suspects.push(run);
          else void this.run(handler, run);
        }
        if (this.roomIn(pool) > 0) nextAt = Math.min(nextAt, this.#nextDueIn([pool]));
      }
    } finally {
      // Runs even if a row can't be read, because the readable ones are held already.
      if (this.#doubtful === null || !this.holds(this.#doubtful)) {
        // The least doubtful comes first, so that it isn't blamed if processes keep dying.
        this.#heldBack.sort((a, b) => b.task.deaths - a.task.deaths);
        this.#doubtful = this.#heldBack.pop() ?? null;
        if (this.#doubtful !== null) {
          this.#doubtful.isHeldBack = false;
          suspects.push(this.#doubtful);
        }
      }
      if (suspects.length > 0) this.#countAndRun(handler, suspects);
    }
    return nextAt;
  }

  /** Inside a transaction: counts uncounted starts of runs that continue after it. */
  count(): void {
    if (!this.#isCounting) return;
    for (const run of this.all) {
      if (run.isCounted || run.isHeldBack || run.hasEnded) continue;
      this.#table.countRun(run.seq, 1);
      this.#options.commits.afterCommit(() => (run.isCounted = true));
    }
  }

  override async drain(graceMs: number): Promise<void> {
    for (const run of this.#heldBack.splice(0)) this.forget(run);
    await super.drain(graceMs);
  }

  protected override commit<T>(_: SqliteRun, decide: DecisionOf<R, T>): Promise<T> {
    return this.#options.commit(decide);
  }

  protected override async end(run: SqliteRun, step: StepOf<R>): Promise<void> {
    const { commits, carryOut, write } = this.#options;
    await write(() => {
      if (!this.holds(run) || !this.#table.isPending(run.seq)) return;
      const end = typeof step === "function" ? carryOut(step) : step;
      this.#table.end(run, end, this.#options.clock.now());
      // A later add in this transaction finds the task waiting.
      run.hasEnded = true;
      commits.afterUndo(() => (run.hasEnded = false));
    });
  }

  /** The process stopped rather than died, so these runs don't count as deaths. */
  protected override async handBack(runs: readonly SqliteRun[]): Promise<void> {
    try {
      await this.#options.commits.run(() => {
        for (const { seq, isCounted } of runs) if (isCounted) this.#table.countRun(seq, -1);
      });
    } catch (thrown) {
      this.#options.logger.warn(
        { error: messageOf(thrown) },
        "task queue: what was aborted stays counted as if the process had died",
      );
    }
  }

  get #isCounting(): boolean {
    return this.#options.clock.monotonicMs() - this.#countsSinceMs <= COUNT_RUNS_FOR_MS;
  }

  #load(seq: number): SqliteRun {
    const loaded = this.#table.load(seq);
    const isHeldBack = loaded.task.deaths >= DOUBTFUL_DEATHS;
    const abort = new AbortController();
    return { ...loaded, key: seq, abort, isHeldBack, isCounted: false, hasEnded: false };
  }

  #nextDueIn(pools: readonly string[]): number {
    return Math.min(...pools.flatMap((pool) => this.#table.nextDueAt(pool, this.heldIn(pool)) ?? []));
  }

  /**
   * One of these tasks may have killed the last process and may kill this one at once, so their
   * starts are counted first.
   */
  #countAndRun(handler: TaskHandlerOf<R>, runs: readonly SqliteRun[]): void {
    this.#options.commits
      .run(() => {})
      .then(
        () => {
          for (const run of runs.filter((each) => this.holds(each))) {
            if (!this.isStopped) void this.run(handler, run);
            else {
              this.forget(run);
              void this.handBack([run]);
            }
          }
        },
        (thrown: unknown) => {
          for (const run of runs) this.forget(run);
          this.#options.onNotStarted(thrown);
        },
      );
  }
}
