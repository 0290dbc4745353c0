import { setTimeout as sleep } from "node:timers/promises";
import type { Checkout } from "./checkout.ts";
import { Load } from "./load.ts";
import { cpuMs } from "./process-use.ts";
import type { BenchRedis, RedisUse } from "./redis.ts";
import { BenchError } from "./scenario.ts";
import { nowMs } from "../world/clock/epoch.ts";
import { type SignedRequest, signedRequests } from "./signed-request.ts";
import { StandIns, startDocsAgent, type Subject } from "./subjects.ts";
import { largest } from "./table.ts";

const WARM_UP_TURNS = 200;
const CONNECTIONS = 10;
const WITHIN_MS = 120_000;
/** Longer than the second that a message in a channel waits after the one before. */
export const QUIET_MS = 1500;

/** The first poll finds the job completed. */
export const QUICK_POLLS = { POLL_MIN_MS: "1000" };

/** Starts stand-ins between which turns have one poll, with {@link QUICK_POLLS}. */
export function startQuickJobs(dir: string): Promise<StandIns> {
  return StandIns.start(dir, { jobMs: [200, 900] });
}

/**
 * Sends each subject its share of the requests. Resolves when this many outcomes have been posted
 * in all.
 */
export async function runTurns(
  subjects: readonly Subject[],
  standIns: StandIns,
  requests: readonly SignedRequest[],
  outcomes: number,
): Promise<void> {
  await Promise.all(
    subjects.map(async ({ origin }, index) => {
      const share = requests.filter((_, n) => n % subjects.length === index);
      await using load = new Load(origin, Math.ceil(CONNECTIONS / subjects.length), share);
      await load.run(Infinity);
    }),
  );
  const haveEnded = await standIns.until(({ posted }) => posted >= outcomes, WITHIN_MS);
  if (!haveEnded) throw new BenchError(`${outcomes} outcomes weren't posted within ${WITHIN_MS / 1000} s.`);
}

/** The cost of a turn. */
export type TurnCosts = {
  turnsPerSecond: number;
  /** CPU time of the program, all replicas together. */
  cpuMsPerTurn: number;
  pollsPerTurn: number;
  /** Null on SQLite. */
  redis: (RedisUse & { cpuMs: number }) | null;
};

/**
 * Measures the cost of a turn with one poll when many come at once. `store` is as for
 * `startDocsAgent`.
 */
export async function measureTurns(
  { checkout, dir }: { checkout: Checkout; dir: string },
  { store, turns, replicas = 1 }: { store: string | BenchRedis; turns: number; replicas?: number },
): Promise<TurnCosts> {
  await using standIns = await startQuickJobs(dir);
  await using programs = new AsyncDisposableStack();
  const subjects: Subject[] = [];
  for (let n = 0; n < replicas; n += 1) {
    const subject = await startDocsAgent({ checkout, standIns, dir, store, env: QUICK_POLLS });
    programs.use(subject.program);
    subjects.push(subject);
  }
  const redis = typeof store === "string" ? null : store;
  const use = async () => ({
    cpuMs: subjects.reduce((sum, { program }) => sum + cpuMs(program.pid), 0),
    polls: (await standIns.counts()).polls,
    redis: redis === null ? null : { ...(await redis.use()), cpuMs: cpuMs(redis.pid) },
  });
  const all = WARM_UP_TURNS * replicas + turns;
  const requests = signedRequests(all, all);
  await runTurns(subjects, standIns, requests.slice(0, all - turns), all - turns);
  await sleep(QUIET_MS);
  const before = await use();
  const startedAtMs = nowMs();
  await runTurns(subjects, standIns, requests.slice(all - turns), all);
  const { posted } = await standIns.report();
  const tookMs = largest(posted.map(([, atMs]) => atMs)) - startedAtMs;
  // The steps after the last outcome are part of the turns.
  await sleep(QUIET_MS);
  const after = await use();
  return {
    turnsPerSecond: (turns / tookMs) * 1000,
    cpuMsPerTurn: (after.cpuMs - before.cpuMs) / turns,
    pollsPerTurn: (after.polls - before.polls) / turns,
    redis: after.redis === null || before.redis === null ? null : perTurn(before.redis, after.redis, turns),
  };
}

function perTurn(
  before: NonNullable<TurnCosts["redis"]>,
  after: NonNullable<TurnCosts["redis"]>,
  turns: number,
): NonNullable<TurnCosts["redis"]> {
  const of = (name: keyof NonNullable<TurnCosts["redis"]>) => (after[name] - before[name]) / turns;
  return {
    commands: of("commands"),
    scripts: of("scripts"),
    netBytes: of("netBytes"),
    aofBytes: of("aofBytes"),
    memoryBytes: of("memoryBytes"),
    cpuMs: of("cpuMs"),
  };
}
