import { randomUUID } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { CodeHost } from "../../world/code-host/index.ts";
import { TcpProxy } from "../../world/faults/tcp-proxy.ts";
import { latePushes, type Line } from "./late-pushes.ts";
import { freezeTree, killTree, treeOf } from "./process-tree.ts";
import { processesOf } from "./processes-of.ts";
import type { RunnerPlace } from "./runner-program.ts";
import { openElsewhere } from "./runners-elsewhere.ts";
import type { ServiceProcess } from "./service-process.ts";

const AGENT = fileURLToPath(new URL("../fixtures/agents/asks-and-edits.mjs", import.meta.url));
const LOOK_EVERY_MS = 100;
/** Longer than a lease, the wait for the next start and a turn, on a busy machine. */
const ENDS_WITHIN_MS = 240_000;
/** The service is paused meanwhile in some cases, and the next question finds it awake. */
const ANSWERS_WITHIN_MS = 3_000;
const REACHED_WITHIN_MS = 60_000;
/** A runner whose agent was left behind ends it when it notices, by the end of its lease. */
const GONE_WITHIN_MS = 90_000;

/** The steps of a turn at which a fault comes, in their order. */
export const STEPS = [
  "claimed",
  "fetched",
  "agent started",
  "asked",
  "committed",
  "pushed",
  "opened",
  "result sent",
] as const;
export type Step = (typeof STEPS)[number];

/**
 * What befalls whom. `kill` is a power cut, after which it is started again; a runner's two
 * processes can also die one by one. The way between them is cut, silent, or answers strangely.
 */
export type Fault =
  | { who: "service"; what: "kill" }
  | { who: "service" | "runner"; what: "pause"; seconds: number }
  | { who: "runner"; what: "kill" | "kill the first" | "kill the second" }
  | { who: "way"; what: "refuse" | "silent" | "strange"; seconds: number; answer?: string };

type Question = { id: string; answeredAt: string | null };
type Job = { status: string; prLink?: string | null; questions?: Question[] };

/**
 * A service, a runner whose calls go through a proxy, another runner that may help, and a code host
 * whose repository notes each push.
 */
export async function openFaultsWorld() {
  const stack = new AsyncDisposableStack();
  const world = stack.use(await openElsewhere({}, { limits: { jobsAtOnce: 1, createsPerHour: 100 } }));
  const { folder, codeHost } = world;
  const notes = folder.dir.file("notes");
  mkdirSync(notes);
  const agent = { kind: "acp", command: [process.execPath, AGENT, notes], permissions: "ask" };
  world.changeAgent(agent);
  const bare = folder.dir.file("host/repositories/acme/docs.git");
  const hook = join(bare, "hooks", "post-receive");
  mkdirSync(join(bare, "hooks"), { recursive: true });
  writeFileSync(
    hook,
    `#!/bin/sh\nwhile read old new ref; do echo "$(date +%s%3N) $new $ref" >> '${notes}/pushes'; done\n`,
  );
  chmodSync(hook, 0o755);

  const services = [await world.serve()];
  const service = () => services.at(-1) as ServiceProcess;
  const { url } = service();
  const proxy = stack.use(await TcpProxy.start(Number(new URL(url).port)));
  const env = { RUNNER_PLACES: "1", RUNNER_SERVICE_URL: `http://127.0.0.1:${proxy.port}` };
  const first = await world.addRunner(service(), "first", env);
  const second = await world.addRunner(service(), "second", { RUNNER_PLACES: "1" });
  const runners: ServiceProcess[] = [];
  const start = (place: RunnerPlace) => {
    const runner = place.start();
    runners.push(runner);
    return runner;
  };
  const { stdout } = await folder.run("keys", "create", "--project", "docs");
  const key = stdout.trim();

  const told = (path: string, body?: object, headers: Record<string, string> = {}) =>
    fetch(`${url}/v2/agent/docs/job${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "docs-agent-capabilities": "docs-agent/1",
        ...headers,
      },
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).then(async (answer) => (await answer.json()) as object);
  /** Null while nobody answers. */
  const jobOf = async (id: string): Promise<Job | null> =>
    await told(`/${id}`).then(
      (job) => job as Job,
      () => null,
    );
  const linesIn = (name: string) => {
    const path = join(notes, name);
    return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
  };
  const log = () =>
    services
      .flatMap(({ stdout: text }) => text.split("\n"))
      .flatMap((line): Line[] => (line.startsWith("{") ? [JSON.parse(line) as Line] : []));

  return {
    world,
    proxy,
    first,
    second,
    notes,
    codeHost,
    bare,
    start,
    service,
    log,
    runners,
    async create(): Promise<string> {
      const id = randomUUID();
      for (;;) {
        const created = await told("", { prompt: "Say more" }, { "idempotency-key": id }).catch(() => null);
        if (created !== null)
          return (
            created as {
              id: string;
            }
          ).id;
      }
    },
    jobOf,
    pushes: () => linesIn("pushes"),
    async ended(id: string, mayAnswer = () => true): Promise<Job> {
      const giveUpAt = performance.now() + ENDS_WITHIN_MS;
      while (performance.now() < giveUpAt) {
        const job = await jobOf(id);
        if (job !== null && job.status !== "active") return job;
        const question = job?.questions?.find(({ answeredAt }) => answeredAt === null);
        if (question !== undefined && mayAnswer())
          await told(`/${id}/answer`, {
            questionId: question.id,
            choice: "1",
          }).catch(() => {});
        await sleep(LOOK_EVERY_MS);
      }
      throw new Error(`The turn doesn't end: ${runners.map(({ stdout: text }) => text).join("\n")}`);
    },
    reached: (step: Step, id: () => string) =>
      reached(step, {
        proxy,
        codeHost,
        id,
        linesIn,
        jobOf,
      }),
    async suffer(fault: Fault, runner: ServiceProcess): Promise<void> {
      switch (fault.what) {
        case "kill":
          killTree(fault.who === "service" ? service().pid : runner.pid);
          if (fault.who === "service") {
            await service().exit();
            services.push(await world.serve());
          } else start(first);
          return;
        case "kill the first":
          process.kill(runner.pid, "SIGKILL");
          start(first);
          return;
        case "kill the second":
          process.kill(treeOf(runner.pid)[1] ?? 0, "SIGKILL");
          return;
        case "pause": {
          const wake = freezeTree(fault.who === "service" ? service().pid : runner.pid);
          await sleep(fault.seconds * 1e3);
          return wake();
        }
        default:
          if (fault.answer !== undefined) proxy.strangeAnswer = fault.answer;
          await proxy.become(fault.what);
          await sleep(fault.seconds * 1e3);
          await proxy.become("open");
      }
    },
    async left(id: string) {
      const branches = await world.git(bare, "for-each-ref", "--format=%(refname)", "refs/heads");
      const giveUpAt = performance.now() + GONE_WITHIN_MS;
      let agents = await processesOf(notes);
      while (agents.length > 0 && performance.now() < giveUpAt) {
        await sleep(LOOK_EVERY_MS);
        agents = await processesOf(notes);
      }
      return {
        branches: branches.split("\n").filter((name) => name.includes(id)).length,
        pulls: codeHost.pullRequests("acme", "docs").filter(({ head }) => head.includes(id)).length,
        outcomes: log().filter(({ msg, job_id }) => msg === "turn ended" && job_id === id).length,
        late: await latePushes({
          id,
          log: log(),
          linesIn,
          show: (...args) => world.git(bare, ...args),
        }),
        agents,
      };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

type Seen = {
  proxy: TcpProxy;
  codeHost: CodeHost;
  id: () => string;
  linesIn: (name: string) => string[];
  jobOf: (id: string) => Promise<Job | null>;
};

/** Resolves when the turn has reached the step, which is seen from outside. */
async function reached(step: Step, { proxy, codeHost, id, linesIn, jobOf }: Seen): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const passes = (from: "client" | "server", what: RegExp) => {
    proxy.onData = (by, chunk) => {
      if (by === from && what.test(chunk.toString("latin1"))) resolve();
    };
  };
  const late = sleep(REACHED_WITHIN_MS, "late" as const, { ref: false });
  const until = async (isThere: () => boolean | Promise<boolean>) => {
    while (!(await isThere())) if ((await Promise.race([sleep(10), late])) === "late") return;
    resolve();
  };
  switch (step) {
    case "claimed":
      passes("server", /"work":\{"kind":"turn"/);
      break;
    case "fetched":
      codeHost.traffic.before = async (request) => {
        if (/^POST .*git-upload-pack/.test(request)) resolve();
      };
      break;
    case "agent started":
      void until(() => linesIn("starts").length > 0);
      break;
    case "asked":
      void until(async () => ((await jobOf(id()))?.questions ?? []).length > 0);
      break;
    case "committed":
      passes("client", /^PUT \S+\/notes\/turn /m);
      break;
    case "pushed":
      void until(() => linesIn("pushes").length > 0);
      break;
    case "opened":
      codeHost.onEvent((event) => {
        if (event.kind === "pull-request" && event.action === "opened") resolve();
      });
      break;
    case "result sent":
      passes("client", /^PUT \S+\.1\.1\/result /m);
      break;
  }
  if ((await Promise.race([promise, late])) === "late") throw new Error(`The turn isn't ${step}.`);
  proxy.onData = () => {};
}
