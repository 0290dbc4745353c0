/**
 * `npm run soak:replicas -- --seed 7` runs several replicas of the real program behind a
 * round-robin, on a real Redis, while replicas, Redis and the way to Slack fail. Exits with code 1
 * if a request was lost, if anything was said or done twice or out of order, or if Slack was called
 * too often.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runReplicas } from "./replica-run.ts";
import type { ReplicaResult } from "./replica-run.ts";

const HELP = `Usage: npm run soak:replicas -- [options]

  --requests <n>  number of people who ask for something (default 2000)
  --replicas <n>  number of replicas (default 3)
  --seed <n>      start of the random numbers (default: drawn and printed)

Takes about ten minutes, because Slack sends an unanswered event for the last time after six.
Needs redis-server.
`;

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "2000" },
    replicas: { type: "string", default: "3" },
    seed: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

if (values.help) process.stdout.write(HELP);
else await main();

async function main(): Promise<void> {
  const seed = wholeNumber("seed", values.seed ?? String(Math.floor(Math.random() * 1e9)));
  const requests = wholeNumber("requests", values.requests);
  const replicas = wholeNumber("replicas", values.replicas);
  if (replicas < 1) throw new TypeError("--replicas must be at least 1.");
  const repeat = `npm run soak:replicas -- --seed ${seed} --requests ${requests} --replicas ${replicas}`;
  print(`seed ${seed}; to repeat: ${repeat}`);

  const result = await runReplicas({ seed, requests, replicas, print });
  const breaches = [
    ...result.lost.map((what) => `LOST ${what}`),
    ...result.doubled.map((what) => `DOUBLED ${what}`),
    ...result.untrue.map((what) => `UNTRUE ${what}`),
    ...result.order.map((what) => `ORDER ${what}`),
    ...result.rates.map((what) => `RATE ${what}`),
    ...result.faults.map((what) => `FAULT ${what}`),
  ];
  for (const line of result.byRedis) print(`by Redis: ${line}`);
  for (const line of [...breaches, ...result.dead.map((what) => `given up: ${what}`)]) print(line);
  print(summary(result));
  if (breaches.length === 0) return;
  print(`what happened is in ${await keep(seed, result, breaches)}`);
  process.exitCode = 1;
}

function summary(result: ReplicaResult): string {
  const { asked, pressed, accepted, ranUnanswered, ranRefused, outcomes, kills, refused, peaks, dead } =
    result;
  const { steered, canceled, answered, reviewed, untrue, byRedis } = result;
  const { lost, doubled, order, rates, faults, updatesLeft, ownDelayMs, tookMs } = result;
  const times429 = Object.entries(refused).map(([method, count]) => `${count} times ${method}`);
  const busiest = Object.entries(peaks).map(([method, count]) => `${count} times ${method}`);
  return [
    `${(tookMs / 1000).toFixed(0)} s, ${kills} kills: ${asked} asked, ${pressed} pressed, ` +
      `${accepted} accepted, ${outcomes} outcomes, ${dead.length} tasks given up`,
    `${steered} times stopped, followed or answered: ${canceled} turns canceled, ` +
      `${answered} answers that agents got, ${reviewed} reviews`,
    `${ranUnanswered} ran although their person got no answer in time, ` +
      `${ranRefused} after an answer that they weren't taken or may not have been`,
    `429: ${times429.join(", ") || "none"}; busiest minute: ${busiest.join(", ")}; ` +
      `${updatesLeft} updates still wait for Slack's limits`,
    `the stand-ins were silent for ${ownDelayMs.toFixed(0)} ms at most`,
    `${byRedis.length} lost or posted twice because Redis forgot its last second, which is not counted below`,
    `${lost.length} lost, ${doubled.length} doubled, ${untrue.length} untrue, ` +
      `${order.length} out of order, ${rates.length} times over a rate, ${faults.length} other faults`,
  ].join("\n");
}

/** Saves the evidence of a run. Returns its path. */
async function keep(seed: number, { evidence }: ReplicaResult, breaches: string[]): Promise<string> {
  const folder = join(tmpdir(), `docs-agent-replicas-${seed}`);
  await mkdir(folder, { recursive: true });
  const { plan, logs, calls } = evidence;
  await Promise.all([
    writeFile(join(folder, "breaches.txt"), breaches.join("\n")),
    writeFile(join(folder, "plan.json"), JSON.stringify(plan, null, 1)),
    writeFile(join(folder, "calls.txt"), calls.join("\n")),
    ...logs.map((log, index) => writeFile(join(folder, `replica-${index + 1}.jsonl`), log)),
  ]);
  return folder;
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new TypeError(`--${name} must be a whole number.`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
