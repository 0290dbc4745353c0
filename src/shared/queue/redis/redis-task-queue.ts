import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Clock, Logger } from "../../machine/ports.ts";
import type { DecisionOf, NewTask, PoolCounts, TaskCounts, TaskHandlerOf, TaskQueue } from "../task-queue.ts";
import { messageOf } from "../../errors.ts";
import type { Kinds, ReadOf } from "../../store/record-types.ts";
import type { RedisStore } from "../../store/redis/open-redis-store.ts";
import { StoreAnswerLostError } from "../../store/store-errors.ts";
import type { Pools } from "../storable-task.ts";
import { FAULT_DELAY_MS, QueueStoppedError } from "../task-runs.ts";
import { RedisCommits } from "./redis-commits.ts";
import { ClaimedTasks, RedisRuns } from "./redis-runs.ts";
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

/** The claimed tasks, and the time until the next one is due, milliseconds. */
const Claimed = z.tuple([ClaimedTasks, z.coerce.number().nullable()]);
const Looked = z.tuple([z.array(z.tuple([z.string(), z.int()])), z.int(), z.int(), z.string()]);

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
    const { redis, confirmations } = store;
    const work = new RedisWork({ redis, confirmations, leaseMs, onCall: () => this.#claim() });
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
    const { byPool, running, dead } = await this.#look([]);
    const unfinished = byPool.reduce((sum, [, tasks]) => sum + tasks, 0);
    return { waiting: unfinished - running, running, dead };
  }

  /** Like {@link counts}, `running` counts this process's tasks. */
  async countsByPool(): Promise<PoolCounts> {
    return this.#runs.countsByPool((await this.#look([])).byPool);
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
    const [byPool, running, dead, inMs] = Looked.parse(looked);
    return { byPool, running, dead, nextDueAt: inMs === "" ? null : clock.now() + Number(inMs) };
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

function noop(): void {}
