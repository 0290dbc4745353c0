import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { z } from "zod";
import type { Checkout } from "../checkout.ts";
import { makeDocsRepository, REPOSITORY_SIZE } from "../docs-repository.ts";
import { pacedTimes } from "../paced.ts";
import { rssMb } from "../process-use.ts";
import { Program } from "../program.ts";
import { type Figure, interleave, type Scenario } from "../scenario.ts";
import { ServiceProgram } from "../service-program.ts";
import { quantile } from "../table.ts";

/** Changes one page. It takes as long as a shell takes. */
const EDIT_ONE_PAGE = "echo more >> docs/part-1/page-1.md";
/** Lasts long enough that the four turns are at different steps at any time. */
const EDIT_AND_WORK = "sleep 0.2; echo more >> docs/part-1/page-1.md";
const UPDATE = {
  jsonrpc: "2.0",
  method: "session/update",
  params: {
    sessionId: "s",
    update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "x\n" } },
  },
};
/** An ACP agent that writes updates as fast as they are read. */
const FLOOD = [
  `read l; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}'`,
  `read l; echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}'`,
  `read l; exec yes '${JSON.stringify(UPDATE)}'`,
].join("; ");
const LATER_TURNS = 10;
const ROUNDS = 2;
const AT_ONCE = 4;
const GETS_EVERY_MS = 10;
const GETS_FOR_MS = 15_000;

const BARE_HTTP = fileURLToPath(new URL("../bare-http.ts", import.meta.url));

const Ready = z.object({ address: z.string() });

type Turns = { firstMs: number; laterMs: number };

/**
 * Measures the time that the job service adds to an agent's own on a large repository, and whether
 * it answers requests meanwhile, even while an agent floods it. The remote is a repository on the
 * same disk, and the agent a shell that adds a line.
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

    async function measureGets(side: Checkout, round: number): Promise<{ service: number; bare: number }> {
      progress(`GETs, round ${round + 1} of ${ROUNDS}, ${side.name}`);
      const options = { checkout: side, dir: join(dir, `gets-${side.name}-${round}`), jobsAtOnce: AT_ONCE };
      await using service = await ServiceProgram.start({ ...options, repository, script: EDIT_AND_WORK });
      await service.runJob();
      await using bare = await Program.start({ nodeArgs: [BARE_HTTP], dir });
      return await p99sWhileTurnsRun(service, Ready.parse(bare.ready).address);
    }

    async function measureFlood(round: number): Promise<{ p99Ms: number; mb: number }> {
      progress(`an agent's flood, round ${round + 1} of ${ROUNDS}`);
      const options = { checkout, dir: join(dir, `flood-${round}`), jobsAtOnce: 1, kind: "acp" as const };
      await using service = await ServiceProgram.start({ ...options, repository, script: FLOOD });
      const jobId = await service.create();
      // The first checkout of the repository.
      await sleep(5_000);
      const p99Ms = await p99Of(() => service.get(jobId));
      return { p99Ms, mb: rssMb(service.program.pid) };
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
    const floods: Awaited<ReturnType<typeof measureFlood>>[] = [];
    for (let round = 0; round < ROUNDS; round += 1) floods.push(await measureFlood(round));
    const old = turns.b.filter((each) => each !== null);
    const oldGets = gets.b.filter((each) => each !== null);
    const figure = (what: string, now: number[], before: number[], reach?: string): Figure => ({
      what,
      unit: "ms",
      measured: { name: checkout.name, values: now },
      ...(baseline !== null && { against: { name: baseline.name, values: before } }),
      ...(reach !== undefined && { reach }),
    });
    const getsNow = gets.a.map((each) => each.service);
    const p99 = `GET while ${AT_ONCE} turns run, p99`;
    return [
      figure(
        `first turn on ${REPOSITORY_SIZE}, agent included`,
        turns.a.map(({ firstMs }) => firstMs),
        old.map(({ firstMs }) => firstMs),
      ),
      figure(
        "a later turn",
        turns.a.map(({ laterMs }) => laterMs),
        old.map(({ laterMs }) => laterMs),
        "≤ 700 ms",
      ),
      figure(
        p99,
        getsNow,
        oldGets.map((each) => each.service),
        "≤ 20 ms",
      ),
      {
        what: `${p99}, at the same time`,
        unit: "ms",
        measured: { name: checkout.name, values: getsNow },
        against: { name: "bare HTTP server", values: gets.a.map((each) => each.bare) },
      },
      figure(
        "GET while an agent floods us with updates, p99",
        floods.map(({ p99Ms }) => p99Ms),
        [],
        "≤ 50 ms",
      ),
      {
        what: "the service's memory then",
        unit: "MB",
        measured: { name: checkout.name, values: floods.map(({ mb }) => mb) },
        reach: "≤ 250 MB",
      },
    ];
  },
};

/** Measures GETs of both while four turns are always running. */
async function p99sWhileTurnsRun(
  service: ServiceProgram,
  bareUrl: string,
): Promise<{ service: number; bare: number }> {
  const bare = new Pool(bareUrl, { connections: 16, pipelining: 1 });
  const jobId = await service.create();
  const endAt = performance.now() + GETS_FOR_MS;
  const workers = Array.from({ length: AT_ONCE }, async () => {
    while (performance.now() < endAt) await service.runJob();
  });
  const getBare = async () => (await bare.request({ method: "GET", path: "/" })).body.text();
  const [ofService, ofBare] = await Promise.all([p99Of(() => service.get(jobId)), p99Of(getBare)]);
  await Promise.all(workers);
  await bare.close();
  return { service: ofService, bare: ofBare };
}

/** Sends GETs at a fixed pace, without waiting for earlier answers. */
async function p99Of(get: () => Promise<unknown>): Promise<number> {
  return quantile(await pacedTimes(get, { everyMs: GETS_EVERY_MS, forMs: GETS_FOR_MS }), 0.99);
}
