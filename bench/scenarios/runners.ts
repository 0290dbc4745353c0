import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { Checkout } from "../checkout.ts";
import { Program } from "../program.ts";
import type { Figure, Scenario } from "../scenario.ts";
import { SeparateMachines } from "../separate-machines.ts";
import { ServiceProgram } from "../service-program.ts";

const SIDES = [1, 2, 4] as const;
const ROUNDS = 3;
const TURNS_PER_RUNNER = 8;
const AGENT_S = 5;
const ENDS_WITHIN_MS = 240_000;
const LOOK_EVERY_MS = 50;
const TOKEN = "code-host-token-0123456789";

const CODE_HOST = fileURLToPath(new URL("../code-host.ts", import.meta.url));
const FORWARD = fileURLToPath(new URL("../forward.ts", import.meta.url));
const Ready = z.object({ url: z.string() });

/**
 * Measures how many turns a minute one, two and four runners elsewhere end, each of which runs one
 * turn at a time. Each number has a service of its own, and all of them run side by side.
 */
export const runners: Scenario = {
  name: "runners",
  summary: `turns a minute with ${SIDES.join(", ")} runners as users in networks of their own, side by side`,
  async run({ checkout, dir, progress }) {
    await using machines = SeparateMachines.open();
    if (machines === null) {
      progress("this user may not make network namespaces, so nothing is measured");
      return [];
    }
    // The runners' users come to their own folders below.
    for (const above of [dirname(dir), dir]) chmodSync(above, 0o711);
    const samples = join(dir, "samples", "docs");
    mkdirSync(samples, { recursive: true });
    writeFileSync(join(samples, "README.md"), "# Docs\n");
    const host = { dataDir: join(dir, "host"), samples: join(dir, "samples"), host: machines.address };
    const options = JSON.stringify({ ...host, token: TOKEN, reviewerToken: `${TOKEN}-2` });
    await using codeHost = await Program.start({
      nodeArgs: [CODE_HOST, options],
      env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
      dir,
      hasChannel: true,
    });
    const { port } = new URL(Ready.parse(codeHost.ready).url);
    await using services = new AsyncDisposableStack();
    const sides = [];
    for (const count of SIDES) {
      progress(`starting ${count} of the runners`);
      const side = await startSide({
        checkout,
        dir: join(dir, `side-${count}`),
        port,
        machines,
        count,
      });
      services.use(side);
      // Each runner has the repository then.
      await turnsPerMinute(side, 2 * count);
      sides.push(side);
    }
    const rates: number[][] = SIDES.map(() => []);
    for (let round = 0; round < ROUNDS; round += 1) {
      progress(`round ${round + 1} of ${ROUNDS}`);
      const found = await Promise.all(
        sides.map((side, index) => turnsPerMinute(side, TURNS_PER_RUNNER * (SIDES[index] ?? 1))),
      );
      for (const [index, rate] of found.entries()) rates[index]?.push(rate);
    }
    const [one = [], two = [], four = []] = rates;
    const against = { name: "1 runner", values: one };
    const figure = (count: number, values: number[], reach: string): Figure => ({
      what: `turns a minute with ${count} runners, agents that sleep ${AGENT_S} s`,
      unit: "",
      measured: { name: `${count} runners`, values },
      against,
      reach,
    });
    return [figure(2, two, "≥ 1.8"), figure(4, four, "≥ 3.5")];
  },
};

type SideOptions = {
  checkout: Checkout;
  dir: string;
  /** The code host's. */
  port: string;
  machines: SeparateMachines;
  count: number;
};

/** A service without a runner of its own, and so many elsewhere. */
async function startSide({ checkout, dir, port, machines, count }: SideOptions): Promise<ServiceProgram> {
  const project = {
    id: "docs",
    // Without encryption, a repository must be on the machine itself.
    repository: `http://127.0.0.1:${port}/acme/docs.git`,
    agent: { kind: "command", command: ["sleep", String(AGENT_S)] },
    codeHost: { kind: "none" },
    limits: { createsPerHour: 100_000, jobsAtOnce: 100, queued: 10_000 },
  };
  const { address: host } = machines;
  const service = await ServiceProgram.serve({ checkout, dir, jobsAtOnce: 0, projects: [project], host });
  chmodSync(dir, 0o711);
  for (let n = 0; n < count; n += 1) {
    const main = join(checkout.root, "src/service/main.ts");
    const args = [
      main,
      "runners",
      "add",
      `runner-${n}`,
      "--all-projects",
      "--config",
      join(dir, "service.yml"),
    ];
    const env = { PATH: "/usr/local/bin:/usr/bin:/bin" };
    const added = execFileSync(process.execPath, args, { cwd: dir, env, encoding: "utf8" });
    const token = /^RUNNER_TOKEN=(.+)$/m.exec(added)?.[1] ?? "";
    const machine = machines.add(dir);
    await machine.start([FORWARD, port, host], env, "ready");
    await machine.start(
      [join(checkout.root, "src/service/runner/program/main.ts")],
      {
        ...env,
        RUNNER_SERVICE_URL: service.address,
        RUNNER_TOKEN: token,
        RUNNER_PLACES: "1",
        RUNNER_CONTAINMENT: "none",
      },
      "asks the job service for work",
    );
  }
  return service;
}

/** Has this many turns run, which are asked for at once. */
async function turnsPerMinute(service: ServiceProgram, turns: number): Promise<number> {
  const startedAt = performance.now();
  const jobs = await Promise.all(Array.from({ length: turns }, () => service.create()));
  const waiting = { withinMs: ENDS_WITHIN_MS, lookEveryMs: LOOK_EVERY_MS };
  await Promise.all(jobs.map((id) => service.ended(id, waiting)));
  return (turns / (performance.now() - startedAt)) * 60_000;
}
