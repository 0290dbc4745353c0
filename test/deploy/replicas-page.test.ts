// @module-tag all
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { appendFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { AppProcess } from "../support/app-process.ts";
import { need } from "../support/need.ts";
import { ROOT } from "../support/package.ts";
import { killTree } from "../support/process-tree.ts";
import { processesOf } from "../support/processes-of.ts";
import { expectOnce, outcomesIn, PR } from "../support/replicas.ts";
import { freePort } from "../support/redis-server.ts";
import { openTempDir } from "../support/temp-dir.ts";
import { ANA, DOCS, environment, startSlackSide } from "../support/world.ts";
import { startJobServiceSide } from "../../world/job-service/side.ts";

const page = readFileSync(join(ROOT, "docs", "replicas.md"), "utf8");
/** The shell blocks of each section of the page, in its order. */
const SECTIONS = new Map(
  page
    .split(/^## /m)
    .map((section) => [
      section.split("\n", 1)[0] ?? "",
      [...section.matchAll(/^( *)```sh\n([^]*?)^ *```$/gm)].map(([, indent = "", block = ""]) =>
        block.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
      ),
    ]),
);
const STEPS = SECTIONS.get("From one machine to three replicas") ?? [];
const [MOVE = "", ...MOVES_IN_DOCKER] = SECTIONS.get("Moving to Redis, and back") ?? [];
/** These need Docker or Kubernetes, and aren't run. */
const NOT_RUN = [
  ...(SECTIONS.get("compose.yml") ?? []),
  ...(SECTIONS.get("Kubernetes") ?? []),
  ...MOVES_IN_DOCKER,
];
/** The ports that the page names. */
const PORTS = ["6380", "3001", "3002", "3003", "3000"];
/** Where Redis is, in the page's words. */
const SOME_REDIS = "redis://user:password@host:6379";

const programOf = (command: string) => command.trim().split(/[\s=]/, 1)[0];

it("the page's blocks are those that are run here, and those that need Docker or Kubernetes", () => {
  expect(STEPS.map(programOf)).toEqual(["REDIS_PASSWORD", "STORE_URL", "for", "export", "for"]);
  expect(MOVE).toMatch(/ dump > .*\n.* load < /);
  expect(MOVE).toContain(SOME_REDIS);
  expect(NOT_RUN.map((block) => /\b(?:docker compose|docker|kubectl) [a-z-]+/.exec(block)?.[0])).toEqual([
    "docker compose build",
    "docker build",
    "docker build",
    "docker run",
    "docker compose run",
  ]);
  expect([...SECTIONS.values()].flat()).toHaveLength(STEPS.length + 1 + NOT_RUN.length);
  const named = /(?<=^|[\s=])(?:(?:deploy|src)\/[\w./-]+|\.env\.example|service\.example\.yml)/gm;
  const files = ["compose.yml", "Dockerfile", ...NOT_RUN.flatMap((block) => block.match(named) ?? [])];
  expect([...new Set(files)].toSorted()).toEqual([
    ".env.example",
    "Dockerfile",
    "compose.yml",
    "deploy/kubernetes-service.yml",
    "deploy/kubernetes.yml",
    "service.example.yml",
    "src/app/dump/main.ts",
    "src/service/main.ts",
  ]);
  expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});

/** A folder that stands for the clone: its scripts start this copy's programs. */
async function openClone(env: Record<string, string>) {
  const dir = await openTempDir();
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  const ours = ["start", "state"].map((name) => [
    name,
    (scripts[name] ?? "").replace("exec node", `exec ${process.execPath}`).replace(" src/", ` ${ROOT}/src/`),
  ]);
  await writeFile(dir.file("package.json"), JSON.stringify({ scripts: Object.fromEntries(ours) }));
  await symlink(join(ROOT, "deploy"), dir.file("deploy"));
  await mkdir(dir.file("data"));
  const { PORT: _, ...kept } = env;
  const lines = Object.entries(kept).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(dir.file(".env"), lines.join(""));
  return dir;
}

/** A shell in which the blocks run one after the other, as in a terminal. */
function openShell(cwd: string) {
  const shell = spawn("bash", ["--norc"], {
    cwd,
    env: { PATH: process.env["PATH"], HOME: cwd },
    stdio: ["pipe", "pipe", "pipe"],
    // What it starts belongs to its group, so that all of it can be ended.
    detached: true,
  });
  const gone = once(shell, "exit");
  let output = "";
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  let blocks = 0;
  return {
    async run(block: string): Promise<string> {
      const from = output.length;
      const mark = `end of block ${(blocks += 1)}`;
      shell.stdin.write(`${block}\necho "${mark}"\n`);
      await expect.poll(() => output.slice(from), { timeout: 60_000 }).toContain(mark);
      return output.slice(from);
    },
    async [Symbol.asyncDispose]() {
      try {
        if (shell.pid !== undefined) process.kill(-shell.pid, "SIGKILL");
      } catch {
        // All of it has ended.
      }
      await gone;
    },
  };
}

/** Ends the Redis of the page, which has left the shell's group, at the end of the test. */
function endsRedis(folder: string, port: number | undefined): AsyncDisposable {
  return {
    async [Symbol.asyncDispose]() {
      // The first is its name while it starts.
      for (const words of [`--dir ${folder}/`, `redis-server 127.0.0.1:${port}`])
        for (const pid of await processesOf(words)) killTree(Number(pid));
    },
  };
}

/** What the replicas that answer say of themselves. */
const readinessIn = (output: string) =>
  output
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as { status: string; risk?: string });

it(
  "the page's steps lead from one machine to three replicas behind a proxy, and back",
  { timeout: 240_000 },
  async () => {
    need("redis-server");
    need("haproxy");
    await using slack = await startSlackSide();
    await using service = await startJobServiceSide({ idempotencyKeys: true });
    const env = {
      ...environment(slack, service),
      DOCS_AGENT_IDEMPOTENCY_KEYS: "true",
      POLL_MIN_MS: "200",
      POLL_MAX_MS: "500",
    };
    await using dir = await openClone(env);
    const ana = slack.person(ANA);
    const ask = async (text: string) => expect((await ana.command({ channel: DOCS, text })).status).toBe(200);
    const hasEnded = (count: number) => slack.until(() => outcomesIn(slack).length === count, 60_000);
    {
      // The one machine stops while a job is under way.
      const store = `sqlite://${dir.file("data/docs-agent.sqlite")}`;
      await using alone = new AppProcess({ env: { ...env, STORE_URL: store } });
      slack.setAppUrl(`${(await alone.ready()) ?? ""}/slack/events`);
      await ask("fix page 1");
      await expect.poll(() => service.creates.length, { timeout: 60_000 }).toBe(1);
      alone.signal("SIGTERM");
      expect(await alone.exit()).toBe(0);
    }
    const ports = await Promise.all(PORTS.map(() => freePort()));
    const withPorts = (text: string) =>
      text.replaceAll(/\b(?:6380|300[0-3])\b/g, (port) => String(ports[PORTS.indexOf(port)]));
    const [redis = "", move = "", replicas = "", proxy = "", check = ""] = STEPS.map(withPorts);

    await using _ = endsRedis(dir.path, ports[0]);
    await using shell = openShell(dir.path);
    expect(await shell.run(redis)).toContain("PONG");
    expect(await shell.run(move)).toMatch(/Dumped [1-9][^]*Loaded [1-9].* into redis:.*, and read them back/);
    expect(readFileSync(dir.file(".env"), "utf8")).toMatch(
      /^STORE_URL=redis:\/\/:[0-9a-f]{48}@127\.0\.0\.1/m,
    );
    const askRedis = `redis-cli -p ${ports[0]} -a "$REDIS_PASSWORD" --no-auth-warning`;
    expect(await shell.run(`${askRedis} --scan --pattern '{docs-agent}*'`)).toContain("{docs-agent}");

    await shell.run(replicas);
    await shell.run(proxy);
    const readiness = async () => readinessIn(await shell.run(check));
    const statuses = async () => (await readiness()).map(({ status }) => status);
    await expect.poll(statuses, { timeout: 60_000 }).toEqual(["ok", "ok", "ok"]);
    for (const replica of await readiness()) expect(replica).not.toHaveProperty("risk");

    slack.setAppUrl(`http://127.0.0.1:${ports[4]}/slack/events`);
    // What was under way is continued, and not begun again.
    service.script.completeAfterPolls(2, { prLink: PR });
    await hasEnded(1);
    await ask("fix page 2");
    await hasEnded(2);

    const [stop = ""] = /kill \$\(cat replica-3001\.pid\)/.exec(page) ?? [];
    await shell.run(withPorts(stop));
    await expect
      .poll(() => readFileSync(dir.file(`replica-${ports[1]}.log`), "utf8"), { timeout: 60_000 })
      .toContain("stopped");
    expect(await statuses()).toEqual(["ok", "ok"]);
    await ask("fix page 3");
    await hasEnded(3);
    expectOnce(slack, service, 3);

    // The way back, and to another database of the same Redis.
    for (const port of ["3002", "3003"]) await shell.run(withPorts(stop.replace("3001", port)));
    await shell.run("wait $(cat replica-*.pid)");
    const [file = ""] = /(?<=`STORE_URL=)sqlite:[^`]+/.exec(page) ?? [];
    const moved = /Dumped (.*) from .*\n[^]*Loaded \1 into .*, and read them back/;
    const back = await shell.run(MOVE.replace(SOME_REDIS, file));
    expect(back).toMatch(moved);
    expect(existsSync(dir.file("data/docs-agent-2.sqlite"))).toBe(true);
    await appendFile(dir.file(".env"), `STORE_URL=${file}\n`);
    const other = `redis://default:$REDIS_PASSWORD@127.0.0.1:${ports[0]}/1`;
    const again = await shell.run(MOVE.replace(SOME_REDIS, () => other));
    expect(again).toMatch(moved);
    expect(again).toContain("docs-agent-2.sqlite");
    expect(await shell.run(`${askRedis} -n 1 --scan`)).toContain("{docs-agent}");
  },
);
