/**
 * `npm run soak:kill -- --rounds 200 --seed 7` kills the real program on a real store at random
 * times, while both other sides misbehave at random. Exits with code 1 if a request was lost, if
 * anything was said or done twice, or if anything that was said isn't true.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runRound } from "./round.ts";
import type { RoundResult } from "./round.ts";
import { STORES } from "./soak-store.ts";

const HELP = `Usage: npm run soak:kill -- [options]

  --rounds <n>    how many rounds (default 200)
  --seed <n>      where the random numbers begin (default: drawn, and printed)
  --round <n>     only this round of the seed
  --beside <n>    how many rounds run at the same time (default 4)
  --store <name>  sqlite (default), or redis: a server of its own for each round
`;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "200" },
    seed: { type: "string" },
    round: { type: "string" },
    beside: { type: "string", default: "4" },
    store: { type: "string", default: "sqlite" },
    help: { type: "boolean", default: false },
  },
});

if (values.help) process.stdout.write(HELP);
else await main();

async function main(): Promise<void> {
  const seed = wholeNumber("seed", values.seed ?? String(Math.floor(Math.random() * 1e9)));
  const only = values.round === undefined ? null : wholeNumber("round", values.round);
  const rounds = only === null ? wholeNumber("rounds", values.rounds) : 1;
  const beside = wholeNumber("beside", values.beside);
  const numbers = only === null ? Array.from({ length: rounds }, (_, index) => index + 1) : [only];
  const store = storeNamed(values.store);
  const which = only === null ? `--rounds ${rounds}` : `--round ${only}`;
  print(`seed ${seed}; to repeat: npm run soak:kill -- --store ${store} --seed ${seed} ${which}`);

  const total = {
    accepted: 0,
    outcomes: 0,
    kills: 0,
    stops: 0,
    dead: 0,
    lost: 0,
    doubled: 0,
    untrue: 0,
    stuck: 0,
  };
  async function work(): Promise<void> {
    for (let round = numbers.shift(); round !== undefined; round = numbers.shift()) {
      // Far enough apart that two neighboring seeds have no round in common.
      const result = await runRound(round, (seed * 100_003 + round) | 0, store);
      total.accepted += result.accepted;
      total.outcomes += result.outcomes;
      total.kills += result.kills;
      total.stops += result.stops;
      total.dead += result.dead.length;
      total.lost += result.lost.length;
      total.doubled += result.doubled.length;
      total.untrue += result.untrue.length;
      total.stuck += result.isQuiet ? 0 : 1;
      await report(seed, round, result);
    }
  }
  await Promise.all(Array.from({ length: beside }, work));

  print(
    `${rounds} rounds, ${total.kills} kills, ${total.stops} stops: ${total.accepted} accepted, ` +
      `${total.outcomes} outcomes, ${total.dead} tasks given up; ${total.lost} lost, ` +
      `${total.doubled} doubled, ${total.untrue} untrue, ${total.stuck} rounds without an end`,
  );
  process.exitCode = total.lost + total.doubled + total.untrue + total.stuck > 0 ? 1 : 0;
}

async function report(seed: number, round: number, result: RoundResult): Promise<void> {
  const { lost, doubled, untrue, dead, uncleanStops, isQuiet } = result;
  const faults = [
    ...lost.map((what) => `LOST ${what}`),
    ...doubled.map((what) => `DOUBLED ${what}`),
    ...untrue.map((what) => `UNTRUE ${what}`),
    ...(isQuiet ? [] : ["NO END: tasks are still at work"]),
  ];
  const notes = [
    ...dead.map((what) => `given up: ${what}`),
    ...uncleanStops.map((code) => `a stop ended with ${code}`),
  ];
  print(
    `round ${round}: ${result.asked} asked, ${result.pressed} pressed, ${result.steered} steered, ` +
      `${result.chatted} chatted, ${result.reviewed} reviewed, ${result.accepted} accepted, ` +
      `${result.kills} kills, ${result.stops} stops, ` +
      `${result.outcomes} outcomes, ${(result.tookMs / 1000).toFixed(1)} s`,
  );
  for (const line of [...faults, ...notes]) print(`  ${line}`);
  if (faults.length === 0) return;
  const folder = join(tmpdir(), `docs-agent-soak-${seed}-${round}`);
  await mkdir(folder, { recursive: true });
  const { plan, log, calls } = result.evidence;
  await writeFile(join(folder, "plan.json"), JSON.stringify(plan, null, 1));
  await writeFile(join(folder, "log.jsonl"), log);
  await writeFile(join(folder, "calls.txt"), calls.join("\n"));
  print(
    `  to repeat: npm run soak:kill -- --store ${values.store} --seed ${seed} --round ${round}; ` +
      `what happened is in ${folder}`,
  );
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new TypeError(`--${name} must be a whole number.`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function storeNamed(name: string): (typeof STORES)[number] {
  const store = STORES.find((known) => known === name);
  if (store === undefined) throw new TypeError(`--store must be ${STORES.join(" or ")}.`);
  return store;
}
