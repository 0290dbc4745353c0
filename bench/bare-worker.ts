/**
 * The program that polling on Redis is compared with: a BullMQ worker that makes the same request
 * as a poll and ignores the answer. `node bare-worker.ts <options as JSON>`. With `againAfterMs` it
 * returns to a job after that time, as a poll does. If that is null, each job is over after one
 * request.
 */
import process from "node:process";
import { createClient } from "@redis/client";
import { DelayedError, Queue, Worker, createNodeRedisClient } from "bullmq";
import { Agent, request } from "undici";
import { z } from "zod";

const Options = z.object({
  redisUrl: z.string(),
  baseUrl: z.string(),
  path: z.string(),
  apiKey: z.string(),
  concurrency: z.number(),
  jobs: z.number(),
  againAfterMs: z.number().nullable(),
});
const ADDED_AT_ONCE = 1000;

const { redisUrl, baseUrl, path, apiKey, concurrency, jobs, againAfterMs } = Options.parse(
  JSON.parse(process.argv[2] ?? ""),
);
const connection = createNodeRedisClient(createClient({ url: redisUrl }));
const shared = { connection, prefix: "{bare}" };
const queue = new Queue("polls", {
  ...shared,
  streams: { events: { maxLen: 1 } },
  defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
});
for (let first = 0; first < jobs; first += ADDED_AT_ONCE) {
  const count = Math.min(ADDED_AT_ONCE, jobs - first);
  await queue.addBulk(
    Array.from({ length: count }, (_, n) => ({ name: "poll", data: { id: `job_bench_${first + n}_end` } })),
  );
}

const dispatcher = new Agent();
const worker = new Worker(
  "polls",
  async (job, token) => {
    const { statusCode, body } = await request(`${baseUrl}${path}/${job.data.id}`, {
      dispatcher,
      headers: { authorization: `Bearer ${apiKey}`, accept: "application/json" },
    });
    await body.json();
    if (statusCode !== 200) throw new Error(`answered with ${statusCode}`);
    if (againAfterMs === null) return;
    await job.moveToDelayed(Date.now() + againAfterMs, token);
    throw new DelayedError();
  },
  { ...shared, concurrency, removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } },
);
worker.on("error", (thrown) => process.stderr.write(`${thrown.message}\n`));
await worker.waitUntilReady();
process.stdout.write(`${JSON.stringify({ msg: "the bare worker is ready" })}\n`);

// This program ends with the bench, no matter how the bench ended.
const parent = process.ppid;
setInterval(() => process.ppid === parent || process.exit(1), 1000).unref();
