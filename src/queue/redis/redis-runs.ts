import { randomUUID } from "node:crypto";
import { z } from "zod";
import { within } from "../../core/clock.ts";
import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import type { Decision, Step, Task, TaskEnd, TaskHandler } from "../../core/task-queue.ts";
import { messageOf } from "../../errors.ts";
import { StoreAnswerLostError, StoreUnavailableError } from "../../store/store-errors.ts";
import { QueueStoppedError } from "../queue-stopped-error.ts";
import { checkTaskEnd, fromStoredPayload } from "../storable-task.ts";
import { surprise } from "../surprise.ts";
import { Waiters } from "../waiters.ts";
import { ClaimLostError } from "./claim-lost-error.ts";
import type { Claim, RedisCommits } from "./redis-commits.ts";
import type { RedisWork } from "./redis-work.ts";
import { type ToTell, toTell } from "./to-tell.ts";

type Options = {
  work: RedisWork;
  commits: RedisCommits;
  clock: Clock;
  logger: Logger;
  leaseMs: number;
  /** Tells BullMQ soon. */
  tell: (runs: readonly ToTell[]) => void;
};

/** `heldAtMs`: a monotonic time at which nobody else had the task. */
type Run = { claim: Claim; task: Task; abort: AbortController; heldAtMs: number };

const faultDelayMs = 1_000;

const Claimed = z.union([
  z.null(),
  z.tuple([z.literal("held"), z.array(z.string())]),
  z.tuple([
    z.literal("claimed"),
    z.tuple([
      z.string(),
      z.string(),
      z.coerce.number(),
      z.coerce.number(),
      z.coerce.number(),
      z.coerce.number(),
    ]),
  ]),
]);

/** The runs of tasks in this process, each from its claim to its end at Redis. */
export class RedisRuns {
  readonly #options: Options;
  readonly #running = new Map<string, Run>();
  /** Runs whose results couldn't be written, each with the reason. */
  readonly #unwritten = new Map<Run, unknown>();
  readonly #drained = new Waiters();
  #isStopped = false;
  #isReleased = false;

  constructor(options: Options) {
    this.#options = options;
  }

  get size(): number {
    return this.#running.size;
  }

  /** Whether the runs were released: what they still do counts for nothing. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  get faults(): Iterable<unknown> {
    return this.#unwritten.values();
  }

  get ids(): string[] {
    return [...this.#running.keys()];
  }

  /**
   * Runs a task, if that run is still the one that is next. Resolves when its end is at Redis, or does not matter any more; rejects when it could not
   * begin, so that BullMQ says it again.
   */
  async run(handler: TaskHandler, id: string, number: string): Promise<void> {
    const { work, clock, leaseMs, tell } = this.#options;
    if (this.#isStopped) throw new QueueStoppedError();
    const claim = { id, token: randomUUID() };
    const heldAtMs = clock.monotonicMs();
    const asked = work.ask({ kind: "claim", id, run: number, token: claim.token, leaseMs });
    const claimed = Claimed.parse(
      await asked.catch(async (thrown: unknown) => {
        // It may have been claimed. Left like this, it would look as if this process had died while it ran.
        if (thrown instanceof StoreAnswerLostError) await this.#release([claim]);
        throw thrown;
      }),
    );
    if (claimed === null) return;
    if (claimed[0] === "held") return tell(toTell(claimed[1], clock.now()));
    const [type, payload, attempt, surprises, deaths, addedAt] = claimed[1];
    const task = { id, type, payload: fromStoredPayload(payload), attempt, surprises, deaths, addedAt };
    const run: Run = { claim, task, abort: new AbortController(), heldAtMs };
    if (this.#isStopped) return this.#release([claim]);
    this.#running.set(id, run);
    try {
      await this.#finish(run, await this.#stepOf(handler, run));
    } finally {
      this.#forget(run);
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
    const { commits, clock, tell } = this.#options;
    if (!this.#holds(run)) throw new QueueStoppedError();
    const beganAtMs = clock.monotonicMs();
    const { value, told } = await commits.carryOut(decide, { claim: run.claim });
    run.heldAtMs = beganAtMs;
    tell(told);
    return value;
  }

  /** BullMQ renews a lease when half of it is over, so the other half is left at any time. */
  #assertHeld(run: Run): void {
    const { clock, leaseMs } = this.#options;
    if (!this.#holds(run)) throw new QueueStoppedError();
    if (clock.monotonicMs() - run.heldAtMs > leaseMs / 2) throw new ClaimLostError();
  }

  /** Writes a result down. Until that succeeds the task counts as running, so that its work isn't done twice. */
  async #finish(run: Run, first: Step): Promise<void> {
    const { commits, clock, logger, tell } = this.#options;
    let step = first;
    let isSurprise = false;
    while (this.#holds(run)) {
      try {
        const decide: Decision<TaskEnd> = typeof step === "function" ? step : plainEnd(step);
        const { told } = await commits.carryOut(decide, { claim: run.claim, endOf: (end) => end });
        tell(told);
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
    const { work, clock, logger, tell } = this.#options;
    try {
      // Behind what they have asked for already.
      tell(toTell(await work.ask({ kind: "release", claims }), clock.now()));
    } catch (thrown) {
      logger.warn(
        { error: messageOf(thrown) },
        "task queue: what runs could not be handed back; it runs again when its lease is over",
      );
    }
  }

  #forget(run: Run): void {
    this.#unwritten.delete(run);
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
