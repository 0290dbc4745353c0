// @module-tag all

import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { KeptSessions } from "../../../src/service/runner/workspace/kept-sessions.ts";
import { LaterClock } from "../../../world/clock/later-clock.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { atNight } from "../../support/nightly.ts";
import { openRunnerWorld } from "../../support/runner-world.ts";
import { ask, keptJobs, sessionProject, toldOf } from "../../support/session-agent.ts";
import { openTempDir } from "../../support/temp-dir.ts";

const DAY_MS = 24 * 60 * 60_000;
const PULL_REQUEST = { kind: "pull-request" };
/** Nobody can close a folder to root. */
const IS_ROOT = process.getuid?.() === 0;

it.each(atNight(["required", "none"] as const, ["required"]))(
  "touches nothing that a HOME's links lead to (containment: %s)",
  async (containment) => {
    await using world = await openRunnerWorld({ remote: "folder", containment });
    const outside = world.dir.file("outside");
    await mkdir(`${outside}/folder`, { recursive: true });
    await writeFile(`${outside}/folder/file`, "mine");
    await chmod(outside, 0o500);
    const links = [".cache", ".npm", "link"].map((name) => `fs.symlinkSync("${outside}", home + "/${name}")`);
    const project = sessionProject(world, { resume: true });
    expect(await ask(world, project, `js: ${links.join("; ")}`)).toMatchObject(PULL_REQUEST);
    expect(await ask(world, project, "Second", "First")).toMatchObject(PULL_REQUEST);
    expect(await toldOf(world)).toMatchObject({ how: "session/resume" });
    expect(await readFile(`${outside}/folder/file`, "utf8")).toBe("mine");
    expect((await stat(outside)).mode & 0o777).toBe(0o500);
    await chmod(outside, 0o700);
  },
);

it.each([
  ["closed its HOME", `fs.chmodSync(home, 0)`, "session/resume"],
  [
    "closed a folder in it",
    `fs.mkdirSync(home + "/x/y", { recursive: true }); fs.chmodSync(home + "/x", 0)`,
    IS_ROOT ? "session/resume" : "new",
  ],
  [
    "closed a folder of its cache",
    `fs.mkdirSync(home + "/.cache/y", { recursive: true }); fs.chmodSync(home + "/.cache", 0)`,
    "session/resume",
  ],
  ["filled it", `fs.writeFileSync(home + "/big", Buffer.alloc(257 * 1024 * 1024))`, "new"],
  [
    "nested folders deep in it",
    `process.chdir(home); for (let i = 0; i < 3000; i++) { fs.mkdirSync("dddddddddd"); process.chdir("dddddddddd"); } process.chdir(home)`,
    "session/resume",
  ],
])("is not harmed by an agent that %s", async (_what, act, how) => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const project = sessionProject(world, { resume: true });
  const first = `late: ${act}`;
  expect(await ask(world, project, first)).toMatchObject(PULL_REQUEST);
  expect(await keptJobs(world)).toEqual(how === "new" ? [] : ["job1"]);
  expect(await ask(world, project, "Second", first)).toMatchObject(PULL_REQUEST);
  expect(await toldOf(world)).toMatchObject({ how });
  // No session is left of a turn that fails.
  expect(await ask(world, project, "give up", first, "Second")).toMatchObject({ kind: "failed" });
  expect(await readdir(world.dir.file("data/worktrees"))).toEqual([]);
  expect(await keptJobs(world)).toEqual([]);
});

it("keeps nothing of an agent that does not offer to resume, of a job's first turn that failed, and of a command", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  await ask(world, sessionProject(world, {}), "First");
  await ask(world, sessionProject(world, { resume: true }), "give up");
  await world.run(world.project(["sh", "-c", "echo x > docs/x.md; echo x > $HOME/x"]), { jobId: "job2" });
  expect(await keptJobs(world)).toEqual([]);
});

it("keeps a session for a week, also over a restart", async () => {
  const clock = new LaterClock();
  await using world = await openRunnerWorld({ remote: "folder", clock });
  const project = sessionProject(world, { resume: true });
  await ask(world, project, "First");
  clock.laterMs = 6 * DAY_MS;
  world.restart();
  await world.upkeep([project]);
  await ask(world, project, "Second", "First");
  expect(await toldOf(world)).toMatchObject({ how: "session/resume" });
  clock.laterMs = 13 * DAY_MS + 60_000;
  await world.upkeep([project]);
  expect(await keptJobs(world)).toEqual([]);
  await ask(world, project, "Third", "First", "Second");
  expect(await toldOf(world)).toMatchObject({ how: "new" });
});

it("removes at its start what a crash left by half, or what it can't read", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const project = sessionProject(world, { resume: true });
  await ask(world, project, "First");
  const sessions = world.dir.file("data/sessions");
  const note = await readFile(`${sessions}/job1/note.json`, "utf8");
  const files = {
    "no-home": note,
    "no-note": null,
    torn: note.slice(0, 20),
    later: note.replace(`"version":1`, `"version":2`),
    ".7": note,
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(`${sessions}/${name}${name === "no-home" ? "" : "/home/closed"}`, { recursive: true });
    if (name !== "no-home") await chmod(`${sessions}/${name}/home/closed`, 0);
    if (text !== null) await writeFile(`${sessions}/${name}/note.json`, text);
  }
  world.restart();
  await world.upkeep([project]);
  expect(await keptJobs(world)).toEqual(["job1"]);
});

it("shows no agent what was kept of others", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const project = sessionProject(world, { resume: true });
  await ask(world, project, `js: fs.writeFileSync(home + "/mine", "mine")`);
  const sessions = world.dir.file("data/sessions");
  expect((await stat(sessions)).mode & 0o777).toBe(0o700);
  expect(await readdir(`${sessions}/job1/home`)).toContain("mine");
  const look = `js: fs.writeFileSync("docs/look.md", fs.existsSync("${sessions}") + " " + fs.readdirSync(home).length)`;
  await world.run(project, { jobId: "job2", prompt: look });
  expect(await world.show("docs/look.md", "docs-agent/job2")).toBe("false 0");
});

it("removes the sessions that were kept first when all together take too much", async () => {
  await using dir = await openTempDir();
  const clock = new ManualClock();
  const limits = { sessionBytes: 1024 ** 2, allBytes: 2.5 * 1024 ** 2 };
  const sessions = new KeptSessions(dir.file("sessions"), clock, limits);
  await sessions.open(dir.file("trash"));
  async function keep(jobId: string): Promise<boolean> {
    await mkdir(dir.file("home"), { recursive: true });
    await writeFile(dir.file("home/file"), Buffer.alloc(900 * 1024, 1));
    clock.advance(1000);
    return sessions.keep(jobId, "agent", { id: jobId, costUsd: null, turns: 1 }, dir.file("home"));
  }
  for (const jobId of ["one", "two", "one", "three"]) expect(await keep(jobId)).toBe(true);
  // "one" was kept again after "two".
  expect((await readdir(dir.file("sessions"))).toSorted()).toEqual(["one", "three"]);

  const next = new KeptSessions(dir.file("sessions"), clock, limits);
  await next.open(dir.file("trash"));
  await mkdir(dir.file("home"));
  expect(await next.take("two", "agent", 1, dir.file("home"))).toBeNull();
  expect(await next.take("one", "agent", 1, dir.file("home"))).toMatchObject({ id: "one" });
  expect(await readdir(dir.file("sessions"))).toEqual(["three"]);
});
