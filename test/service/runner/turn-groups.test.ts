import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openTurnGroups } from "../../../src/service/runner/workspace/sandbox/turn-groups.ts";
import { inlineAgent } from "../../support/runner-world.ts";
import { ServiceFolder } from "../../support/service-process.ts";

/** Where cgroup v2 can be written to here, and what it can bound. */
function writableGroups(): { folder: string; own: string; controllers: string[] } | null {
  const [, mount] = /^\S+ (\S+) cgroup2 /m.exec(readFileSync("/proc/mounts", "utf8")) ?? [];
  const [, own] = /^0::(.+)$/m.exec(readFileSync("/proc/self/cgroup", "utf8")) ?? [];
  if (mount === undefined || own === undefined) return null;
  const offered = readFileSync(join(mount, "cgroup.controllers"), "utf8").trim().split(/\s+/);
  const controllers = ["memory", "pids", "hugetlb"].filter((name) => {
    if (!offered.includes(name)) return false;
    try {
      writeFileSync(join(mount, "cgroup.subtree_control"), `+${name}`);
      return true;
    } catch {
      return false;
    }
  });
  return { folder: mount, own: join(mount, own), controllers };
}

const groups = writableGroups();

/** A group as systemd makes it for a unit with `Delegate=` and `DelegateSubgroup=`. This process, and all that it starts, is in it. */
function enterUnit(): Disposable & { folder: string } {
  if (groups === null) throw new Error("No control groups here");
  const folder = join(groups.folder, `test-${randomBytes(6).toString("hex")}.service`);
  const service = join(folder, "service");
  mkdirSync(service, { recursive: true });
  writeFileSync(join(service, "cgroup.procs"), "0");
  return {
    folder,
    [Symbol.dispose]: () => {
      writeFileSync(join(groups.own, "cgroup.procs"), "0");
      for (const name of readdirSync(folder)) if (name !== "service") tryRemove(join(folder, name));
      tryRemove(service);
      tryRemove(folder);
    },
  };
}

function tryRemove(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // A file of the kernel's, or a group that the test has to complain of by itself.
  }
}

async function openFolder(agent: string, limits: object): Promise<ServiceFolder> {
  const command = inlineAgent(agent);
  const folder = await ServiceFolder.open({ docs: command });
  folder.change({
    projects: [
      {
        id: "docs",
        repository: "./docs-repository",
        agent: { kind: "command", command, limits },
        codeHost: { kind: "none" },
      },
    ],
  });
  return folder;
}

async function runTurn(folder: ServiceFolder): Promise<{ record: unknown; log: string }> {
  const key = (await folder.run("keys", "create", "--project", "docs")).stdout.trim();
  const service = await folder.serve();
  const headers = { authorization: `Bearer ${key}`, "docs-agent-capabilities": "docs-agent/1" };
  const made = await fetch(`${service.url}/v2/agent/docs/job`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ prompt: "Fix it" }),
  });
  const { id } = (await made.json()) as { id: string };
  let record: { status?: string } = {};
  await expect
    .poll(
      async () => {
        const got = await fetch(`${service.url}/v2/agent/docs/job/${id}`, { headers });
        record = (await got.json()) as { status: string };
        return record.status;
      },
      { timeout: 30_000, interval: 100 },
    )
    .not.toBe("active");
  return { record, log: service.stdout };
}

it.skipIf(groups === null || groups.controllers.length === 0)(
  "kills all that is in a group, and removes it, also what an earlier service left",
  async () => {
    using unit = enterUnit();
    const left = join(unit.folder, "turn-9");
    mkdirSync(left);
    const stranger = spawn("sleep", ["600"], { stdio: "ignore" });
    writeFileSync(join(left, "cgroup.procs"), String(stranger.pid));
    const strangerEnded = once(stranger, "exit");

    const opened = await openTurnGroups(groups?.controllers.slice(0, 1));
    expect(await strangerEnded).toEqual([null, "SIGKILL"]);
    const group = await opened?.open({ memoryMegabytes: 1024, processes: 64, diskMegabytes: 64 });
    const procs = group?.procs ?? "";
    const member = spawn("/bin/sh", ["-c", 'echo 0 > "$0"; setsid sleep 600 & sleep 600', procs]);
    const memberEnded = once(member, "exit");
    await expect.poll(() => readFileSync(procs, "utf8").trim().split("\n").length).toBeGreaterThan(2);
    expect(await group?.ranOutOfMemory()).toBe(false);
    await group?.[Symbol.asyncDispose]();
    expect(await memberEnded).toEqual([null, "SIGKILL"]);
    expect(readdirSync(unit.folder).filter((name) => name.startsWith("turn-"))).toEqual([]);
  },
  30_000,
);

it.skipIf(groups === null)("finds no groups to divide where systemd gave none", async () => {
  expect(await openTurnGroups(["memory", "pids", "hugetlb"])).toBeNull();
});

/** Processes that hold on, until there are so many or no more can be started. */
const SPAWN_MANY = `
  const { spawn } = await import("node:child_process");
  let refused = 0;
  for (let count = 0; count < 60; count += 1) {
    const child = spawn("sleep", ["60"], { stdio: "ignore" });
    if (await new Promise((resolve) => { child.once("error", () => resolve(true)); child.once("spawn", () => resolve(false)); })) refused += 1;
  }
  fs.writeFileSync("docs/refused.md", String(refused));
  console.log("refused " + refused);
  process.exit(0);
`;

it.skipIf(!groups?.controllers.includes("pids"))(
  "bounds the processes of a turn by a control group, as root too, and removes it",
  async () => {
    using unit = enterUnit();
    await using folder = await openFolder(SPAWN_MANY, { processes: 40 });
    const left = join(unit.folder, "turn-of-an-earlier-service");
    mkdirSync(left);
    const { record, log } = await runTurn(folder);
    expect(log).toMatch(
      /agents run in a sandbox.*"processes":"cgroup"|"processes":"cgroup".*agents run in a sandbox/,
    );
    const [, refused] = /refused (\d+)/.exec(JSON.stringify(record)) ?? [];
    expect(Number(refused)).toBeGreaterThan(20);
    const turns = () => readdirSync(unit.folder).filter((name) => name.startsWith("turn-"));
    await expect.poll(turns, { timeout: 10_000 }).toEqual([]);
  },
  60_000,
);

const FILL_MEMORY = `
  const { spawnSync, spawn } = await import("node:child_process");
  const hold = "const kept = Buffer.alloc(2 ** 28).fill(1); setTimeout(() => console.log(kept.length), 60000)";
  const ended = Promise.withResolvers();
  for (let count = 0; count < 8; count += 1) spawn(process.execPath, ["-e", hold], { stdio: "ignore" }).once("exit", ended.resolve);
  const kept = Buffer.alloc(2 ** 28).fill(1);
  await ended.promise;
  process.kill(process.pid, "SIGKILL");
`;

it.skipIf(!groups?.controllers.includes("memory"))(
  "bounds the memory of all processes of a turn together, and says so",
  async () => {
    using _unit = enterUnit();
    await using folder = await openFolder(FILL_MEMORY, { memoryMegabytes: 1024 });
    const { record, log } = await runTurn(folder);
    expect(log).toContain('"memory":"cgroup"');
    expect(JSON.stringify(record)).toContain("needed more than its limit of 1024 MB of memory");
  },
  60_000,
);
