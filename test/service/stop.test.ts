import { readFile, readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { z } from "zod";
import { atNight } from "../support/nightly.ts";
import { ServiceFolder, type ServiceProcess } from "../support/service-process.ts";

const ACP_AGENT = fileURLToPath(new URL("../fixtures/agents/acp-agent.mjs", import.meta.url));
const AGENTS = {
  command: { kind: "command", command: ["sleep", "600"] },
  acp: { kind: "acp", command: ["node", ACP_AGENT, '[{"hang":true}]'], readable: [ACP_AGENT] },
};
const Created = z.object({ id: z.string() });

/** Everything that a process has started, directly or not, the youngest first. */
async function descendantsOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = threads.map((thread) =>
    readFile(`/proc/${pid}/task/${thread}/children`, "utf8").catch(() => ""),
  );
  const children = (await Promise.all(lists)).flatMap((list) => list.split(" ").filter((id) => id !== ""));
  const below = await Promise.all(
    children.map(async (id) => [...(await descendantsOf(Number(id))), Number(id)]),
  );
  return below.flat();
}

const ALL = [
  { kind: "command", first: "agents" },
  { kind: "acp", first: "service" },
  { kind: "command", first: "service" },
  { kind: "acp", first: "agents" },
] as const;

it.each(atNight(ALL, ALL.slice(0, 1)))(
  "runs a turn again after the next start if its agent was stopped with the service ($kind, $first first)",
  async ({ kind, first }) => {
    await using folder = await ServiceFolder.open({ docs: ["true"] });
    const project = { id: "docs", repository: "./docs-repository", codeHost: { kind: "none" } };
    folder.change({ stopGraceMinutes: 1, projects: [{ ...project, agent: AGENTS[kind] }] });
    const { stdout } = await folder.run("keys", "create", "--project", "docs");
    const server = await folder.serve();
    const id = await create(server, stdout.trim());
    await server.wrote(/turn starts/);
    await untilRunning(folder, id);

    const agents = await descendantsOf(server.pid);
    expect(agents.length).toBeGreaterThan(0);
    for (const pid of first === "agents" ? [...agents, server.pid] : [server.pid, ...agents]) end(pid);
    expect(await server.exit()).toBe(0);
    expect(server.stdout).toContain("turn stopped: it runs again after the next start");
    expect((await folder.run("jobs", "show", id)).stdout).toMatch(/turn 1: waiting\n/);

    const again = await folder.serve();
    await again.wrote(/turn starts/);
  },
  120_000,
);

async function create(server: ServiceProcess, key: string): Promise<string> {
  const response = await fetch(`${server.url}/v2/agent/docs/job`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: '{"prompt":"Fix the FAQ"}',
  });
  return Created.parse(await response.json()).id;
}

async function untilRunning(folder: ServiceFolder, id: string): Promise<void> {
  while (!(await folder.run("jobs", "show", id)).stdout.includes("the agent is working")) await sleep(100);
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch {
    // It went with one that was ended before.
  }
}
