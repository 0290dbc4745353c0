import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import type { Read } from "../../core/records.ts";
import type { Decision, NewTask, TaskCounts, TaskHandler, TaskQueue } from "../../core/task-queue.ts";
import { messageOf } from "../../errors.ts";
import type { RedisStore } from "../../store/redis/open-redis-store.ts";
import { StoreAnswerLostError } from "../../store/store-errors.ts";
import { type Pools, toStorableTask } from "../storable-task.ts";
import { QueueStoppedError, faultDelayMs } from "../task-runs.ts";
import { RedisCommits } from "./redis-commits.ts";
import { ClaimedTasks, RedisRuns } from "./redis-runs.ts";
import { type ClaimAsked, RedisWork } from "./redis-work.ts";
import { FORGET_DEAD, LOOK } from "./task-script.ts";

type RedisTaskQueueOptions = {
  store: RedisStore;
  clock: Clock;
  logger: Logger;
  pools: Pools;
  /** How long dead tasks are kept for the operator, milliseconds. */
  keepDeadMs: number;
  /** A replica that is silent for so long may lose what it runs to another one. @default 30 s */
  leaseMs?: number;
};

/** A call at least this often: it renews leases, and finds what another replica left behind. */
const callEveryMs = 2_000;
const sweepEveryMs = 60_000;
const sweepLimit = 500;

/**
 * What a claim has brought, in how many milliseconds the next task is due, and whether there was no
 * room for some.
 */
const Claimed = z.tuple([ClaimedTasks, z.coerce.number().nullable(), z.string()]);
const Looked = z.tuple([z.int(), z.int(), z.int(), z.string()]);

/**
 * A task queue on Redis that any number of replicas share. Tasks and records change together, by
 * one script. What it guarantees is said with that script, in `task-script.ts`.
 */
export class RedisTaskQueue implements TaskQueue {
  readonly #store: RedisStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #pools: Pools;
  readonly #keepDeadMs: number;
  readonly #now: () => string;
  readonly #work: RedisWork;
  readonly #commits: RedisCommits;
  readonly #runs: RedisRuns;
  /** Of this process: who has claimed, and who has said that something is due. */
  readonly #name = randomUUID();

  #handler: TaskHandler | undefined;
  #claims = 0;
  /** Claims whose answers were lost, with the monotonic times at which they were made. */
  #lost: { token: string; atMs: number }[] = [];
  /** The error of the last claim, until one succeeds. */
  #fault: unknown;
  #sweepAtMs = -Infinity;
  #cancelWake: () => void = noop;
  #stopListening: () => void = noop;

  constructor({ store, clock, logger, pools, keepDeadMs, leaseMs = 30_000 }: RedisTaskQueueOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
    this.#pools = pools;
    this.#keepDeadMs = keepDeadMs;
    const { serverNow, redis } = store;
    this.#now = () => (serverNow === undefined ? "" : String(serverNow()));
    this.#work = new RedisWork({
      redis,
      now: this.#now,
      leaseMs,
      onCall: () => this.#claim(),
    });
    const work = this.#work;
    this.#commits = new RedisCommits({ store, clock, work, pools });
    const { budgets } = pools;
    this.#runs = new RedisRuns({ work, commits: this.#commits, clock, logger, budgets, leaseMs });
  }

  async add(task: NewTask): Promise<boolean> {
    // Before it waits for Redis, as what is wrong with a task is the caller's fault.
    toStorableTask(task, this.#clock.now(), this.#pools);
    const { added } = await this.#commits.carryOut(() => ({ adds: [task], value: null }));
    return added[0] === true;
  }

  async commit<T>(decide: Decision<T>): Promise<T> {
    if (this.#runs.isReleased) throw new QueueStoppedError();
    return (await this.#commits.carryOut(decide)).value;
  }

  async read<T>(ask: (read: Read) => T): Promise<T> {
    return await this.#commits.read(ask);
  }

  start(handler: TaskHandler): void {
    if (this.#runs.isStopped) throw new QueueStoppedError();
    this.#handler = handler;
    const { redis } = this.#store;
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
    await this.#store.check();
    for (const fault of [this.#fault, ...this.#runs.faults, await this.#lookForStandstill()]) {
      if (fault !== undefined && fault !== null) throw fault;
    }
  }

  /** `running`: in this process. */
  async counts(): Promise<TaskCounts> {
    const { live, running, dead } = await this.#look([]);
    return { waiting: live - running, running, dead };
  }

  /**
   * When the next task that does not run here is due, in epoch milliseconds; null if none waits.
   */
  async nextDueAt(): Promise<number | null> {
    return (await this.#look([])).nextDueAt;
  }

  /** How many tasks run in this process. */
  get size(): number {
    return this.#runs.size;
  }

  /** `leftOut`: pools that don't count for the next task that is due. */
  async #look(leftOut: readonly string[]) {
    const running = Object.fromEntries(this.#runs.all.map(({ key, pool }) => [key, pool]));
    const pools = Object.fromEntries(leftOut.map((pool) => [pool, true]));
    const args = [this.#now(), JSON.stringify(running), JSON.stringify(pools)];
    const [live, here, dead, inMs] = Looked.parse(await this.#store.redis.run(LOOK, args));
    return {
      live,
      running: here,
      dead,
      nextDueAt: inMs === "" ? null : this.#clock.now() + Number(inMs),
    };
  }

  async #lookForStandstill(): Promise<Error | null> {
    const full = Object.keys(this.#runs.held).filter((pool) => this.#runs.roomIn(pool) <= 0);
    return this.#runs.lookForStandstill((await this.#look(full)).nextDueAt);
  }

  /**
   * What goes along with a call: leases that go on, claims that nobody knows of, and a claim of
   * what is due.
   */
  #claim(): ClaimAsked | null {
    const handler = this.#handler;
    if (handler === undefined) return null;
    const nowMs = this.#clock.monotonicMs();
    this.#runs.renew();
    for (const { token, atMs } of this.#lost) {
      const agoMs = Math.ceil(nowMs - atMs) + 1_000;
      this.#work.ask({ kind: "unclaim", args: [token, String(agoMs)] }).then(
        () => {
          this.#lost = this.#lost.filter((lost) => lost.token !== token);
        },
        () => {},
      );
    }
    if (!this.#runs.mayBegin) {
      if (!this.#runs.isStopped) this.#callIn(faultDelayMs);
      return null;
    }
    this.#claims += 1;
    const token = `${this.#name}-${this.#claims}`;
    const { budgets } = this.#pools;
    return {
      text: JSON.stringify({ token, process: this.#name, budgets, held: this.#runs.held }),
      answered: (answer) => {
        const [tasks, nextInMs] = Claimed.parse(answer);
        this.#fault = undefined;
        this.#runs.begin(handler, token, nowMs, tasks);
        this.#callIn(Math.min(nextInMs ?? callEveryMs, callEveryMs));
        this.#sweepIfDue();
      },
      failed: (thrown) => {
        if (thrown instanceof StoreAnswerLostError) this.#lost.push({ token, atMs: nowMs });
        if (this.#runs.isStopped) return;
        // Said once, however long Redis is away.
        const level = this.#fault === undefined ? "error" : "debug";
        this.#fault = thrown;
        this.#logger[level](
          { error: messageOf(thrown) },
          "task queue: cannot look for what is due; trying again",
        );
        this.#callIn(faultDelayMs);
      },
    };
  }

  #callIn(ms: number): void {
    this.#cancelWake();
    if (this.#runs.isStopped) return;
    this.#cancelWake = this.#clock.wakeAt(this.#clock.now() + ms, () => this.#work.callSoon());
  }

  /** Now and then, forgets the dead whose time is over, and looks whether what is due is begun. */
  #sweepIfDue(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < this.#sweepAtMs) return;
    this.#sweepAtMs = nowMs + sweepEveryMs;
    const { redis } = this.#store;
    redis
      .run(FORGET_DEAD, [this.#now(), String(this.#keepDeadMs), String(sweepLimit)])
      .then(async (forgotten) => {
        if (forgotten === sweepLimit) this.#sweepAtMs = -Infinity;
        await this.#lookForStandstill();
      })
      // Whoever checks is told; the next sweep tries again.
      .catch(noop);
  }
}

function noop(): void {}
