// @module-tag all

import { spawn } from "node:child_process";
import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { openRunnerFolders, removeFolder, sweep } from "../../../src/service/runner/workspace/folders.ts";
import { processesOf } from "../../support/processes-of.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { inlineAgent, openRunnerWorld, START_FILES } from "../../support/runner-world.ts";
import { openTempDir } from "../../support/temp-dir.ts";

it("removes worktrees and ends agents that an earlier process left", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const agents = world.dir.file("data/agents");
  await mkdir(agents, { recursive: true });
  await mkdir(world.dir.file("data/worktrees/old/tree/closed"), { recursive: true, mode: 0o700 });
  const agent = spawn("sleep", ["3573"], { detached: true, stdio: "ignore" });
  const ended = once(agent, "exit");
  const stat = await readFile(`/proc/${agent.pid}/stat`, "utf8");
  const startedAt = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  await writeFile(`${agents}/old.json`, JSON.stringify({ pid: agent.pid, startedAt }));
  // Another process's by now: it must live.
  const other = spawn("sleep", ["3574"], { detached: true, stdio: "ignore" });
  await writeFile(`${agents}/other.json`, JSON.stringify({ pid: other.pid, startedAt: "1" }));
  await writeFile(`${agents}/torn.json`, '{"pid":');

  await world.run(world.project(inlineAgent("")));
  expect(await ended).toEqual([null, "SIGKILL"]);
  expect(other.exitCode ?? other.signalCode).toBeNull();
  other.kill("SIGKILL");
  expect(await readdir(agents)).toEqual([]);
  expect(await readdir(world.dir.file("data/worktrees"))).toEqual([]);
  expect(await readdir(world.dir.file("data/trash"))).toEqual([]);
});

it("moves what an earlier process left out of the way, to be removed later", async () => {
  await using dir = await openTempDir();
  const folders = await openRunnerFolders(dir.path);
  await mkdir(`${folders.worktrees}/closed/tree`, { recursive: true });
  await chmod(`${folders.worktrees}/closed`, 0o000);
  await mkdir(`${folders.scratch}/job1-x`);
  await mkdir(`${folders.trash}/left-earlier`);

  const removeLeftovers = await sweep(folders, new RecordingLogger());
  expect([await readdir(folders.worktrees), await readdir(folders.scratch)]).toEqual([[], []]);
  expect(await readdir(folders.trash)).toHaveLength(3);
  await removeLeftovers();
  expect(await readdir(folders.trash)).toEqual([]);
});

it("leaves no agent running that can't be noted for the time after a crash", async () => {
  await using world = await openRunnerWorld({ containment: "none" });
  const note = world.dir.file("data/agents/job1.json");
  const mark = randomUUID();
  const agent = inlineAgent(`setInterval(() => {}, 1000); // ${mark}`);
  // Nothing can be written there, as on a full disk.
  const onLine = () => mkdirSync(note, { recursive: true });
  const run = world.run(world.project(agent), { onLine });
  await expect(run).rejects.toMatchObject({ code: "transient_run" });
  expect(await processesOf(mark)).toEqual([]);
});

it("does not wait for a folder that an agent closed", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const agent = inlineAgent(
    `fs.mkdirSync("docs/closed"); fs.writeFileSync("docs/closed/a.md", "a"); fs.chmodSync("docs/closed", 0);`,
  );
  await world.run(world.project(agent));
  expect(await readdir(world.dir.file("data/worktrees"))).toEqual([]);
});

it("runs turns of several jobs of a project at once", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const project = world.project(inlineAgent(`fs.writeFileSync("docs/a.md", "a")`));
  const results = await Promise.all(["j1", "j2", "j3"].map((jobId) => world.run(project, { jobId })));
  expect(results.map(({ kind }) => kind)).toEqual(["pull-request", "pull-request", "pull-request"]);
  expect(await world.branches()).toEqual(["docs-agent/j1", "docs-agent/j2", "docs-agent/j3", "main"]);
});

it("runs no job whose id can't name a branch and a folder", async () => {
  await using world = await openRunnerWorld({ containment: "none" });
  for (const jobId of ["", "..", "a/b", "-x", "a..b", "x.lock", "a b"]) {
    const result = await world.run(world.project(inlineAgent("")), { jobId });
    expect({ jobId, ...result }).toMatchObject({ jobId, kind: "failed" });
  }
});

it.runIf(process.platform === "linux")(
  "holds no file open of a tree whose turn was aborted while it was filled",
  { tags: "nightly" },
  async () => {
    const big = "docs/big.txt";
    await using world = await openRunnerWorld({
      files: { ...START_FILES, [big]: "x".repeat(32 * 1024 * 1024) },
    });
    const abort = new AbortController();
    const run = world.run(world.project(inlineAgent("")), { signal: abort.signal });
    const ended = run.catch((error: unknown) => error);
    while (!existsSync(world.dir.file(`data/worktrees/job1/tree/${big}`))) await sleep(1);
    abort.abort(new Error("archived"));
    expect(await ended).toMatchObject({ message: "archived" });
    const open: string[] = [];
    for (const fd of await readdir("/proc/self/fd")) {
      open.push(await readlink(`/proc/self/fd/${fd}`).catch(() => ""));
    }
    expect(open.filter((path) => path.startsWith(world.dir.path))).toEqual([]);
  },
);

it("removes any number of files without asking for all of it at once", async () => {
  await using dir = await openTempDir();
  const folder = dir.file("home");
  mkdirSync(folder);
  for (let count = 0; count < 3000; count += 1) writeFileSync(join(folder, String(count)), "");
  let most = 0;
  const look = setInterval(() => (most = Math.max(most, process.getActiveResourcesInfo().length)), 5);
  await removeFolder(folder);
  clearInterval(look);
  expect(existsSync(folder)).toBe(false);
  expect(most).toBeLessThan(1000);
});
