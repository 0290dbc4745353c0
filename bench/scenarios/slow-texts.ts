import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { z } from "zod";
import { pacedTimes } from "../paced.ts";
import { cpuMs } from "../process-use.ts";
import { Program } from "../program.ts";
import type { Figure, Scenario } from "../scenario.ts";
import { openSlowWorld, type SlowWorld } from "../slow-world.ts";
import { largest, quantile } from "../table.ts";

const GETS_EVERY_MS = 10;
const WARM_UP_MS = 5_000;
/** As many turns as a project may run. */
const TURNS_AT_ONCE = 2;
const BARE_HTTP = fileURLToPath(new URL("../bare-http.ts", import.meta.url));

const Ready = z.object({ address: z.string() });

/** The work during the measurement: none, plain turns, or those of a slow text. */
type Beside = "nothing" | "plain turns" | (() => Promise<void>);
type Measured = { gets: number[]; bare: number[]; cpuPercent: number; turnsMs: number[]; lost: number };
type Round = { name: string; quiet: Measured; plain: Measured; slow: Measured };

/**
 * Measures whether other projects notice texts that are made to be slow to read. The tests use the
 * same table to show that no other turn waits.
 */
export const slowTexts: Scenario = {
  name: "slow-texts",
  summary: "GETs and turns of other projects while texts that are made to be slow are read",
  async run({ checkout, dir, progress }) {
    progress("making the projects");
    await using world = await openSlowWorld(checkout, dir);
    await using bare = await Program.start({ nodeArgs: [BARE_HTTP], dir });
    const { address } = Ready.parse(bare.ready);
    // Until the code that answers is compiled.
    await measure(world, address, "plain turns", WARM_UP_MS);

    const rounds: Round[] = [];
    for (const { name, run, forMs } of world.kinds) {
      progress(name);
      const quiet = await measure(world, address, "nothing", forMs);
      const plain = await measure(world, address, "plain turns", forMs);
      const slow = await measure(world, address, run, forMs);
      rounds.push({ name, quiet, plain, slow });
    }

    /** One row for all kinds. Each kind is a round. */
    const figure = (what: string, of: (measured: Measured) => number, more: Partial<Figure>): Figure => ({
      what,
      unit: "ms",
      measured: { name: checkout.name, values: rounds.map(({ slow }) => of(slow)) },
      against: { name: "plain turns", values: rounds.map(({ plain }) => of(plain)) },
      ...more,
    });
    const p99 = ({ gets }: Measured) => quantile(gets, 0.99);
    const bareP99 = ({ bare: times }: Measured) => quantile(times, 0.99);
    const goal = { reach: "ratio ≤ 3" };
    return [
      ...rounds.map((round) => ({
        what: `GET, p99: ${round.name}`,
        unit: "ms" as const,
        measured: { name: checkout.name, values: [p99(round.slow)] },
        against: { name: "plain turns", values: [p99(round.plain)] },
        ...goal,
      })),
      figure("GET, p50", ({ gets }) => quantile(gets, 0.5), goal),
      figure("GET, p99", p99, goal),
      figure("GET, p99", p99, {
        against: { name: "no turns", values: rounds.map(({ quiet }) => p99(quiet)) },
      }),
      figure("GET, p99, at the same time", p99, {
        against: { name: "bare HTTP server", values: rounds.map(({ slow }) => bareP99(slow)) },
      }),
      figure("bare HTTP server, p99", bareP99, {}),
      figure("GET, longest of a kind", ({ gets }) => largest(gets), {}),
      {
        what: "GET, longest of all",
        unit: "ms",
        measured: { name: checkout.name, values: [largest(rounds.flatMap(({ slow }) => slow.gets))] },
        against: { name: "plain turns", values: [largest(rounds.flatMap(({ plain }) => plain.gets))] },
        reach: "≤ 1000 ms",
      },
      figure("CPU of the process that answers", ({ cpuPercent }) => cpuPercent, { unit: "%" }),
      figure("another project's turn, median", ({ turnsMs }) => quantile(turnsMs, 0.5), {}),
      {
        what: "another project's turns that weren't done",
        unit: "",
        measured: {
          name: checkout.name,
          values: [rounds.reduce((sum, { slow }) => sum + slow.lost, 0)],
        },
        reach: "0",
      },
    ];
  },
};

/**
 * Measures GETs. Unless `beside` is "nothing", turns of another project run one after the other.
 */
async function measure(world: SlowWorld, bareUrl: string, beside: Beside, forMs: number): Promise<Measured> {
  const bare = new Pool(bareUrl, { connections: 16, pipelining: 1 });
  const turnsMs: number[] = [];
  let lost = 0;
  let isOver = false;
  const others = async () => {
    while (!isOver) {
      const startedAt = performance.now();
      if (await world.runTurn()) turnsMs.push(performance.now() - startedAt);
      else lost += 1;
    }
  };
  const turns = async () => {
    while (!isOver) await (typeof beside === "function" ? beside() : world.runPlain());
  };
  const underWay = beside === "nothing" ? [] : [others(), ...Array.from({ length: TURNS_AT_ONCE }, turns)];
  const pace = { everyMs: GETS_EVERY_MS, forMs };
  const cpuBefore = cpuMs(world.pid);
  const startedAt = performance.now();
  const [gets, ofBare] = await Promise.all([
    pacedTimes(async (index) => world.get(index), pace),
    pacedTimes(async () => (await bare.request({ method: "GET", path: "/" })).body.text(), pace),
  ]);
  const cpuPercent = ((cpuMs(world.pid) - cpuBefore) / (performance.now() - startedAt)) * 100;
  isOver = true;
  await Promise.all(underWay);
  await bare.close();
  return { gets, bare: ofBare, cpuPercent, turnsMs, lost };
}
