import { z } from "zod";
import type { CommitOptions, DecisionOf, StepOf, TaskHandlerOf } from "../task-queue.ts";
import { messageOf } from "../../errors.ts";
import type { Kinds } from "../../store/record-types.ts";
import { fromStoredPayload } from "../storable-task.ts";
import { type Run, TaskRuns, type TaskRunsOptions } from "../task-runs.ts";
import { ClaimLostError, type RedisCommits, type TaskClaim } from "./redis-commits.ts";
import type { RedisWork } from "./redis-work.ts";

const Count = z.coerce.number();
/** Tasks in the script's format. See `WORK`. */
export const ClaimedTasks = z.array(
  z.tuple([z.string(), z.string(), z.string(), z.string(), Count, Count, Count, Count]),
);

type RedisRunsOptions<R extends Kinds> = TaskRunsOptions & {
  work: RedisWork;
  commits: RedisCommits<R>;
  leaseMs: number;
};

/** `heldAtMs` is a monotonic time at which nobody else had the task. */
type RedisRun = Run & { claim: TaskClaim; heldAtMs: number };

/** This process's runs of tasks, each from its claim until Redis has its end. */
export class RedisRuns<R extends Kinds> extends TaskRuns<R, RedisRun> {
  readonly #options: RedisRunsOptions<R>;

  constructor(options: RedisRunsOptions<R>) {
    super(options);
    this.#options = options;
  }

  /** Renews leases of which a quarter has passed. */
  renew(): void {
    const nowMs = this.#options.clock.monotonicMs();
    const due = this.all.filter(({ heldAtMs }) => nowMs - heldAtMs > this.#options.leaseMs / 4);
    if (due.length === 0) return;
    this.#options.work.ask({ kind: "renew", args: wordsOf(due) }).then(
      ({ answer }) => {
        for (const [n, run] of due.entries()) if (String(answer)[n] === "1") run.heldAtMs = nowMs;
      },
      // The next call tries again.
      () => {},
    );
  }

  /** Runs claimed tasks. `heldAtMs` is a time before the claim was made. */
  begin(
    handler: TaskHandlerOf<R>,
    token: string,
    heldAtMs: number,
    tasks: z.infer<typeof ClaimedTasks>,
  ): void {
    const runs = tasks.map(([id, pool, type, stored, attempt, unexpectedFailures, ...counts]): RedisRun => {
      const [deaths, ageMs] = counts;
      const addedAt = this.#options.clock.now() - ageMs;
      const payload = fromStoredPayload(stored);
      const task = { id, type, payload, attempt, unexpectedFailures, deaths, addedAt };
      return { key: id, claim: { id, token }, pool, task, abort: new AbortController(), heldAtMs };
    });
    if (this.isStopped && runs.length > 0) return void this.handBack(runs);
    for (const run of runs) {
      this.hold(run);
      void this.run(handler, run);
    }
  }

  protected override async commit<T>(
    run: RedisRun,
    decide: DecisionOf<R, T>,
    { mustBeConfirmed = false }: CommitOptions = {},
  ): Promise<T> {
    super.assertHeld(run);
    const beganAtMs = this.#options.clock.monotonicMs();
    const { value } = await this.#options.commits.carryOut(decide, {
      claim: run.claim,
      mayBeUnconfirmed: !mustBeConfirmed,
    });
    run.heldAtMs = beganAtMs;
    return value;
  }

  /** Leases are renewed after a quarter, so normally at least half is left. */
  protected override assertHeld(run: RedisRun): void {
    super.assertHeld(run);
    if (this.#options.clock.monotonicMs() - run.heldAtMs > this.#options.leaseMs / 2)
      throw new ClaimLostError();
  }

  protected override async end({ claim, task: { id, type } }: RedisRun, step: StepOf<R>): Promise<void> {
    const decide = typeof step === "function" ? step : () => ({ value: step });
    try {
      // If the server changes before standbys confirm, this rejects, and the end is stored there.
      await this.#options.commits.carryOut(decide, { claim, endOf: (end) => end, mayBeUnconfirmed: true });
    } catch (thrown) {
      if (!(thrown instanceof ClaimLostError)) throw thrown;
      this.#options.logger.warn(
        { task: id, type },
        "task queue: a result was not written: another replica has this task now, or its answer was lost",
      );
    }
  }

  protected override async handBack(runs: readonly RedisRun[]): Promise<void> {
    try {
      // Comes after everything that these runs have already asked for.
      await this.#options.work.ask({ kind: "release", args: wordsOf(runs) });
    } catch (thrown) {
      this.#options.logger.warn(
        { error: messageOf(thrown) },
        "task queue: running tasks could not be handed back; they run again when their leases end",
      );
    }
  }
}

function wordsOf(runs: readonly RedisRun[]): string[] {
  return runs.flatMap(({ claim: { id, token } }) => [id, token]);
}
