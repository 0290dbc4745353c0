import { createHash } from "node:crypto";
import { Queue, Worker, createNodeRedisClient } from "bullmq";
import { z } from "zod";
import type { Logger } from "../../core/logger.ts";
import { messageOf } from "../../errors.ts";
import type { RedisConnection } from "../../store/redis/redis-connection.ts";
import type { ToTell } from "./to-tell.ts";

export type BullPoolsOptions = {
  redis: RedisConnection;
  logger: Logger;
  /** How many tasks of a pool run at once, in this process. */
  budgetOf: (pool: string) => number;
  now: () => number;
  leaseMs: number;
  lookForStalledEveryMs: number;
};

const JobData = z.object({ id: z.string(), run: z.string() });
/** A job that fails here never got as far as its task. It is tried for as long as it takes. */
const RETRY = { attempts: Number.MAX_SAFE_INTEGER, backoff: { type: "fixed", delay: 1_000 } };

/**
 * BullMQ, as far as we need it: it says when it is time for a run, to one process at a time, and says it again when that process dies. Each
 * pool is a queue of its own.
 */
export class BullPools {
  readonly #options: BullPoolsOptions;
  readonly #connection: ReturnType<typeof createNodeRedisClient>;
  readonly #queues = new Map<string, Queue>();
  readonly #workers = new Map<string, Worker>();
  #run: ((id: string, run: string) => Promise<void>) | null = null;

  constructor(options: BullPoolsOptions) {
    this.#options = options;
    this.#connection = createNodeRedisClient(options.redis.client);
  }

  /** The name of a pool's queue: any text may be in the name of a pool. */
  static queueName(pool: string): string {
    return createHash("sha1").update(pool).digest("hex");
  }

  /** A run has one job, however often BullMQ is told of it. */
  static jobId({ id, run }: Pick<ToTell, "id" | "run">): string {
    return `${createHash("sha1").update(id).digest("hex")}-${run}`;
  }

  /** Tells BullMQ of runs. It has them when this resolves. */
  async tell(runs: readonly ToTell[]): Promise<void> {
    const now = this.#options.now();
    await Promise.all(
      [...Map.groupBy(runs, ({ pool }) => pool)].map(async ([pool, inPool]) => {
        const queue = this.#queueOf(pool);
        const jobs = inPool
          .toSorted((a, b) => a.dueAt - b.dueAt)
          .map(({ id, run, dueAt }) => ({
            name: "run",
            data: { id, run },
            opts: { ...RETRY, jobId: BullPools.jobId({ id, run }), delay: Math.max(0, dueAt - now) },
          }));
        try {
          await queue.addBulk(jobs);
        } catch (thrown) {
          // Redis forgets scripts when it restarts. BullMQ sends them again with a single job, and not with several.
          this.#warn(thrown);
          for (const { name, data, opts } of jobs) await queue.add(name, data, opts);
        }
      }),
    );
  }

  /** From now on `run` is called when it is time, in every pool that {@link serve} names. */
  start(run: (id: string, run: string) => Promise<void>): void {
    this.#run = run;
  }

  /** Runs what is due in these pools, from now on. */
  serve(pools: Iterable<string>): void {
    const run = this.#run;
    if (run === null) return;
    for (const pool of pools) {
      if (this.#workers.has(pool)) continue;
      const { leaseMs, lookForStalledEveryMs, budgetOf } = this.#options;
      const worker = new Worker(
        BullPools.queueName(pool),
        async ({ data }) => {
          const { id, run: number } = JobData.parse(data);
          await run(id, number);
        },
        {
          ...this.#shared,
          concurrency: budgetOf(pool),
          lockDuration: leaseMs,
          stalledInterval: lookForStalledEveryMs,
          // Tasks count themselves how often a process died of them.
          maxStalledCount: Number.MAX_SAFE_INTEGER,
          removeOnComplete: { count: 0 },
          removeOnFail: { count: 0 },
          runRetryDelay: 1_000,
        },
      );
      worker.on("error", (thrown) => this.#warn(thrown));
      this.#workers.set(pool, worker);
    }
  }

  /** Begins nothing more. What runs goes on. */
  async pause(): Promise<void> {
    this.#run = null;
    await this.#all([...this.#workers.values()], (worker) => worker.pause(true));
  }

  /** Takes nothing more, and waits for nothing. BullMQ gives what still runs to others once its lease is over. */
  async closeWorkers(): Promise<void> {
    await this.#all([...this.#workers.values()], (worker) => worker.close(true));
  }

  /** From now on BullMQ can't be told of anything. */
  async closeQueues(): Promise<void> {
    await this.#all([...this.#queues.values()], (queue) => queue.close());
  }

  /** Also when Redis is away. */
  async #all<T>(parts: readonly T[], end: (part: T) => Promise<void>): Promise<void> {
    for (const ended of await Promise.allSettled(parts.map(end))) {
      if (ended.status === "rejected") this.#warn(ended.reason);
    }
  }

  #queueOf(pool: string): Queue {
    let queue = this.#queues.get(pool);
    if (queue === undefined) {
      queue = new Queue(BullPools.queueName(pool), {
        ...this.#shared,
        skipMetasUpdate: true,
        skipWaitingForReady: true,
        defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
        // Nobody listens to BullMQ's own events.
        streams: { events: { maxLen: 1 } },
      });
      queue.on("error", (thrown) => this.#warn(thrown));
      this.#queues.set(pool, queue);
    }
    return queue;
  }

  get #shared() {
    return { connection: this.#connection, prefix: `${this.#options.redis.prefix}:q` };
  }

  #warn(thrown: unknown): void {
    this.#options.logger.debug({ error: messageOf(thrown) }, "task queue: BullMQ met a fault");
  }
}
