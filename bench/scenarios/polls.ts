import { setTimeout as sleep } from "node:timers/promises";
import { Load } from "../load.ts";
import type { Program } from "../program.ts";
import { cpuMs } from "../process-use.ts";
import { BenchRedis, hasRedis } from "../redis.ts";
import { BenchError, type Figure, inTurn, type Scenario, type Side } from "../scenario.ts";
import { signedRequests } from "../signed-request.ts";
import { StandIns, startBareWorker, startDocsAgent } from "../subjects.ts";

/** Each job is due again long before its turn comes, so that polls are made as fast as possible. */
const JOBS = 1000;
const AGAIN_AFTER_MS = 100;
/** More than a bare worker can do in a round. */
const BARE_JOBS = 60_000;
const CREATED_WITHIN_MS = 60_000;
const WARM_UP_MS = 2000;
const MEASURED_MS = 3000;
const ROUNDS = 3;

type Polls = { perSecond: number; cpuMs: number; redisCpuMs: number };

/**
 * Measures the polls per second when more are due than can be made, by one process and by several
 * on one Redis.
 */
export const polls: Scenario = {
  name: "polls",
  summary:
    "polls a second, as many as can be made: 1, 2 and 4 replicas on Redis, against a bare BullMQ worker",
  async run({ checkout, dir, progress }) {
    if (!hasRedis()) {
      progress("redis-server is missing, so nothing is measured");
      return [];
    }
    async function count(standIns: StandIns, programs: Program[], redis: BenchRedis | null): Promise<Polls> {
      const cpuOf = (pids: number[]) => pids.reduce((sum, pid) => sum + cpuMs(pid), 0);
      const use = async () => ({
        atMs: performance.now(),
        polls: (await standIns.counts()).polls,
        cpuMs: cpuOf(programs.map(({ pid }) => pid)),
        redisCpuMs: redis === null ? NaN : cpuMs(redis.pid),
      });
      await sleep(WARM_UP_MS);
      const before = await use();
      await sleep(MEASURED_MS);
      const after = await use();
      const made = after.polls - before.polls;
      if (made === 0) throw new BenchError("No polls were made.");
      return {
        perSecond: (made / (after.atMs - before.atMs)) * 1000,
        cpuMs: (after.cpuMs - before.cpuMs) / made,
        redisCpuMs: (after.redisCpuMs - before.redisCpuMs) / made,
      };
    }
    const bareWorker = (jobs: number, againAfterMs: number | null) => async (): Promise<Polls> => {
      await using standIns = await StandIns.start(dir, {});
      await using redis = await BenchRedis.start(dir);
      await using worker = await startBareWorker({ standIns, dir, redis, jobs, againAfterMs });
      return await count(standIns, [worker], redis);
    };
    async function replicas(store: string | BenchRedis, number: number): Promise<Polls> {
      await using standIns = await StandIns.start(dir, {});
      await using stack = new AsyncDisposableStack();
      const env = { POLL_MIN_MS: String(AGAIN_AFTER_MS), POLL_MAX_MS: String(AGAIN_AFTER_MS) };
      const programs: Program[] = [];
      for (let n = 0; n < number; n += 1) {
        const { program, origin } = await startDocsAgent({ checkout, standIns, dir, store, env });
        programs.push(stack.use(program));
        if (n > 0) continue;
        await using load = new Load(origin, 10, signedRequests(JOBS, JOBS));
        await load.run(Infinity);
        const areCreated = await standIns.until(({ created }) => created >= JOBS, CREATED_WITHIN_MS);
        if (!areCreated) throw new BenchError(`${JOBS} jobs weren't created in time.`);
      }
      return await count(standIns, programs, typeof store === "string" ? null : store);
    }
    const onRedis = (number: number) => async (): Promise<Polls> => {
      await using redis = await BenchRedis.start(dir);
      return await replicas(redis, number);
    };
    const results = await inTurn(ROUNDS, [
      (round) => {
        progress(`round ${round + 1} of ${ROUNDS}`);
        return bareWorker(BARE_JOBS, null)();
      },
      bareWorker(JOBS, AGAIN_AFTER_MS),
      (round) => replicas(`polls-${round}.sqlite`, 1),
      onRedis(1),
      onRedis(2),
      onRedis(4),
    ]);
    const [bare = [], again = [], sqlite = [], one = [], two = [], four = []] = results;
    const side = (name: string, of: Polls[], what: keyof Polls = "perSecond"): Side => ({
      name,
      values: of.map((round) => round[what]),
    });
    const rate = (measured: Side, against: Side, reach = ""): Figure => ({
      what: "polls",
      unit: "per second",
      measured,
      against,
      reach,
    });
    const bareSide = side("BullMQ worker", bare);
    return [
      rate(side("SQLite", sqlite), bareSide),
      rate(side("1 replica", one), bareSide, "ratio ≥ 0.50"),
      rate(side("1 replica", one), side("BullMQ worker that comes again", again)),
      rate(side("2 replicas", two), side("1 replica", one)),
      rate(side("4 replicas", four), side("1 replica", one)),
      {
        what: "CPU per poll, without Redis's",
        unit: "ms",
        measured: side("1 replica", one, "cpuMs"),
        against: side("SQLite", sqlite, "cpuMs"),
      },
      {
        what: "CPU per poll, without Redis's",
        unit: "ms",
        measured: side("1 replica", one, "cpuMs"),
        against: side("BullMQ worker", bare, "cpuMs"),
      },
      {
        what: "CPU per poll at Redis",
        unit: "ms",
        measured: side("1 replica", one, "redisCpuMs"),
        against: side("BullMQ worker", bare, "redisCpuMs"),
      },
    ];
  },
};
