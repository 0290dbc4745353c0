// @module-tag all

import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { NoteFiles } from "../../src/service/jobs/note-files.ts";
import { newLease } from "../../src/service/runners/lease.ts";
import { OwnRunner } from "../../src/service/own-runner.ts";
import { createSystemClock } from "../../src/shared/machine/clock-and-log.ts";
import { lastRunOnThread } from "../../src/service/runner/link/thread-note.ts";
import { processStat } from "../../src/service/runner/workspace/process-group.ts";
import { makeServiceProject } from "../support/service-project.ts";
import { atNight } from "../support/nightly.ts";
import { processesOf } from "../support/processes-of.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { inlineAgent } from "../support/runner-world.ts";
import { ServiceFolder, type ServiceProcess } from "../support/service-process.ts";
import { openTempDir } from "../support/temp-dir.ts";
import { PATIENT } from "../support/patient.ts";

const Created = z.object({ id: z.string() });
const Job = z.object({
  status: z.string(),
  turns: z.array(z.object({ outcome: z.string().nullable(), reason: z.string().nullable() })),
});
const EDIT = inlineAgent(`fs.appendFileSync("docs/index.md", "more\\n");`);

/** An ACP agent that opens a session and then does something. */
function acpAgent(then: string): string[] {
  return inlineAgent(`
    import { createInterface } from "node:readline";
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    const input = createInterface({ input: process.stdin });
    input.on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (method === "initialize") send({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
      if (method === "session/new") send({ id, result: { sessionId: "s" } });
      if (method !== "session/prompt") return;
      ${then}
    });
    setInterval(() => {}, 1000);
  `);
}

/** Writes the same line without end, and reads nothing. `message` is its code. */
function flood(message: string): string[] {
  return acpAgent(`
    input.pause();
    const lines = Buffer.from((JSON.stringify(${message}) + "\\n").repeat(1000));
    for (let at = 0; ; at %= lines.length) {
      try { at += fs.writeSync(1, lines, at); } catch (error) { if (error.code !== "EAGAIN") process.exit(1); }
    }
  `);
}

type ServiceOptions = {
  kinds?: Record<string, string>;
  containment?: string;
  programs?: string;
  preloaded?: string;
};

/**
 * The service with a project for each agent. `programs`: a folder whose programs it finds before all others. `preloaded`: a module
 * that its processes load first.
 */
async function openService(
  agents: Record<string, string[]>,
  { kinds = {}, containment = "required", programs, preloaded }: ServiceOptions = {},
) {
  const stack = new AsyncDisposableStack();
  const { PATH = "" } = process.env;
  const env = {
    NODE_OPTIONS: `--max-old-space-size=512${preloaded === undefined ? "" : ` --import=${preloaded}`}`,
    PATH: programs === undefined ? PATH : `${programs}:${PATH}`,
  };
  const folder = stack.use(await ServiceFolder.open(agents, env));
  const projects = Object.entries(agents).map(([id, command]) => ({
    id,
    repository: "./docs-repository",
    agent: { kind: kinds[id] ?? "command", command },
    codeHost: { kind: "none" },
  }));
  folder.change({ containment, projects });
  const keys: Record<string, string> = {};
  for (const id of Object.keys(agents)) {
    keys[id] = (await folder.run("keys", "create", "--project", id)).stdout.trim();
  }
  const service = await folder.serve();
  const request = (project: string, path = "", body: object | null = null) =>
    fetch(`${service.url}/v2/agent/${project}/job${path}`, {
      method: body === null ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${keys[project]}`,
        "content-type": "application/json",
        "docs-agent-capabilities": "docs-agent/1",
      },
      ...(body !== null && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
  const ask = async (...asked: Parameters<typeof request>) => (await request(...asked)).json();
  return {
    folder,
    service,
    request,
    create: async (project: string) => Created.parse(await ask(project, "", { prompt: "Fix it" })).id,
    job: async (project: string, id: string) => Job.parse(await ask(project, `/${id}`)),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
  return text.trim() === "" ? [] : text.trim().split(" ").map(Number);
}

async function runnerOf(service: ServiceProcess): Promise<number> {
  return await vi.waitUntil(async () => (await childrenOf(service.pid))[0], PATIENT);
}

async function isGone(pid: number): Promise<boolean> {
  return (await processStat(pid))?.isRunning !== true;
}

async function peakMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

const update = (text: string) =>
  `{ jsonrpc: "2.0", method: "session/update", params: { sessionId: "s", update: {
    sessionUpdate: "agent_message_chunk", content: { type: "text", text: ${text} } } } }`;

const REQUESTS = ["requests", '{ jsonrpc: "2.0", id: 1, method: "x" }', "without waiting for answers"];
const UPDATES = ["updates", update(`"line" + String.fromCharCode(10)`), "output limit"];
const LARGE_UPDATES = ["large updates", update(`"x".repeat(50_000)`), "output limit"];

it.each(atNight([REQUESTS, UPDATES, LARGE_UPDATES], [REQUESTS, LARGE_UPDATES]))(
  "holds out against an agent's flood of %s, and so do other projects' jobs",
  async (_, message, reason) => {
    await using subject = await openService({ bad: flood(message), good: EDIT }, { kinds: { bad: "acp" } });
    const { service } = subject;
    const id = await subject.create("bad");
    const other = await subject.create("good");
    await vi.waitUntil(async () => (await subject.job("good", other)).status !== "active", PATIENT);
    await vi.waitUntil(async () => (await subject.job("bad", id)).status !== "active", PATIENT);
    expect((await subject.job("good", other)).turns[0]?.outcome).toBe("branch");
    expect((await subject.job("bad", id)).turns[0]).toMatchObject({
      outcome: "failed",
      reason: expect.stringContaining(reason) as string,
    });
    expect(service.stdout).not.toContain("the runner ended");
    expect(await peakMegabytes(service.pid)).toBeLessThan(250);
  },
  120_000,
);

it.each(atNight(["required", "none"], ["none"]))(
  "runs a turn again whose runner was killed, and leaves nothing of it behind: containment %s",
  async (containment) => {
    const seconds = `3582.${randomInt(1e9, 1e10)}`;
    const agent = inlineAgent(`
      const { spawn } = await import("node:child_process");
      if (fs.existsSync("docs/second.md")) process.exit();
      spawn("sleep", ["${seconds}"], { detached: true, stdio: "ignore" });
      setInterval(() => {}, 1000);
    `);
    await using subject = await openService({ docs: agent, good: EDIT }, { containment });
    const { service } = subject;
    const id = await subject.create("docs");
    const left = () => processesOf(`sleep ${seconds}`);
    for (let death = 1; death <= 5; death += 1) {
      await vi.waitUntil(async () => (await left()).length === 1, PATIENT);
      const [pid = ""] = await left();
      process.kill(await runnerOf(service), "SIGKILL");
      // The next attempt may have started its own before we look.
      await vi.waitUntil(async () => !(await left()).includes(pid), PATIENT);
    }
    await vi.waitUntil(async () => (await subject.job("docs", id)).status !== "active", PATIENT);
    expect((await subject.job("docs", id)).turns[0]).toMatchObject({
      outcome: "failed",
      reason: expect.stringContaining("broke down while it worked on this. Gave up after 5") as string,
    });
    const other = await subject.create("good");
    await vi.waitUntil(async () => (await subject.job("good", other)).status === "completed", PATIENT);
  },
  180_000,
);

it(
  "gives up a turn whose runner dies each of five times that it looks through what the agent left",
  { tags: "nightly", timeout: 120_000 },
  async () => {
    await using programs = await openTempDir();
    const counted = programs.file("agents");
    const agent = inlineAgent(`
    fs.appendFileSync("docs/index.md", "more\\n");
    fs.appendFileSync(${JSON.stringify(counted)}, "x");
  `);
    await using subject = await openService(
      { docs: agent },
      { containment: "none", programs: programs.path },
    );
    const { service } = subject;
    const { PATH = "" } = process.env;
    // Git takes in an agent's files with this command, and with no other.
    const deadly = `#!/bin/sh
case " $* " in *" hash-object "*) kill -KILL $PPID; exit 1 ;; esac
PATH=${JSON.stringify(PATH)} exec git "$@"
`;
    await writeFile(programs.file("git"), deadly, { mode: 0o755 });
    const id = await subject.create("docs");
    await vi.waitUntil(async () => (await subject.job("docs", id)).status !== "active", PATIENT);
    expect((await subject.job("docs", id)).turns[0]).toMatchObject({
      outcome: "failed",
      reason: expect.stringContaining("broke down while it worked on this. Gave up after 5") as string,
    });
    expect(await readFile(counted, "utf8")).toBe("xxxxx");
    expect(service.stdout.split("the runner ended").length - 1).toBe(5);
  },
);

it("gives up the turn whose code brings the runner down twice, and no turn beside it", async () => {
  await using dir = await openTempDir();
  const bad = acpAgent(`send(${update('"bring the runner down"')});`);
  const good = inlineAgent(`
    while (!fs.existsSync(${JSON.stringify(dir.file("go"))})) await new Promise((go) => setTimeout(go, 50));
    fs.appendFileSync("docs/index.md", "more\\n");
  `);
  await using subject = await openService(
    { bad, good },
    {
      kinds: { bad: "acp" },
      containment: "none",
      preloaded: new URL("../fixtures/crash-the-runner.mjs", import.meta.url).href,
    },
  );
  const { service } = subject;
  const other = await subject.create("good");
  await service.wrote(/turn starts/);
  const id = await subject.create("bad");
  await vi.waitUntil(async () => (await subject.job("bad", id)).status !== "active", PATIENT);
  expect((await subject.job("bad", id)).turns[0]).toMatchObject({
    outcome: "failed",
    reason: expect.stringContaining("broke down twice") as string,
  });
  expect(service.stdout.split("the runner ended").length - 1).toBe(2);
  await writeFile(dir.file("go"), "");
  await vi.waitUntil(async () => (await subject.job("good", other)).status === "completed", PATIENT);
  expect((await subject.job("good", other)).turns[0]).toMatchObject({ outcome: "branch" });
}, 120_000);

it.each([
  { holds: "1", run: 1 },
  { holds: "3", run: 3 },
])(
  "knows whose code holds the thread of a process that can't tell anymore ($run)",
  async ({ holds, run }) => {
    await using dir = await openTempDir();
    const program = fileURLToPath(new URL("../fixtures/on-the-thread.ts", import.meta.url));
    const child = spawn(process.execPath, [program, holds, dir.path], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [said] = (await once(child.stdout, "data")) as [Buffer];
    expect(String(said)).toBe("holds\n");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(lastRunOnThread(dir.path)).toBe(run);
  },
);

it("ends its runner when it is killed, and when it stops", async () => {
  await using subject = await openService({ docs: inlineAgent("setInterval(() => {}, 1000);") });
  const { service, folder } = subject;
  const runner = await runnerOf(service);
  await subject.create("docs");
  await vi.waitUntil(async () => (await childrenOf(runner)).length > 0, PATIENT);
  service.signal("SIGKILL");
  await vi.waitUntil(() => isGone(runner), PATIENT);
  const next = await folder.serve();
  const nextRunner = await runnerOf(next);
  next.signal("SIGTERM");
  expect(await next.exit()).toBe(0);
  await vi.waitUntil(() => isGone(nextRunner), PATIENT);
}, 120_000);

/** A client whose runner stands still as long as the test wants. */
async function openStoppedRunner(options: { pingEveryMs?: number; stopWithinMs?: number }) {
  const stack = new AsyncDisposableStack();
  const dir = stack.use(await openTempDir());
  const logger = new RecordingLogger();
  const config = {
    dataDir: dir.path,
    containment: "none",
    logLevel: "error",
    projects: [],
    jobsAtOnce: 2,
  } as const;
  const clock = createSystemClock();
  const client = new OwnRunner({ config: { ...config, projects: [] }, clock, logger, ...options });
  const notes = new NoteFiles(dir.path).of("job-1");
  stack.defer(() => client.close());
  await client.open();
  // Other tests' programs are children of this process, too, but only one of them is a runner.
  const runners = async () => {
    const [children, all] = await Promise.all([
      childrenOf(process.pid),
      processesOf("/runner/process/main.ts"),
    ]);
    return children.filter((pid) => all.includes(String(pid)));
  };
  const stopped = await vi.waitUntil(async () => (await runners())[0], PATIENT);
  process.kill(stopped, "SIGSTOP");
  return { client, notes, logger, runners, stopped, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

it("puts another runner in the place of one that hangs", async () => {
  await using subject = await openStoppedRunner({ pingEveryMs: 3_000 });
  const { client, logger, runners, stopped } = subject;
  const other = async () => (await runners()).find((pid) => pid !== stopped);
  await vi.waitUntil(other, PATIENT);
  await client.open();
  expect(await isGone(stopped)).toBe(true);
  expect(logger.text("error")).toContain("the runner ended: its turns run again");
}, 60_000);

it("leaves a diff and upkeep as soon as their signal ends, although the runner hangs", async () => {
  await using subject = await openStoppedRunner({});
  const { client, notes } = subject;
  const ending = new AbortController();
  const { signal } = ending;
  const project = makeServiceProject();
  const asked = [
    client.readDiff({ project, jobId: "job-1", head: null, notes, signal }),
    client.upkeep({ projects: [project], unfinished: new Set(), signal }),
  ];
  // The runner was told by now.
  await setImmediate();
  ending.abort(new Error("the time is up"));
  const ends = await Promise.allSettled(asked);
  expect(ends).toMatchObject(asked.map(() => ({ reason: { message: "the time is up" } })));
  await expect(client.readDiff({ project, jobId: "job-1", head: null, notes, signal })).rejects.toThrow(
    "is up",
  );
}, 60_000);

it("waits for a turn's agent to be gone, and kills a runner that doesn't stop it", async () => {
  await using subject = await openStoppedRunner({ stopWithinMs: 1_000 });
  const { client, notes, stopped } = subject;
  const ending = new AbortController();
  const turn = client.run({
    jobId: "job-1",
    number: 1,
    kind: "message",
    prompt: "Fix",
    words: null,
    requester: null,
    acceptedAt: 0,
    pullRequest: null,
    closedSeenAt: null,
    authors: null,
    attachments: [],
    earlierTurns: [],
    project: makeServiceProject(),
    usedBefore: null,
    notes,
    lease: { ...newLease("job-1.1.1"), onRenewed: () => {}, written: Promise.resolve(true) },
    signal: ending.signal,
    report: () => {},
    ask: async () => null,
  });
  await setImmediate();
  ending.abort(new Error("canceled"));
  await expect(turn).rejects.toThrow("canceled");
  expect(await isGone(stopped)).toBe(true);
}, 60_000);

it("answers and stops while its runner stands still", { tags: "nightly", timeout: 120_000 }, async () => {
  await using subject = await openService({ docs: inlineAgent("setInterval(() => {}, 1000);") });
  const { service } = subject;
  const id = await subject.create("docs");
  const runner = await runnerOf(service);
  await vi.waitUntil(async () => (await childrenOf(runner)).length > 0, PATIENT);
  process.kill(runner, "SIGSTOP");
  const begun = performance.now();
  expect((await subject.request("docs", `/${id}/diff`)).status).toBe(503);
  expect(performance.now() - begun).toBeLessThan(20_000);
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
  expect((await subject.request("docs", `/${id}/turn/1/cancel`, {})).status).toBe(200);
  expect((await subject.job("docs", id)).turns[0]).toMatchObject({ outcome: "cancelled" });
  service.signal("SIGTERM");
  expect(await service.exit()).toBe(0);
  await vi.waitUntil(() => isGone(runner), PATIENT);
});
