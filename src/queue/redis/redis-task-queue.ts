import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import type { Decision, NewTask, TaskCounts, TaskHandler, TaskQueue } from "../../core/task-queue.ts";
import { messageOf } from "../../errors.ts";
import type { RedisStore } from "../../store/redis/open-redis-store.ts";
import { type Pools, budgetOf, poolName } from "../pool-budgets.ts";
import { QueueStoppedError } from "../queue-stopped-error.ts";
import { KEEP_DONE_MS, toStorableTask } from "../storable-task.ts";
import { BullPools } from "./bull-pools.ts";
import { RedisCommits } from "./redis-commits.ts";
import { RedisRuns } from "./redis-runs.ts";
import { RedisWork } from "./redis-work.ts";
import { COUNT, FIND_LATE, NEXT_DUE, SWEEP } from "./task-scripts.ts";
import { type ToTell, toTell } from "./to-tell.ts";

type RedisTaskQueueOptions = {
  store: RedisStore;
  clock: Clock;
  logger: Logger;
  pools: Pools;
  /** How long the ids of done tasks stay known, milliseconds. @default a week */
  keepDoneMs?: number;
  /** How long dead tasks are kept for the operator, milliseconds. */
  keepDeadMs: number;
  /** A replica that is silent for so long may lose what it runs to another one. @default 30 s */
  leaseMs?: number;
  /** How often replicas look for those that are. @default 10 s */
  lookForStalledEveryMs?: number;
};

const faultDelayMs = 1_000;
const sweepEveryMs = 5_000;
const sweepLimit = 500;
/** A task that is late by this is looked for at BullMQ. */
const lateAfterMs = 2_000;

const Late = z.tuple([z.int(), z.array(z.string())]);
const Counts = z.tuple([z.int(), z.int(), z.int()]);

/**
 * A task queue on Redis that any number of replicas share. The tasks are ours, and change only by scripts, together with the records; BullMQ says
 * when it is time for a run, and to whom. What BullMQ has yet to be told is in an outbox, so nothing is lost in between.
 */
export class RedisTaskQueue implements TaskQueue {
  readonly #store: RedisStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #keepDeadMs: number;
  readonly #now: () => string;
  readonly #work: RedisWork;
  readonly #commits: RedisCommits;
  readonly #bull: BullPools;
  readonly #runs: RedisRuns;

  #isStopped = false;
  #isLookingForLate = false;
  /** How many of the late tasks were looked at since the first of them was. */
  #lateSeen = 0;
  /** The error of the last sweep, until one succeeds. */
  #fault: unknown;
  #cancelSweep: () => void = noop;
  #toTell: ToTell[] = [];
  #telling: Promise<void> = Promise.resolve();

  constructor({
    store,
    clock,
    logger,
    pools,
    keepDoneMs = KEEP_DONE_MS,
    keepDeadMs,
    leaseMs = 30_000,
    lookForStalledEveryMs = 10_000,
  }: RedisTaskQueueOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
    this.#keepDeadMs = keepDeadMs;
    const { serverNow } = store;
    this.#now = () => (serverNow === undefined ? "" : String(serverNow()));
    this.#work = new RedisWork(store.redis, this.#now);
    this.#commits = new RedisCommits({
      store,
      clock,
      work: this.#work,
      keepDoneMs,
      poolOf: (type, share) => poolName(pools, type, share),
    });
    this.#bull = new BullPools({
      redis: store.redis,
      logger,
      budgetOf: (pool) => budgetOf(pools.budgets, pool) ?? 1,
      now: () => clock.now(),
      leaseMs,
      lookForStalledEveryMs,
    });
    this.#runs = new RedisRuns({
      work: this.#work,
      commits: this.#commits,
      clock,
      logger,
      leaseMs,
      tell: (runs) => this.#tell(runs),
    });
  }

  async add(task: NewTask): Promise<boolean> {
    // Before it waits for Redis, as what is wrong with a task is the caller's fault.
    toStorableTask(task, this.#clock.now());
    const { added, told } = await this.#commits.carryOut(() => ({ adds: [task], value: null }));
    this.#tell(told);
    return added[0] === true;
  }

  async commit<T>(decide: Decision<T>): Promise<T> {
    if (this.#runs.isReleased) throw new QueueStoppedError();
    const { value, told } = await this.#commits.carryOut(decide);
    this.#tell(told);
    return value;
  }

  start(handler: TaskHandler): void {
    if (this.#isStopped) throw new QueueStoppedError();
    this.#bull.start((id, run) => this.#runs.run(handler, id, run));
    void this.#sweep();
  }

  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    this.#cancelSweep();
    const paused = this.#bull.pause();
    await this.#runs.stop(graceMs);
    // Nobody waits for a Redis that is silent: what BullMQ isn't told of is in the outbox.
    await this.#store.redis.ask(() => this.#closeBull(paused)).catch(noop);
  }

  async #closeBull(paused: Promise<void>): Promise<void> {
    await paused;
    await this.#telling;
    // A worker that is on its way out might still take what is handed back, and keep it until its lease is over.
    await this.#bull.closeWorkers();
    await this.#tellBatch();
    await this.#bull.closeQueues();
  }

  async check(): Promise<void> {
    if (this.#isStopped) throw new QueueStoppedError();
    await this.#store.check();
    for (const fault of [this.#fault, ...this.#runs.faults]) {
      if (fault !== undefined) throw fault;
    }
  }

  /** `running`: in this process. */
  async counts(): Promise<TaskCounts> {
    const { redis } = this.#store;
    const [live, running, dead] = Counts.parse(await redis.run(COUNT, [this.#now(), ...this.#runs.ids]));
    return { waiting: live - running, running, dead };
  }

  /** When the next task that does not run here is due, in epoch milliseconds; null if none waits. */
  async nextDueAt(): Promise<number | null> {
    const { redis } = this.#store;
    const inMs = await redis.run(NEXT_DUE, [this.#now(), ...this.#runs.ids]);
    return inMs === null ? null : this.#clock.now() + Number(inMs);
  }

  /** How many tasks run in this process. */
  get size(): number {
    return this.#runs.size;
  }

  /** Tells BullMQ soon, with whatever else there is to tell by then. Nobody waits for it: it is in the outbox. */
  #tell(runs: readonly ToTell[]): void {
    if (runs.length === 0) return;
    this.#toTell.push(...runs);
    if (this.#isStopped || this.#toTell.length > runs.length) return;
    this.#telling = this.#telling.then(
      () =>
        new Promise((resolve) => {
          setImmediate(() => resolve(this.#tellBatch()));
        }),
    );
  }

  async #tellBatch(): Promise<void> {
    const batch = this.#toTell;
    this.#toTell = [];
    try {
      await this.#tellNow(batch);
    } catch (thrown) {
      this.#logger.warn(
        { error: messageOf(thrown) },
        "task queue: BullMQ could not be told of tasks; trying again",
      );
    }
  }

  async #tellNow(runs: readonly ToTell[]): Promise<void> {
    if (runs.length === 0) return;
    if (!this.#isStopped) this.#bull.serve(new Set(runs.map(({ pool }) => pool)));
    await this.#bull.tell(runs);
    await this.#work.ask({ kind: "told", runs: runs.map(({ id, run }) => [id, run]) });
  }

  /** Serves all pools, tells BullMQ what it has not been told, and forgets the dead whose time is over. */
  async #sweep(): Promise<void> {
    const { redis } = this.#store;
    let hasMore = false;
    try {
      this.#bull.serve(await redis.ask((client) => client.sMembers(`${redis.prefix}:pools`)));
      const untold = await redis.run(SWEEP, [this.#now(), String(this.#keepDeadMs), String(sweepLimit)]);
      const toldNow = toTell(untold, this.#clock.now());
      await this.#tellNow(toldNow);
      // As after a migration, or a Redis that was restarted.
      hasMore = toldNow.length > sweepLimit / 2;
      if (this.#isLookingForLate) {
        const page = [lateAfterMs, this.#lateSeen, sweepLimit].map(String);
        const [count, late] = Late.parse(await redis.run(FIND_LATE, [this.#now(), ...page]));
        // Those that are late because much waits must not hide the others permanently.
        this.#lateSeen = count < sweepLimit ? 0 : this.#lateSeen + count;
        await this.#tellNow(toTell(late, this.#clock.now()));
      }
      // Not in the first sweep, and only once BullMQ was told of all: it has just begun with what became due while no process was there.
      this.#isLookingForLate = !hasMore;
      this.#fault = undefined;
    } catch (thrown) {
      if (this.#isStopped) return;
      // Said once, however long Redis is away.
      const level = this.#fault === undefined ? "error" : "debug";
      this.#fault = thrown;
      this.#logger[level]({ error: messageOf(thrown) }, "task queue: sweep failed; trying again");
    }
    if (this.#isStopped) return;
    const inMs = this.#fault !== undefined ? faultDelayMs : hasMore ? 0 : sweepEveryMs;
    this.#cancelSweep = this.#clock.wakeAt(this.#clock.now() + inMs, () => void this.#sweep());
  }
}

function noop(): void {}
