import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { z } from "zod";
import { Program } from "../program.ts";
import { type Figure, inTurn, type Scenario } from "../scenario.ts";
import { ServiceProgram } from "../service-program.ts";

const CONNECTIONS = 10;
/** Enough requests to have the code that answers them compiled. */
const WARM_UP = { gets: 5000, creates: 1000 };
const MEASURED_MS = 1500;
const ROUNDS = 5;
const JOBS = "/v2/agent/docs/job";
const BARE_HONO = fileURLToPath(new URL("../bare-hono.ts", import.meta.url));

const Ready = z.object({ address: z.string() });
// Made once. Making one for each answer would measure the load's own work.
const Created = z.object({ id: z.string() });
const Read = z.object({ status: z.literal("active") });
type Rates = { creates: number; gets: number };
type Server = { address: string; key: string };

/**
 * Measures the cost of the job service's HTTP. One agent sleeps meanwhile, and the other jobs wait
 * for it.
 */
export const serviceRequests: Scenario = {
  name: "service-requests",
  summary: "creates and GETs that the job service answers, against a bare Hono server with a synced insert",
  async run({ checkout, dir, progress }) {
    const repository = join(dir, "docs.git");
    mkdirSync(repository);
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=Bench", "-c", "user.email=bench@example.com", ...args], {
        cwd: repository,
      });
    git("init", "--quiet", "--initial-branch=main");
    git("commit", "--quiet", "--allow-empty", "--message=Start");

    async function measureService(round: number): Promise<Rates> {
      progress(`round ${round + 1} of ${ROUNDS}`);
      const options = { checkout, repository, script: "sleep 600", jobsAtOnce: 1 };
      await using service = await ServiceProgram.start({ ...options, dir: join(dir, `service-${round}`) });
      return await measure(service);
    }
    async function measureBare(round: number): Promise<Rates> {
      const nodeArgs = [BARE_HONO, join(dir, `bare-${round}.sqlite`)];
      await using bare = await Program.start({ nodeArgs, dir });
      return await measure({ address: Ready.parse(bare.ready).address, key: "none" });
    }
    const [service = [], bare = []] = await inTurn(ROUNDS, [measureService, measureBare]);
    const figure = (what: string, pick: (rates: Rates) => number, goal: string): Figure => ({
      what,
      unit: "per second",
      measured: { name: checkout.name, values: service.map(pick) },
      against: { name: "bare Hono server", values: bare.map(pick) },
      reach: `ratio ${goal}`,
    });
    return [
      figure("creates answered", ({ creates }) => creates, "≥ 0.30"),
      figure("GETs answered", ({ gets }) => gets, "≥ 0.30"),
    ];
  },
};

async function measure({ address, key }: Server): Promise<Rates> {
  const pool = new Pool(address, { connections: CONNECTIONS, pipelining: 1 });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify({ prompt: "Add a line" });
  const create = async () => {
    const answer = await pool.request({ method: "POST", path: JOBS, headers, body });
    return Created.parse(await answer.body.json()).id;
  };
  const path = `${JOBS}/${await create()}`;
  const get = async () => {
    const answer = await pool.request({ method: "GET", path, headers });
    Read.parse(await answer.body.json());
  };
  try {
    await ask(get, WARM_UP.gets);
    const gets = await perSecond(get);
    await ask(create, WARM_UP.creates);
    return { gets, creates: await perSecond(create) };
  } finally {
    await pool.close();
  }
}

async function ask(request: () => Promise<unknown>, times: number): Promise<void> {
  let left = times;
  await onEachConnection(request, () => left-- > 0);
}

async function perSecond(request: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  let answered = 0;
  const count = async () => {
    await request();
    answered += 1;
  };
  await onEachConnection(count, () => performance.now() - startedAt < MEASURED_MS);
  return (answered / (performance.now() - startedAt)) * 1000;
}

/** Keeps every connection busy while there are requests left. */
async function onEachConnection(request: () => Promise<unknown>, hasMore: () => boolean): Promise<void> {
  const connection = async () => {
    while (hasMore()) await request();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
}
