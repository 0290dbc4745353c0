import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Checkout } from "../checkout.ts";
import { makeDocsRepository, REPOSITORY_SIZE } from "../docs-repository.ts";
import { type Figure, interleave, type Scenario } from "../scenario.ts";
import { ServiceProgram } from "../service-program.ts";
import { quantile } from "../table.ts";

/** Changes one page; the time it takes is that of a shell. */
const EDIT_ONE_PAGE = "echo more >> docs/part-1/page-1.md";
/** Keeps four turns under way at each point of their course. */
const EDIT_AND_WORK = "sleep 0.2; echo more >> docs/part-1/page-1.md";
const LATER_TURNS = 10;
const ROUNDS = 2;
const AT_ONCE = 4;
const GETS_EVERY_MS = 10;
const GETS_FOR_MS = 15_000;

type Turns = { firstMs: number; laterMs: number };

/**
 * What the job service adds to an agent's own time on a large repository, and whether it answers meanwhile. The remote is a repository
 * on the same disk, and the agent a shell that adds a line.
 */
export const serviceTurns: Scenario = {
  name: "service-turns",
  summary: `the job service's own time in a turn (${REPOSITORY_SIZE}), and GETs while ${AT_ONCE} turns run`,
  async run({ checkout, baseline, dir, progress }) {
    progress("making the repository");
    const repository = join(dir, "docs.git");
    mkdirSync(join(dir, "work"));
    makeDocsRepository(repository, join(dir, "work"));

    async function measureTurns(side: Checkout, round: number): Promise<Turns> {
      progress(`turns, round ${round + 1} of ${ROUNDS}, ${side.name}`);
      const options = { checkout: side, dir: join(dir, `turns-${side.name}-${round}`), jobsAtOnce: 1 };
      await using service = await ServiceProgram.start({ ...options, repository, script: EDIT_ONE_PAGE });
      const firstMs = await service.runJob();
      const laterMs: number[] = [];
      for (let turn = 0; turn < LATER_TURNS; turn += 1) laterMs.push(await service.runJob());
      return { firstMs, laterMs: quantile(laterMs, 0.5) };
    }

    async function measureGets(side: Checkout, round: number): Promise<number> {
      progress(`GETs, round ${round + 1} of ${ROUNDS}, ${side.name}`);
      const options = { checkout: side, dir: join(dir, `gets-${side.name}-${round}`), jobsAtOnce: AT_ONCE };
      await using service = await ServiceProgram.start({ ...options, repository, script: EDIT_AND_WORK });
      await service.runJob();
      return await p99WhileTurnsRun(service);
    }

    const sides: [Checkout, Checkout] = [checkout, baseline ?? checkout];
    const turns = await interleave(
      ROUNDS,
      (round) => measureTurns(sides[0], round),
      async (round) => (baseline === null ? null : measureTurns(sides[1], round)),
    );
    const gets = await interleave(
      ROUNDS,
      (round) => measureGets(sides[0], round),
      async (round) => (baseline === null ? null : measureGets(sides[1], round)),
    );
    const old = turns.b.filter((each) => each !== null);
    const oldGets = gets.b.filter((each) => each !== null);
    const figure = (what: string, now: number[], before: number[], reach?: string): Figure => ({
      what,
      unit: "ms",
      measured: { name: checkout.name, values: now },
      ...(baseline !== null && { against: { name: baseline.name, values: before } }),
      ...(reach !== undefined && { reach }),
    });
    const [first, later] = [turns.a.map(({ firstMs }) => firstMs), turns.a.map(({ laterMs }) => laterMs)];
    return [
      figure(
        `first turn on ${REPOSITORY_SIZE}, agent included`,
        first,
        old.map(({ firstMs }) => firstMs),
      ),
      figure(
        `a later turn`,
        later,
        old.map(({ laterMs }) => laterMs),
        "≤ 700 ms",
      ),
      figure(`GET while ${AT_ONCE} turns run, p99`, gets.a, oldGets, "≤ 20 ms"),
    ];
  },
};

/** Sends GETs at a fixed pace, whether or not earlier ones are answered, while four turns are always under way. */
async function p99WhileTurnsRun(service: ServiceProgram): Promise<number> {
  const jobId = await service.create();
  const endAt = performance.now() + GETS_FOR_MS;
  const workers = Array.from({ length: AT_ONCE }, async () => {
    while (performance.now() < endAt) await service.runJob();
  });
  const answers: Promise<number>[] = [];
  for (let dueAt = performance.now(); dueAt < endAt; dueAt += GETS_EVERY_MS) {
    await sleep(Math.max(0, dueAt - performance.now()));
    const sentAt = performance.now();
    answers.push(service.get(jobId).then(() => performance.now() - sentAt));
  }
  const latenciesMs = await Promise.all(answers);
  await Promise.all(workers);
  return quantile(latenciesMs, 0.99);
}
