import { createHash } from "node:crypto";
import { MultiErrorReply } from "@redis/client";
import { type Job, Queue, Worker, createNodeRedisClient } from "bullmq";
import { z } from "zod";
import type { Logger } from "../../core/logger.ts";
import { messageOf } from "../../errors.ts";
import { type RedisConnection, isReadOnly } from "../../store/redis/redis-connection.ts";
import type { ToTell } from "./to-tell.ts";

type BullPoolsOptions = {
  redis: RedisConnection;
  logger: Logger;
  /** How many tasks of a pool run at once, in this process. */
  budgetOf: (pool: string) => number;
  now: () => number;
  leaseMs: number;
  lookForStalledEveryMs: number;
};

const JobData = z.object({ id: z.string(), run: z.string() });
const RETRY_DELAY_MS = 1_000;
/** A job that fails here never got as far as its task. It is tried for as long as it takes. */
const RETRY = { attempts: Number.MAX_SAFE_INTEGER, backoff: { type: "fixed", delay: RETRY_DELAY_MS } };

/** BullMQ's worker asks for its next job again at once when asking failed, and would do nothing else while Redis is away. */
class PatientWorker extends Worker {
  protected override async moveToActive(token: string, name?: string): Promise<Job> {
    try {
      return await super.moveToActive(token, name);
    } catch (thrown) {
      await this.delay(RETRY_DELAY_MS);
      throw thrown;
    }
  }
}

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
    // The store has said so already. Where nobody listens, as until BullMQ has a queue or a worker, an error ends the process.
    this.#connection.on("error", noop);
    const duplicate = this.#connection.duplicate.bind(this.#connection);
    this.#connection.duplicate = (...args) => {
      const copy = duplicate(...args);
      // One that BullMQ no longer uses may still connect, and fail later: an error that nobody listens to would end the process.
      copy.on("error", noop);
      return copy;
    };
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
          this.#warn(thrown);
          // Redis forgets scripts when it restarts. BullMQ sends them again with a single job, and not with several.
          if (!(thrown instanceof MultiErrorReply)) throw thrown;
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
      const worker = new PatientWorker(
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
          runRetryDelay: RETRY_DELAY_MS,
        },
      );
      worker.on("error", (thrown) => {
        this.#warn(thrown);
        // Its own connection stays where it is. Another worker makes another one.
        if (isReadOnly(thrown)) void this.#drop(this.#workers, pool, worker);
      });
      this.#keep(this.#workers, pool, worker);
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
        skipWaitingForReady: true,
        defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
        // Nobody listens to BullMQ's own events.
        streams: { events: { maxLen: 1 } },
      });
      queue.on("error", (thrown) => this.#warn(thrown));
      this.#keep(this.#queues, pool, queue);
    }
    return queue;
  }

  /** BullMQ never gets over a Redis that goes away while a part connects for the first time, so another one is made then. */
  #keep<T extends Queue | Worker>(parts: Map<string, T>, pool: string, part: T): void {
    parts.set(pool, part);
    part.waitUntilReady().catch(async (thrown: unknown) => {
      this.#warn(thrown);
      await this.#drop(parts, pool, part);
    });
  }

  async #drop<T extends Queue | Worker>(parts: Map<string, T>, pool: string, part: T): Promise<void> {
    if (parts.get(pool) === part) parts.delete(pool);
    await this.#all([part], (dropped) => dropped.close(true));
  }

  get #shared() {
    return { connection: this.#connection, prefix: `${this.#options.redis.prefix}:q` };
  }

  #warn(thrown: unknown): void {
    this.#options.logger.debug({ error: messageOf(thrown) }, "task queue: BullMQ met a fault");
  }
}

function noop(): void {}
