import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { Checkout } from "./checkout.ts";
import { taskPools } from "../src/app/tasks/index.ts";
import { PROJECT_ID, SIGNING_SECRET } from "../world/light/identity.ts";
import { BenchError } from "./scenario.ts";
import { Program } from "./program.ts";
import type { BenchRedis } from "./redis.ts";
import { JournalCounts, JournalReport } from "../world/light/journal.ts";

const BARE_BOLT = fileURLToPath(new URL("./bare-bolt.ts", import.meta.url));
const BARE_WORKER = fileURLToPath(new URL("./bare-worker.ts", import.meta.url));
const STAND_INS = fileURLToPath(new URL("./stand-ins.ts", import.meta.url));
const LOOK_EVERY_MS = 100;

const Listening = z.object({ address: z.string() });
const StandInsReady = z.object({ env: z.record(z.string(), z.string()) });

/** Options of {@link StandIns.start}. */
export type StandInOptions = {
  /**
   * True if Slack limits rates: one post a second and channel, 50 updates a minute. @default false
   */
  isLimited?: boolean;
  /** True if neither side answers anything after the start. @default false */
  isHeld?: boolean;
  /** The shortest and the longest job, in milliseconds. @default null, they stay active */
  jobMs?: [number, number] | null;
  /** True if the job service reports turns. @default false */
  reportsTurns?: boolean;
};

/** A Slack and a job service in a process of their own. */
export class StandIns implements AsyncDisposable {
  /** The environment of a program between the two, without its store. */
  readonly env: Record<string, string>;
  readonly #program: Program;

  private constructor(program: Program) {
    this.#program = program;
    this.env = StandInsReady.parse(program.ready).env;
  }

  static async start(
    dir: string,
    { isLimited = false, isHeld = false, jobMs = null, reportsTurns = false }: StandInOptions,
  ): Promise<StandIns> {
    const options = JSON.stringify({ isLimited, isHeld, jobMs, reportsTurns });
    return new StandIns(await Program.start({ nodeArgs: [STAND_INS, options], dir, hasChannel: true }));
  }

  async counts(): Promise<JournalCounts> {
    const counts = JournalCounts.parse(await this.#program.ask({ ask: "counts" }));
    refuseUnknownCalls(counts);
    return counts;
  }

  async report(): Promise<JournalReport> {
    const report = JournalReport.parse(await this.#program.ask({ ask: "report" }));
    refuseUnknownCalls(report);
    return report;
  }

  /** Waits until `isDone` holds. Resolves to true if it did within that time. */
  async until(
    isDone: (counts: JournalCounts) => boolean,
    withinMs: number,
    everyMs = LOOK_EVERY_MS,
  ): Promise<boolean> {
    const startedAt = performance.now();
    for (;;) {
      if (isDone(await this.counts())) return true;
      if (performance.now() - startedAt > withinMs) return false;
      await sleep(everyMs);
    }
  }

  /**
   * Decides whether the job service takes messages or answers 503. It takes them from the start.
   */
  async takeMessages(areTaken: boolean): Promise<void> {
    await this.#program.ask({ ask: "takes-messages", areTaken });
  }

  /** Makes the program end with the bench, even if the bench is killed. */
  async endWithBench({ pid }: { pid: number }): Promise<void> {
    await this.#program.ask({ ask: "ends-with-the-bench", pid });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#program[Symbol.asyncDispose]();
  }
}

/**
 * Throws if the program asked for something that the stand-ins don't have. The bench would then
 * measure something else than it says.
 */
function refuseUnknownCalls({ unknownCalls }: Pick<JournalReport, "unknownCalls">): void {
  if (unknownCalls.length === 0) return;
  throw new BenchError(`The program made calls that world/light doesn't answer: ${unknownCalls.join(", ")}.`);
}

/** A running program that is measured, and the address of its HTTP server. */
export type Subject = { program: Program; origin: string };

/** Options of {@link startDocsAgent}. */
export type DocsAgentOptions = {
  checkout: Checkout;
  standIns: StandIns;
  dir: string;
  /** The name of its SQLite file in `dir`, or a Redis. */
  store: string | BenchRedis;
  env?: Record<string, string>;
  /** See `ProgramOptions`. */
  wrapper?: string[];
  /** A module to load before the program, which then has a channel to the bench. */
  preload?: URL;
};

/** Starts the real program, as `npm start` runs it. */
export async function startDocsAgent(options: DocsAgentOptions): Promise<Subject> {
  const { checkout, standIns, dir, store, env = {}, wrapper = [], preload } = options;
  const storeUrl = typeof store === "string" ? `sqlite://${join(dir, store)}` : store.url;
  if (typeof store !== "string") await standIns.endWithBench(store);
  const program = await Program.start({
    nodeArgs: [...(preload === undefined ? [] : ["--import", preload.href]), ...checkout.nodeArgs],
    env: { ...checkout.env, ...standIns.env, STORE_URL: storeUrl, ...env },
    dir,
    wrapper,
    hasChannel: preload !== undefined,
  });
  await standIns.endWithBench(program);
  return { program, origin: originOf(program) };
}

/** Starts a Bolt app that only acknowledges. */
export async function startBareBolt(dir: string): Promise<Subject> {
  const program = await Program.start({ nodeArgs: [BARE_BOLT, SIGNING_SECRET], dir });
  return { program, origin: originOf(program) };
}

/** Starts a BullMQ worker that only makes the requests of polls, as many at once as the product. */
export async function startBareWorker(options: {
  standIns: StandIns;
  dir: string;
  redis: BenchRedis;
  jobs: number;
  againAfterMs: number | null;
}): Promise<Program> {
  const { standIns, dir, redis, jobs, againAfterMs } = options;
  const { DOCS_AGENT_BASE_URL: baseUrl, DOCS_AGENT_API_KEY: apiKey } = standIns.env;
  await standIns.endWithBench(redis);
  const args = {
    redisUrl: redis.url,
    baseUrl,
    apiKey,
    path: `/v2/agent/${PROJECT_ID}/job`,
    concurrency: taskPools.budgets.polls,
    jobs,
    againAfterMs,
  };
  return await Program.start({ nodeArgs: [BARE_WORKER, JSON.stringify(args)], dir });
}

function originOf(program: Program): string {
  return `http://${Listening.parse(program.ready).address}`;
}
