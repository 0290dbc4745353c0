import { readFileSync } from "node:fs";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import * as routes from "../../src/service/http/routes.ts";
import { endedBy } from "../support/patient.ts";
import { agentFile } from "../support/service-world.ts";
import { ServiceFolder, type ServiceProcess } from "../support/service-process.ts";

/** One ends at once and changes nothing, one goes on until it is stopped, one fails. */
const AGENTS = { quick: ["true"], slow: ["sleep", "600"], broken: ["false"] };
/** Each test starts up to ten processes, one after the other, on a machine that may be busy with the rest of the suite. */
const TIMEOUT_MS = 240_000;

/** What the paths of all of a project's operations begin with. */
const ROOT = "/v2/agent/{projectId}/";

type Job = { id: string; status: string };

async function keyOf(folder: ServiceFolder, project: string): Promise<string> {
  const { code, stdout, stderr } = await folder.run("keys", "create", "--project", project);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^docsagent_[\w-]{43,}\n$/);
  return stdout.trim();
}

async function create(server: ServiceProcess, project: string, key: string): Promise<Response> {
  return await fetch(`${server.url}/v2/agent/${project}/job`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: '{"prompt":"Fix the \\u001b[31m FAQ"}',
  });
}

async function created(server: ServiceProcess, project: string, key: string): Promise<Job> {
  const response = await create(server, project, key);
  expect(response.status).toBe(201);
  return (await response.json()) as Job;
}

async function until(server: ServiceProcess, project: string, key: string, id: string, status: string) {
  for (;;) {
    const response = await fetch(`${server.url}/v2/agent/${project}/job/${id}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    if (((await response.json()) as Job).status === status) return;
    await sleep(20);
  }
}

it(
  "makes, lists and revokes keys while the server runs, which knows with the next request",
  async () => {
    await using folder = await ServiceFolder.open(AGENTS);
    const before = await keyOf(folder, "quick");
    const server = await folder.serve();
    expect((await create(server, "quick", before)).status).toBe(201);
    const key = await keyOf(folder, "quick");
    const job = await created(server, "quick", key);
    const reads = async (sent: string) =>
      (
        await fetch(`${server.url}/v2/agent/quick/job/${job.id}`, {
          headers: { authorization: `Bearer ${sent}` },
        })
      ).status;
    await until(server, "quick", key, job.id, "completed");
    // Nothing is written between these: the second answer may be a kept one.
    expect([await reads(key), await reads(key), await reads(before)]).toEqual([200, 200, 200]);

    const { stdout: listed } = await folder.run("keys", "list");
    expect(listed).toContain(`…${key.slice(-4)}`);
    expect(listed).not.toContain(key);
    const id = /(key_\w+) +quick +…(\S{4})/.exec(
      listed.split("\n").find((line) => line.includes(key.slice(-4))) ?? "",
    )?.[1];
    expect(await folder.run("keys", "revoke", id ?? "")).toMatchObject({ code: 0 });
    expect([await reads(key), await reads(before)]).toEqual([401, 200]);
    expect((await create(server, "quick", key)).status).toBe(401);
    expect((await create(server, "quick", before)).status).toBe(201);
    expect((await folder.run("keys", "revoke", id ?? "")).stdout).toContain("was already revoked");
    expect((await folder.run("keys", "list")).stdout).toMatch(new RegExp(`${id}.*Z\\s+\\d{4}-.*Z`));
  },
  TIMEOUT_MS,
);

it(
  "lists and shows jobs while the server runs",
  async () => {
    await using folder = await ServiceFolder.open(AGENTS);
    const server = await folder.serve();
    const keys = { quick: await keyOf(folder, "quick"), broken: await keyOf(folder, "broken") };
    const quick = await created(server, "quick", keys.quick);
    const broken = await created(server, "broken", keys.broken);
    await until(server, "quick", keys.quick, quick.id, "completed");
    await until(server, "broken", keys.broken, broken.id, "failed");

    const { stdout: all } = await folder.run("jobs", "list");
    expect(all).toMatch(new RegExp(`${quick.id} +quick +completed`));
    expect(all).toMatch(new RegExp(`${broken.id} +broken +failed`));
    const { stdout: failed } = await folder.run("jobs", "list", "--status", "failed", "--project", "broken");
    expect(failed).toContain(broken.id);
    expect(failed).not.toContain(quick.id);
    const { stdout: shown } = await folder.run("jobs", "show", broken.id);
    expect(shown).toMatch(/turn 1: failed/);
    expect(shown).toMatch(/reason:\n +\S/);
    expect(shown).toContain("Fix the \uFFFD[31m FAQ");
    expect(shown).not.toContain("\u001b");
    const { stdout: brief } = await folder.run("jobs", "show", quick.id, "--brief");
    expect(brief).toMatch(/^# Your task\n[^]*\n\nNow:\nFix the \uFFFD\[31m FAQ\n$/);
    expect(await folder.run("jobs", "show", "job-nope")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("no job") as string,
    });
  },
  TIMEOUT_MS,
);

it(
  "archives a running job from another process: its agent is stopped, and a watcher sees the end",
  { tags: "all", timeout: TIMEOUT_MS },
  async () => {
    await using folder = await ServiceFolder.open(AGENTS);
    const server = await folder.serve();
    const key = await keyOf(folder, "slow");
    const { id } = await created(server, "slow", key);
    const watcher = folder.start("jobs", "show", id, "--watch");
    await watcher.wrote(/turn 1: running/);
    const left = folder.start("jobs", "show", id, "--watch");
    await left.wrote(/turn 1: running/);
    left.stopReading();
    const message = await fetch(`${server.url}/v2/agent/slow/job/${id}/message`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: '{"prompt":"And more"}',
    });
    expect(message.status).toBe(200);
    expect({ code: await left.exit(), stderr: left.stderr }).toEqual({ code: 0, stderr: "" });
    await until(server, "slow", key, id, "active");
    await until(server, "slow", key, id, "active");
    expect(await folder.run("jobs", "archive", id)).toEqual({
      code: 0,
      stdout: `Archived job ${id}.\n`,
      stderr: "",
    });
    // The very next answer knows of it.
    const next = await fetch(`${server.url}/v2/agent/slow/job/${id}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(await next.json()).toMatchObject({ status: "archived" });
    expect(await watcher.exit()).toBe(0);
    expect(watcher.stdout).toMatch(/status +archived/);
    expect((await folder.run("jobs", "archive", id)).stdout).toContain("was already archived");
    server.signal("SIGTERM");
    expect(await server.exit()).toBe(0);
  },
);

it(
  "shows what an agent asks, and takes the answer to it while the server runs",
  async () => {
    await using folder = await ServiceFolder.open(AGENTS);
    const agent = agentFile("acp-agent");
    const steps = JSON.stringify([{ permission: "execute", title: "npm test" }]);
    const settings = parse(readFileSync(folder.dir.file("service.yml"), "utf8")) as { projects: object[] };
    folder.change({
      projects: settings.projects.map((project) => ({
        ...project,
        agent: {
          kind: "acp",
          command: [process.execPath, agent, steps],
          permissions: "ask",
          readable: [agent],
        },
      })),
    });
    const server = await folder.serve();
    const key = await keyOf(folder, "quick");
    const { id } = await created(server, "quick", key);
    await server.wrote(/the agent asks/);
    const { stdout: asking } = await folder.run("jobs", "show", id);
    const question = /asks, question (q-\w+):\n +May the agent do this\? npm test/.exec(asking)?.[1] ?? "";
    expect(await folder.run("jobs", "answer", id, question, "yes")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("1 (allow_always), 2 (allow_once), 3 (reject_once)") as string,
    });
    expect(await folder.run("jobs", "answer", id, question, "2")).toEqual({
      code: 0,
      stdout: `Answered question ${question} of job ${id}.\n`,
      stderr: "",
    });
    await until(server, "quick", key, id, "completed");
    const { stdout: shown } = await folder.run("jobs", "show", id);
    expect(shown).toMatch(/asks: May the agent do this\? npm test\n +answered: allow_once/);
    expect((await folder.run("jobs", "answer", id, question, "2")).stderr).toContain("no question");
  },
  TIMEOUT_MS,
);

it(
  "loses no request and no command while many processes write at once",
  { tags: "nightly", timeout: TIMEOUT_MS },
  async () => {
    await using folder = await ServiceFolder.open(AGENTS);
    const server = await folder.serve();
    const key = await keyOf(folder, "quick");
    const requests = (async () => {
      const statuses: number[] = [];
      for (let n = 0; n < 60; n += 1) statuses.push((await create(server, "quick", key)).status);
      return statuses;
    })();
    const made = await Promise.all(
      Array.from({ length: 6 }, () => folder.run("keys", "create", "--project", "slow")),
    );
    expect(made.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(new Set(await requests)).toEqual(new Set([201]));
    const { stdout } = await folder.run("keys", "list");
    expect(stdout.match(/ slow /g)).toHaveLength(6);
  },
);

it(
  "stops gracefully, and runs what it stopped again after the next start; also after a kill",
  async ({ expect }) => {
    await using folder = await ServiceFolder.open(AGENTS);
    const key = await keyOf(folder, "slow");
    const first = await folder.serve();
    const { id } = await created(first, "slow", key);
    await first.wrote(/turn starts/);
    first.signal("SIGTERM");
    expect(await first.exit()).toBe(0);
    expect(first.stdout).toContain("turn stopped: it runs again after the next start");
    expect((await folder.run("jobs", "show", id)).stdout).toMatch(/status +active[\s\S]*turn 1: waiting/);

    const second = await folder.serve();
    // An attempt in which no agent ran doesn't count.
    const show = async () => (await folder.run("jobs", "show", id)).stdout;
    await expect.poll(show, { timeout: TIMEOUT_MS }).toContain("the agent is working");
    second.signal("SIGKILL");
    await second.exit();
    const third = await folder.serve();
    await third.wrote(/turn starts/);
    expect(await show()).toMatch(/turn 1: running, attempt 2/);
  },
  TIMEOUT_MS,
);

it("ends at once on a second signal", { tags: "all", timeout: TIMEOUT_MS }, async () => {
  await using folder = await ServiceFolder.open(AGENTS);
  const settings = readFileSync(folder.dir.file("service.yml"), "utf8");
  folder.configure({ ...(await import("yaml")).parse(settings), stopGraceMinutes: 60 });
  const key = await keyOf(folder, "slow");
  const server = await folder.serve();
  await created(server, "slow", key);
  await server.wrote(/turn starts/);
  server.signal("SIGINT");
  await server.wrote(/"msg":"stopping"/);
  expect(await endedBy(() => server.signal("SIGINT"), server.exit())).toBe(1);
});

it("shows no key in its log", { tags: "nightly", timeout: TIMEOUT_MS }, async () => {
  await using folder = await ServiceFolder.open(AGENTS, { LANG: "C" });
  const settings = readFileSync(folder.dir.file("service.yml"), "utf8");
  folder.configure({ ...(await import("yaml")).parse(settings), logLevel: "debug" });
  const key = await keyOf(folder, "quick");
  const server = await folder.serve();
  const { id } = await created(server, "quick", key);
  await until(server, "quick", key, id, "completed");
  await create(server, "quick", `${key}x`);
  server.signal("SIGTERM");
  await server.exit();
  expect(server.stdout).toContain("request answered");
  expect(server.stdout + server.stderr).not.toContain(key);
});

it(
  "works without a state, helps, and says what is wrong",
  async () => {
    await using folder = await ServiceFolder.open(AGENTS);
    expect(await folder.run("jobs", "list")).toEqual({
      code: 0,
      stdout: "There are no such jobs.\n",
      stderr: "",
    });
    expect((await folder.run("keys", "list")).stdout).toContain("There are no keys");
    const { code, stdout } = await folder.run("--help");
    expect(code).toBe(0);
    for (const word of ["serve", "keys", "jobs", "config", "--config", "SERVICE_CONFIG", "SIGTERM"]) {
      expect(stdout).toContain(word);
    }
    const lines = stdout.replaceAll(/ +/g, " ");
    const operations = Object.values(routes).flatMap((route) =>
      typeof route !== "string" && route.path.startsWith(ROOT) ? [route] : [],
    );
    expect(operations.length).toBeGreaterThan(9);
    for (const { method, path } of operations) {
      expect(lines).toContain(`\n ${method.toUpperCase()} ${path.slice(ROOT.length)} `);
    }
    expect((await folder.run("keys", "create", "--project", "nope")).stderr).toContain(
      "Known: quick, slow, broken",
    );
    expect((await folder.run("jobs", "list", "--project", "nope")).stderr).toContain(
      "Known: quick, slow, broken",
    );
    expect(await folder.run("keys", "create")).toMatchObject({ code: 2 });
    expect(await folder.run("jobz")).toEqual({
      code: 2,
      stdout: "",
      stderr: "error: unknown command 'jobz'\n(Did you mean jobs?)\n(--help shows the commands)\n",
    });
    expect(await folder.run("serve", "keys")).toMatchObject({ code: 2, stdout: "" });
    const { version } = z
      .object({ version: z.string() })
      .parse(JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")));
    expect(await folder.run("--version")).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
    const missing = await folder.run("config", "check", "--config", "nope.yml");
    expect(missing).toMatchObject({ code: 1, stdout: "" });
    expect(missing.stderr).toContain("service.example.yml");
    expect(missing.stderr).not.toMatch(/\bat .*\.ts:\d/);
  },
  TIMEOUT_MS,
);

it(
  "stops also while somebody holds its socket with half a command, or with nothing",
  { tags: "all", timeout: TIMEOUT_MS },
  async () => {
    await using folder = await ServiceFolder.open(AGENTS);
    const server = await folder.serve();
    const path = folder.dir.file("data/control.sock");
    const callers = ["", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"].map((sent) => {
      const socket = connect(path, () => socket.write(sent)).on("error", () => {});
      return socket;
    });
    await Promise.all(callers.map((socket) => once(socket, "connect")));
    server.signal("SIGTERM");
    expect(await server.exit()).toBe(0);
    for (const socket of callers) socket.destroy();
  },
);
