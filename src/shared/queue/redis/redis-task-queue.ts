import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Clock, Logger } from "../../machine/ports.ts";
import type { DecisionOf, NewTask, StepOf, TaskCounts, TaskHandlerOf, TaskQueue } from "../task-queue.ts";
import { messageOf } from "../../errors.ts";
import type { Kinds, ReadOf } from "../../store/record-types.ts";
import type { RedisStore } from "../../store/redis/open-redis-store.ts";
import { StoreAnswerLostError } from "../../store/store-errors.ts";
import { type Pools, fromStoredPayload } from "../storable-task.ts";
import { QueueStoppedError, type Run, TaskRuns, type TaskRunsOptions, FAULT_DELAY_MS } from "../task-runs.ts";
import { ClaimLostError, RedisCommits, type TaskClaim } from "./redis-commits.ts";
import { type ClaimAsked, RedisWork } from "./redis-work.ts";
import { LOOK } from "./task-script.ts";

type RedisTaskQueueOptions<R extends Kinds> = {
  store: RedisStore<R>;
  clock: Clock;
  logger: Logger;
  pools: Pools;
  /** How long abandoned tasks are kept for the operator, milliseconds. */
  keepDeadMs: number;
  /** After this silence, a replica may lose its running tasks to another. @default 30 s */
  leaseMs?: number;
};

/**
 * The longest time between calls. Each renews leases and finds what another replica left behind.
 */
const CALL_EVERY_MS = 2_000;
/** How often this process itself checks that due tasks begin, in case nobody else checks it. */
const LOOK_EVERY_MS = 60_000;
/** The most abandoned tasks that one look removes. */
const FORGET_AT_MOST = 500;

const Count = z.coerce.number();
/** Tasks in the script's format. See `WORK`. */
const ClaimedTasks = z.array(
  z.tuple([z.string(), z.string(), z.string(), z.string(), Count, Count, Count, Count]),
);
/** The claimed tasks, and the time until the next one is due, milliseconds. */
const Claimed = z.tuple([ClaimedTasks, z.coerce.number().nullable()]);
const Looked = z.tuple([z.int(), z.int(), z.int(), z.string()]);

/**
 * A task queue on Redis that any number of replicas share. One script changes tasks and records
 * together. Its guarantees are described in `task-script.ts`.
 */
export class RedisTaskQueue<R extends Kinds> implements TaskQueue<R> {
  readonly #options: RedisTaskQueueOptions<R>;
  readonly #work: RedisWork;
  readonly #commits: RedisCommits<R>;
  readonly #runs: RedisRuns<R>;
  /** Identifies this process as the owner of claims and the sender of wake-ups. */
  readonly #name = randomUUID();

  #handler: TaskHandlerOf<R> | undefined;
  #claims = 0;
  /** Claims whose answers were lost, with the monotonic times when they were made. */
  #lost: { token: string; atMs: number }[] = [];
  /** How long a lost claim is remembered. The leases that it may have begun have ended by then. */
  readonly #keepLostMs: number;
  /** The error of the last claim, until one succeeds. */
  #fault: unknown;
  #lookAtMs = -Infinity;
  #cancelWake: () => void = noop;
  #stopListening: () => void = noop;

  constructor(options: RedisTaskQueueOptions<R>) {
    this.#options = options;
    const { store, clock, logger, pools, leaseMs = 30_000 } = options;
    const work = new RedisWork({ redis: store.redis, leaseMs, onCall: () => this.#claim() });
    const commits = new RedisCommits({ store, clock, work, pools });
    this.#work = work;
    this.#commits = commits;
    this.#keepLostMs = 2 * leaseMs;
    this.#runs = new RedisRuns({ work, commits, clock, logger, budgets: pools.budgets, leaseMs });
  }

  async add(task: NewTask): Promise<boolean> {
    const { added } = await this.#commits.carryOut(() => ({ adds: [task], value: null }));
    return added[0] === true;
  }

  async commit<T>(decide: DecisionOf<R, T>): Promise<T> {
    if (this.#runs.isReleased) throw new QueueStoppedError();
    return (await this.#commits.carryOut(decide)).value;
  }

  read<T>(ask: (read: ReadOf<R>) => T): Promise<T> {
    return this.#commits.read(ask);
  }

  start(handler: TaskHandlerOf<R>): void {
    if (this.#runs.isStopped) throw new QueueStoppedError();
    this.#handler = handler;
    const { redis } = this.#options.store;
    this.#stopListening = redis.listen(`${redis.prefix}:wake`, (from) => {
      if (from !== this.#name) this.#work.callSoon();
    });
    this.#work.callSoon();
  }

  async stop(graceMs: number): Promise<void> {
    this.#cancelWake();
    this.#stopListening();
    await this.#runs.drain(graceMs);
    await this.#runs.release();
    await this.#work.settled();
  }

  async check(): Promise<void> {
    if (this.#runs.isStopped) throw new QueueStoppedError();
    await this.#options.store.check();
    for (const fault of [this.#fault, ...this.#runs.faults, await this.#lookForStandstill()]) {
      if (fault !== undefined && fault !== null) throw fault;
    }
  }

  /** `running` counts this process's tasks. */
  async counts(): Promise<TaskCounts> {
    const { live, running, dead } = await this.#look([]);
    return { waiting: live - running, running, dead };
  }

  /** When the next task that isn't running here is due, epoch milliseconds. Null if none waits. */
  async nextDueAt(): Promise<number | null> {
    return (await this.#look([])).nextDueAt;
  }

  get size(): number {
    return this.#runs.size;
  }

  /** `leftOut` are pools that don't count for the next due task. */
  async #look(leftOut: readonly string[]) {
    const { keepDeadMs, clock, store } = this.#options;
    const here = Object.fromEntries(this.#runs.all.map(({ key, pool }) => [key, pool]));
    const pools = Object.fromEntries(leftOut.map((pool) => [pool, true]));
    const args = [keepDeadMs, FORGET_AT_MOST, JSON.stringify(here), JSON.stringify(pools)].map(String);
    const looked = await store.redis.run(LOOK, [store.redis.now, ...args]);
    const [live, running, dead, inMs] = Looked.parse(looked);
    return { live, running, dead, nextDueAt: inMs === "" ? null : clock.now() + Number(inMs) };
  }

  async #lookForStandstill(): Promise<Error | null> {
    const full = Object.keys(this.#runs.held).filter((pool) => this.#runs.roomIn(pool) <= 0);
    return this.#runs.lookForStandstill((await this.#look(full)).nextDueAt ?? Infinity);
  }

  /** The part of a call that renews leases and claims due tasks. */
  #claim(): ClaimAsked | null {
    const handler = this.#handler;
    if (handler === undefined) return null;
    const nowMs = this.#options.clock.monotonicMs();
    this.#runs.renew();
    this.#lost = this.#lost.filter(({ atMs }) => nowMs - atMs < this.#keepLostMs);
    this.#claims += 1;
    const token = `${this.#name}-${this.#claims}`;
    const asked = {
      token,
      process: this.#name,
      mayBegin: this.#runs.mayBegin,
      budgets: this.#options.pools.budgets,
      held: this.#runs.held,
      lost: this.#lost.map((each) => ({ token: each.token, ago: Math.ceil(nowMs - each.atMs) + 1_000 })),
    };
    return {
      text: JSON.stringify(asked),
      resolve: (answer) => {
        const [tasks, nextInMs] = Claimed.parse(answer);
        this.#fault = undefined;
        this.#lost = [];
        this.#runs.begin(handler, token, nowMs, tasks);
        this.#callIn(Math.min(nextInMs ?? CALL_EVERY_MS, CALL_EVERY_MS));
        if (nowMs < this.#lookAtMs) return;
        this.#lookAtMs = nowMs + LOOK_EVERY_MS;
        // `check` reports the error, and the next look tries again.
        this.#lookForStandstill().catch(noop);
      },
      reject: (thrown) => {
        // One that may begin nothing claimed nothing. While results wait, there are many of them.
        const mayHaveClaimed = asked.mayBegin && thrown instanceof StoreAnswerLostError;
        if (mayHaveClaimed) this.#lost.push({ token, atMs: nowMs });
        if (this.#runs.isStopped) return;
        // Logged as an error only once, however long Redis is away.
        const level = this.#fault === undefined ? "error" : "debug";
        this.#fault = thrown;
        this.#options.logger[level](
          { error: messageOf(thrown) },
          "task queue: cannot look for what is due; trying again",
        );
        this.#callIn(FAULT_DELAY_MS);
      },
    };
  }

  #callIn(ms: number): void {
    this.#cancelWake();
    if (this.#runs.isStopped) return;
    this.#cancelWake = this.#options.clock.wakeAt(this.#options.clock.now() + ms, () =>
      this.#work.callSoon(),
    );
  }
}

type RedisRunsOptions<R extends Kinds> = TaskRunsOptions & {
  work: RedisWork;
  commits: RedisCommits<R>;
  leaseMs: number;
};

/** `heldAtMs` is a monotonic time at which nobody else had the task. */
type RedisRun = Run & { claim: TaskClaim; heldAtMs: number };

/** This process's runs of tasks, each from its claim until Redis has its end. */
class RedisRuns<R extends Kinds> extends TaskRuns<R, RedisRun> {
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
      (held) => {
        for (const [n, run] of due.entries()) if (String(held)[n] === "1") run.heldAtMs = nowMs;
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

  protected override async commit<T>(run: RedisRun, decide: DecisionOf<R, T>): Promise<T> {
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

  protected override async end({ claim, task: { id, type } }: RedisRun, step: StepOf<R>): Promise<void> {
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
        "task queue: running tasks could not be handed back; they run again when their leases end",
      );
    }
  }
}

function wordsOf(runs: readonly RedisRun[]): string[] {
  return runs.flatMap(({ claim: { id, token } }) => [id, token]);
}

function noop(): void {}
