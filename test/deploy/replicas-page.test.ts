// @module-tag all
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { AppProcess } from "../support/app-process.ts";
import { need } from "../support/need.ts";
import { ROOT } from "../support/package.ts";
import { PR, outcomesIn } from "../support/replicas.ts";
import { freePort } from "../support/redis-server.ts";
import { openTempDir } from "../support/temp-dir.ts";
import { ANA, DOCS, environment, startSlackSide } from "../support/world.ts";
import { startJobServiceSide } from "../../world/job-service/side.ts";

const page = readFileSync(join(ROOT, "docs", "replicas.md"), "utf8");
/** The shell blocks of the page, in its order. */
const BLOCKS = [...page.matchAll(/^( *)```sh\n([^]*?)^ *```$/gm)].map(([, indent = "", block = ""]) =>
  block.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
);
/** Those of "From one machine to three replicas". */
const STEPS = BLOCKS.slice(0, 5);
/** The ports that the page names. */
const PORTS = ["6380", "3001", "3002", "3003", "3000"];

it("the page has five steps for machines with Node.js, and otherwise names files that are there", () => {
  expect(STEPS.map((block) => block.trim().split(/\s/, 1)[0]?.replace(/=.*/, ""))).toEqual([
    "REDIS_PASSWORD",
    "STORE_URL",
    "for",
    "export",
    "for",
  ]);
  const files = BLOCKS.slice(5).flatMap((block) => [...block.matchAll(/\bdeploy\/[\w./-]+/g)].flat());
  expect(files.length).toBeGreaterThan(1);
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
  let output = "";
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  let blocks = 0;
  return {
    get output() {
      return output;
    },
    async run(block: string): Promise<string> {
      const from = output.length;
      const mark = `end of block ${(blocks += 1)}`;
      shell.stdin.write(`${block}\necho "${mark}"\n`);
      await expect.poll(() => output.slice(from), { timeout: 60_000 }).toContain(mark);
      return output.slice(from);
    },
    async [Symbol.asyncDispose]() {
      const gone = once(shell, "exit");
      if (shell.pid !== undefined) process.kill(-shell.pid, "SIGKILL");
      await gone;
    },
  };
}

it(
  "the page's steps lead from one machine to three replicas behind a proxy",
  { timeout: 240_000 },
  async () => {
    need("redis-server");
    need("haproxy");
    await using slack = await startSlackSide();
    await using service = await startJobServiceSide({ idempotencyKeys: true });
    service.script.completeAfterPolls(2, { prLink: PR });
    const env = environment(slack, service);
    await using dir = await openClone({ ...env, DOCS_AGENT_IDEMPOTENCY_KEYS: "true" });
    const ana = slack.person(ANA);
    {
      // What one machine has stored before.
      const store = `sqlite://${dir.file("data/docs-agent.sqlite")}`;
      await using alone = new AppProcess({ env: { ...env, STORE_URL: store } });
      slack.setAppUrl(`${(await alone.ready()) ?? ""}/slack/events`);
      await ana.command({ channel: DOCS, text: "fix page 1" });
      await slack.until(() => outcomesIn(slack).length === 1, 60_000);
      alone.signal("SIGTERM");
      expect(await alone.exit()).toBe(0);
    }
    const ports = await Promise.all(PORTS.map(() => freePort()));
    const withPorts = (block: string) =>
      PORTS.reduce((text, port, n) => text.replaceAll(port, String(ports[n])), block);
    const [redis = "", move = "", replicas = "", proxy = "", check = ""] = STEPS.map(withPorts);

    await using shell = openShell(dir.path);
    await using _ = {
      // Redis has made itself a daemon, with another group.
      [Symbol.asyncDispose]: async () => {
        const names = await readdir("/proc");
        const about = (pid: string) => {
          try {
            return readFileSync(`/proc/${pid}/cmdline`, "utf8");
          } catch {
            return "";
          }
        };
        for (const pid of names.filter((name) => /^\d+$/.test(name))) {
          if (about(pid).startsWith("redis-server") && about(pid).includes(`:${ports[0]}`))
            process.kill(Number(pid), "SIGKILL");
        }
      },
    };
    expect(await shell.run(redis)).toContain("PONG");
    await shell.run(move);
    expect(readFileSync(dir.file(".env"), "utf8")).toMatch(
      /^STORE_URL=redis:\/\/:[0-9a-f]{48}@127\.0\.0\.1/m,
    );
    await shell.run(replicas);
    await shell.run(proxy);
    const well = async () => (await shell.run(check)).match(/"status":"ok"/g)?.length;
    await expect.poll(well, { timeout: 60_000 }).toBe(3);
    expect(await shell.run(check)).not.toContain("risk");

    slack.setAppUrl(`http://127.0.0.1:${ports[4]}/slack/events`);
    expect((await ana.command({ channel: DOCS, text: "fix page 2" })).status).toBe(200);
    await slack.until(() => outcomesIn(slack).length === 2, 60_000);
    // What was asked before the move is known: it isn't begun again.
    expect(service.creates.map(({ prompt }) => prompt)).toHaveLength(2);

    const [stop = ""] = /kill \$\(cat replica-\d+\.pid\)/.exec(withPorts(page)) ?? [];
    await shell.run(stop);
    await expect
      .poll(() => readFileSync(dir.file(`replica-${ports[1]}.log`), "utf8"), { timeout: 60_000 })
      .toContain("stopped");
    expect((await ana.command({ channel: DOCS, text: "fix page 3" })).status).toBe(200);
    await slack.until(() => outcomesIn(slack).length === 3, 60_000);
  },
);
