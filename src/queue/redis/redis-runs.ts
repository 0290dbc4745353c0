import { z } from "zod";
import type { Decision, Step, TaskHandler } from "../../core/ports/task-queue.ts";
import { messageOf } from "../../core/errors.ts";
import { fromStoredPayload } from "../storable-task.ts";
import { type Run, TaskRuns, type TaskRunsOptions } from "../task-runs.ts";
import { type TaskClaim, ClaimLostError, type RedisCommits } from "./redis-commits.ts";
import type { RedisWork } from "./redis-work.ts";

type RedisRunsOptions = TaskRunsOptions & { work: RedisWork; commits: RedisCommits; leaseMs: number };

/** `heldAtMs` is a monotonic time at which nobody else had the task. */
type RedisRun = Run & { claim: TaskClaim; heldAtMs: number };

const count = z.coerce.number();
/** Tasks in the script's format. See `WORK`. */
export const ClaimedTasks = z.array(
  z.tuple([z.string(), z.string(), z.string(), z.string(), count, count, count, count]),
);
type ClaimedTasks = z.infer<typeof ClaimedTasks>;

/** This process's runs of tasks, each from its claim until Redis has its end. */
export class RedisRuns extends TaskRuns<RedisRun> {
  readonly #options: RedisRunsOptions;

  constructor(options: RedisRunsOptions) {
    super(options);
    this.#options = options;
  }

  /** Renews leases of which a quarter has passed. */
  renew(): void {
    const nowMs = this.#options.clock.monotonicMs();
    const due = this.all.filter(({ heldAtMs }) => nowMs - heldAtMs > this.#options.leaseMs / 4);
    if (due.length === 0) return;
    this.#options.work.ask({ kind: "renew", args: wordsOf(due) }).then(
      (held) => {
        for (const [n, run] of due.entries()) if (String(held)[n] === "1") run.heldAtMs = nowMs;
      },
      // The next call tries again.
      () => {},
    );
  }

  /** Runs claimed tasks. `heldAtMs` is a time before the claim was made. */
  begin(handler: TaskHandler, token: string, heldAtMs: number, tasks: ClaimedTasks): void {
    const runs = tasks.map(([id, pool, type, stored, attempt, unexpectedFailures, ...at]): RedisRun => {
      const [deaths, addedAt] = at;
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

  protected override async commit<T>(run: RedisRun, decide: Decision<T>): Promise<T> {
    super.assertHeld(run);
    const beganAtMs = this.#options.clock.monotonicMs();
    const { value } = await this.#options.commits.carryOut(decide, { claim: run.claim });
    run.heldAtMs = beganAtMs;
    return value;
  }

  /** Leases are renewed after a quarter, so normally at least half is left. */
  protected override assertHeld(run: RedisRun): void {
    super.assertHeld(run);
    if (this.#options.clock.monotonicMs() - run.heldAtMs > this.#options.leaseMs / 2)
      throw new ClaimLostError();
  }

  protected override async end({ claim, task: { id, type } }: RedisRun, step: Step): Promise<void> {
    const decide = typeof step === "function" ? step : () => ({ value: step });
    try {
      await this.#options.commits.carryOut(decide, { claim, endOf: (end) => end });
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
        "task queue: what runs could not be handed back; it runs again when its lease is over",
      );
    }
  }
}

function wordsOf(runs: readonly RedisRun[]): string[] {
  return runs.flatMap(({ claim: { id, token } }) => [id, token]);
}
