import { z } from "zod";
import { within } from "../../core/clock.ts";
import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import type { Decision, Step, Task, TaskEnd, TaskHandler } from "../../core/task-queue.ts";
import { messageOf } from "../../errors.ts";
import { StoreUnavailableError } from "../../store/store-errors.ts";
import { PoolBudgets, type Pools } from "../pool-budgets.ts";
import { QueueStoppedError } from "../queue-stopped-error.ts";
import { checkTaskEnd, fromStoredPayload } from "../storable-task.ts";
import { surprise } from "../surprise.ts";
import { Waiters } from "../waiters.ts";
import { ClaimLostError } from "./claim-lost-error.ts";
import type { Claim, RedisCommits } from "./redis-commits.ts";
import type { RedisWork } from "./redis-work.ts";

type Options = {
  work: RedisWork;
  commits: RedisCommits;
  clock: Clock;
  logger: Logger;
  budgets: Pools["budgets"];
  leaseMs: number;
};

/** `heldAtMs`: a monotonic time at which nobody else had the task. */
type Run = { claim: Claim; pool: string; task: Task; abort: AbortController; heldAtMs: number };

const faultDelayMs = 1_000;

/** Tasks as the script hands them out: see `WORK`. */
export const ClaimedTasks = z.array(
  z.tuple([
    z.string(),
    z.string(),
    z.string(),
    z.string(),
    z.coerce.number(),
    z.coerce.number(),
    z.coerce.number(),
    z.coerce.number(),
  ]),
);
type ClaimedTasks = z.infer<typeof ClaimedTasks>;

/** The runs of tasks in this process, each from its claim to its end at Redis. */
export class RedisRuns {
  readonly #options: Options;
  readonly #budgets: PoolBudgets;
  readonly #running = new Map<string, Run>();
  /** Runs whose results couldn't be written, each with the reason. */
  readonly #unwritten = new Map<Run, unknown>();
  readonly #drained = new Waiters();
  #isStopped = false;
  #isReleased = false;

  constructor(options: Options) {
    this.#options = options;
    this.#budgets = new PoolBudgets(options.budgets);
  }

  get size(): number {
    return this.#running.size;
  }

  /** False while a result can't be written: whatever ran then would have to be done again. */
  get mayBegin(): boolean {
    return !this.#isStopped && this.#unwritten.size === 0;
  }

  /** Whether the runs were released: what they still do counts for nothing. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  get faults(): Iterable<unknown> {
    return this.#unwritten.values();
  }

  /** The tasks that run, with their pools. */
  get all(): { id: string; pool: string }[] {
    return [...this.#running.values()].map(({ claim: { id }, pool }) => ({ id, pool }));
  }

  get budgets(): PoolBudgets {
    return this.#budgets;
  }

  /** Asks that leases go on of which a quarter is over. */
  renew(): void {
    const { work, clock, leaseMs } = this.#options;
    const nowMs = clock.monotonicMs();
    const due = [...this.#running.values()].filter(({ heldAtMs }) => nowMs - heldAtMs > leaseMs / 4);
    if (due.length === 0) return;
    const args = due.flatMap(({ claim: { id, token } }) => [id, token]);
    work.ask({ kind: "renew", args }).then(
      (held) => {
        for (const [n, run] of due.entries()) if (String(held)[n] === "1") run.heldAtMs = nowMs;
      },
      // The next call asks again.
      () => {},
    );
  }

  /** Runs what a claim has brought. `heldAtMs`: before it was made. */
  begin(handler: TaskHandler, token: string, heldAtMs: number, tasks: ClaimedTasks): void {
    if (this.#isStopped) return void this.#release(tasks.map(([id]) => ({ id, token })));
    for (const [id, pool, type, payload, attempt, surprises, deaths, addedAt] of tasks) {
      const task = { id, type, payload: fromStoredPayload(payload), attempt, surprises, deaths, addedAt };
      const run: Run = { claim: { id, token }, pool, task, abort: new AbortController(), heldAtMs };
      this.#running.set(id, run);
      this.#budgets.hold(pool);
      void this.#run(handler, run);
    }
  }

  /** Begins nothing more. Resolves when nothing runs, or after `graceMs`, when what runs was released to run again elsewhere. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    const { clock } = this.#options;
    if (this.#running.size > 0 && graceMs > 0) {
      await within(clock, graceMs, this.#drained.wait(), undefined);
    }
    this.#isReleased = true;
    const runs = [...this.#running.values()];
    this.#running.clear();
    this.#unwritten.clear();
    this.#drained.resolveAll();
    for (const { abort } of runs) abort.abort(new QueueStoppedError());
    await this.#release(runs.map(({ claim }) => claim));
  }

  async #run(handler: TaskHandler, run: Run): Promise<void> {
    try {
      await this.#finish(run, await this.#stepOf(handler, run));
    } finally {
      this.#forget(run);
    }
  }

  async #stepOf(handler: TaskHandler, run: Run): Promise<Step> {
    try {
      const step = await handler(run.task, {
        signal: run.abort.signal,
        commit: (decide) => this.#commit(run, decide),
        assertHeld: () => this.#assertHeld(run),
      });
      if (typeof step !== "function") checkTaskEnd(step);
      return step;
    } catch (thrown) {
      return surprise(this.#options, run.task, thrown);
    }
  }

  /** Commits what a run decides before it ends. */
  async #commit<T>(run: Run, decide: Decision<T>): Promise<T> {
    const { commits, clock } = this.#options;
    if (!this.#holds(run)) throw new QueueStoppedError();
    const beganAtMs = clock.monotonicMs();
    const { value } = await commits.carryOut(decide, { claim: run.claim });
    run.heldAtMs = beganAtMs;
    return value;
  }

  /** A lease goes on as soon as a quarter of it is over, so half of it is left at any time. */
  #assertHeld(run: Run): void {
    const { clock, leaseMs } = this.#options;
    if (!this.#holds(run)) throw new QueueStoppedError();
    if (clock.monotonicMs() - run.heldAtMs > leaseMs / 2) throw new ClaimLostError();
  }

  /** Writes a result down. Until that succeeds the task counts as running, so that its work isn't done twice. */
  async #finish(run: Run, first: Step): Promise<void> {
    const { commits, clock, logger } = this.#options;
    let step = first;
    let isSurprise = false;
    while (this.#holds(run)) {
      try {
        const decide: Decision<TaskEnd> = typeof step === "function" ? step : plainEnd(step);
        await commits.carryOut(decide, { claim: run.claim, endOf: (end) => end });
        return;
      } catch (thrown) {
        const { id, type } = run.task;
        if (thrown instanceof ClaimLostError) {
          logger.warn(
            { task: id, type },
            "task queue: a result was not written: another replica has this task now, or it was written before and the answer was lost",
          );
          return;
        }
        if (!this.#holds(run)) return;
        if (!(thrown instanceof StoreUnavailableError) && !isSurprise) {
          step = surprise(this.#options, run.task, thrown);
          isSurprise = true;
          continue;
        }
        const level = this.#unwritten.has(run) ? "debug" : "error";
        this.#unwritten.set(run, thrown);
        logger[level](
          { task: id, type, error: messageOf(thrown), retryInMs: faultDelayMs },
          "task queue: a result could not be written; trying again",
        );
        await new Promise<void>((resolve) => {
          clock.wakeAt(clock.now() + faultDelayMs, resolve);
          run.abort.signal.addEventListener("abort", () => resolve());
        });
      }
    }
  }

  /** Tasks with these claims run again at once, here or elsewhere, as if they had not run. */
  async #release(claims: readonly Claim[]): Promise<void> {
    if (claims.length === 0) return;
    const { work, logger } = this.#options;
    try {
      // Behind what they have asked for already.
      await work.ask({ kind: "release", args: claims.flatMap(({ id, token }) => [id, token]) });
    } catch (thrown) {
      logger.warn(
        { error: messageOf(thrown) },
        "task queue: what runs could not be handed back; it runs again when its lease is over",
      );
    }
  }

  #forget(run: Run): void {
    this.#unwritten.delete(run);
    this.#budgets.release(run.pool);
    if (!this.#holds(run)) return;
    this.#running.delete(run.claim.id);
    if (this.#running.size === 0) this.#drained.resolveAll();
  }

  /** False once the run was released, or another run of its task began here. */
  #holds(run: Run): boolean {
    return this.#running.get(run.claim.id) === run;
  }
}

/** An end without a decision of its own. */
function plainEnd(end: TaskEnd): Decision<TaskEnd> {
  return () => ({ value: end });
}
