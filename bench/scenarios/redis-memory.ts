import { setTimeout as sleep } from "node:timers/promises";
import { Load } from "../load.ts";
import { BenchRedis, hasRedis } from "../redis.ts";
import { BenchError, type Context, type Figure, type Scenario } from "../scenario.ts";
import { signedRequests } from "../signed-request.ts";
import { StandIns, startDocsAgent } from "../subjects.ts";

const TRACKED = 10_000;
/** So long that no job is polled during the measurement. */
const FAR_MS = String(6 * 60 * 60_000);
const ENOUGH = 0.99;
const CREATED_WITHIN_MS = 120_000;
const DONE = 200_000;
const MILLION = 1_000_000;
/** Time for the remaining work, and for Redis to release its memory. */
const SETTLE_MS = 5000;
const CONNECTIONS = 10;

/** Measures Redis's memory for watched jobs and for tasks that are over. */
export const redisMemory: Scenario = {
  name: "redis-memory",
  summary: `memory of Redis per tracked job (${TRACKED.toLocaleString("en-US")}) and per million done tasks`,
  async run(context) {
    if (hasRedis()) return [...(await measureTracked(context)), ...(await measureDone(context))];
    context.progress("redis-server is missing, so nothing is measured");
    return [];
  },
};

async function measureTracked({ checkout, dir, progress }: Context): Promise<Figure[]> {
  progress(`${TRACKED} jobs that are watched`);
  await using standIns = await StandIns.start(dir, {});
  await using redis = await BenchRedis.start(dir);
  const env = { POLL_MIN_MS: FAR_MS, POLL_MAX_MS: FAR_MS };
  const { program, origin } = await startDocsAgent({ checkout, standIns, dir, store: redis, env });
  await using _ = program;
  await sleep(SETTLE_MS);
  const before = await redis.use();
  await using load = new Load(origin, CONNECTIONS, signedRequests(TRACKED, TRACKED));
  await load.run(Infinity);
  // On a busy machine, a create may find no connection. It is tried again when polls are due.
  const areCreated = await standIns.until(({ created }) => created >= TRACKED * ENOUGH, CREATED_WITHIN_MS);
  if (!areCreated) throw new BenchError(`${TRACKED} jobs weren't created in time.`);
  await sleep(SETTLE_MS);
  const after = await redis.use();
  const tracked = await redis.countKeys("task:watch:");
  const waiting = await redis.countKeys("task:refresh:");
  return [
    {
      what: `memory of Redis per tracked job; ${waiting} of ${tracked} wait to update their message, too`,
      unit: "bytes",
      measured: { name: "Redis", values: [(after.memoryBytes - before.memoryBytes) / tracked] },
    },
  ];
}

async function measureDone({ dir, progress }: Context): Promise<Figure[]> {
  progress(`${DONE} ids of done tasks`);
  await using redis = await BenchRedis.start(dir);
  const before = await redis.use();
  await redis.writeDoneIds(DONE);
  const after = await redis.use();
  if ((await redis.countKeys("done:")) !== DONE) throw new BenchError("The ids weren't written.");
  const megabytes = (((after.memoryBytes - before.memoryBytes) / DONE) * MILLION) / 2 ** 20;
  return [
    {
      what: `memory of Redis per million ids of done tasks, from ${DONE.toLocaleString("en-US")}`,
      unit: "MB",
      measured: { name: "Redis", values: [megabytes] },
    },
  ];
}
