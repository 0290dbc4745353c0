// @module-tag all

import { mkdir, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { LaterClock } from "../../../world/clock/later-clock.ts";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";

const DAY_MS = 24 * 60 * 60_000;
const EDIT = inlineAgent(`fs.appendFileSync("README.md", "more\\n")`);

it("removes kept trees after a day, notes after a week, and mirrors of removed projects after a week", async () => {
  const clock = new LaterClock();
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, clock });
  const project = world.project(EDIT);
  const other = { ...world.project(EDIT), id: "other" };
  await world.run(project, { jobId: "ended" });
  await world.run(other, { jobId: "unfinished" });
  const kept = async () => {
    const folders = ["trees", "turns", "mirrors"].map((name) => readdir(world.dir.file(`data/${name}`)));
    return (await Promise.all(folders)).map((names) => names.length);
  };
  const upkeep = () => world.upkeep([project], new Set(["unfinished"]));

  await upkeep();
  expect(await kept()).toEqual([2, 2, 2]);
  clock.laterMs = DAY_MS + 1000;
  await upkeep();
  expect(await kept()).toEqual([0, 2, 2]);
  // What a crash left half written is removed, and not the job's note.
  await writeFile(world.dir.file("data/turns/ended.json.new"), "{");
  await writeFile(world.dir.file("data/turns/rewritten.json.new"), "{");
  clock.laterMs = 7 * DAY_MS + 1000;
  await writeFile(world.dir.file("data/turns/rewritten.json"), "{}");
  const soon = new Date(clock.now());
  await utimes(world.dir.file("data/turns/rewritten.json"), soon, soon);
  await upkeep();
  expect(await readdir(world.dir.file("data/turns"))).toContain("rewritten.json");
  await rm(world.dir.file("data/turns/rewritten.json"));
  // The project's own mirror stays.
  expect(await kept()).toEqual([0, 1, 1]);
  expect(await readdir(world.dir.file("data/turns"))).toEqual(["unfinished.json"]);
  expect(world.logger.text("info")).toContain("mirrors of removed projects removed");
  expect(await world.run(project, { jobId: "next" })).toMatchObject({ kind: "pull-request" });
});

it("removes the branches that were merged just as they are, and no others", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const project = world.project(EDIT);
  for (const jobId of ["merged", "added-to", "closed", "open", "unfinished"])
    await world.run(project, { jobId });
  const [merged, addedTo, closed, , unfinished] = world.pulls().map(({ number }) => String(number));
  await world.asPerson("PUT", `${merged}/merge`, { merge_method: "squash" });
  for (const number of [addedTo, unfinished]) {
    await world.asPerson("PUT", `${number}/merge`, { merge_method: "squash" }).catch(() => {});
  }
  await world.asPerson("PATCH", `${closed}`, { state: "closed" });
  await world.commitTo("docs-agent/added-to", { "docs/human.md": "mine\n" }, "by hand");
  // So that the mirror knows.
  await world.run(project, { jobId: "later" });
  const jobs = new Set(["unfinished"]);

  await world.upkeep([{ ...project, deleteMergedBranches: false }], jobs);
  expect(await world.branches()).toContain("docs-agent/merged");
  await world.upkeep([project], jobs);
  expect(await world.branches()).toEqual([
    "docs-agent/added-to",
    "docs-agent/closed",
    "docs-agent/later",
    "docs-agent/open",
    "docs-agent/unfinished",
    "main",
  ]);
  // A second time there is nothing to do, and nothing fails.
  await world.upkeep([project], jobs);
  expect(world.logger.text("warn")).not.toContain("merged branches");
});

it("keeps people's branches that begin as those of jobs do", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const { pullRequests } = world.project(EDIT);
  const project = world.project(EDIT, { pullRequests: { ...pullRequests, branchPrefix: "docs/" } });
  await world.run(project);
  expect(await world.branches()).toEqual(["docs/job1", "main"]);
  await world.inBare("branch", "docs/typo", "main");
  await world.commitTo("docs/typo", { "docs/human.md": "mine\n" }, "by hand");
  await world.asPerson("POST", "", { head: "docs/typo", base: "main", title: "Mine" });
  for (const number of [1, 2]) await world.asPerson("PUT", `${number}/merge`, { merge_method: "squash" });
  await world.upkeep([project]);
  expect(await world.branches()).toEqual(["docs/typo", "main"]);
});

it("removes no branch that somebody adds to between our looking and our removing", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const project = world.project(EDIT);
  await world.run(project);
  await world.asPerson("PUT", "1/merge", { merge_method: "squash" });
  // So that the mirror knows of it, as it is before the next commit.
  await world.run(project, { jobId: "later" });
  await world.commitTo("docs-agent/job1", { "docs/human.md": "mine\n" }, "by hand");
  await world.upkeep([project]);
  expect(await world.show("docs/human.md", "docs-agent/job1")).toBe("mine");
  expect(world.logger.text("warn")).not.toContain("merged branches");
});

it("goes on with the next branch where somebody else removed a merged one", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const project = world.project(EDIT);
  for (const jobId of ["job1", "job2"]) {
    await world.run(project, { jobId });
    const number = world.pulls().find(({ head }) => head === `docs-agent/${jobId}`)?.number;
    await world.asPerson("PUT", `${number}/merge`, { merge_method: "squash" });
  }
  await world.run(project, { jobId: "later" });
  await world.inBare("update-ref", "-d", "refs/heads/docs-agent/job1");
  await world.upkeep([project]);
  expect(await world.branches()).toEqual(["docs-agent/later", "main"]);
  expect(world.logger.text("warn")).not.toContain("merged branches");
});

it("packs a mirror that many objects came to", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const many = inlineAgent(
    `for (let i = 0; i < 900; i++) fs.writeFileSync("docs/" + i + ".md", "page " + i)`,
  );
  const project = world.project(many);
  await world.run(project);
  const [mirror] = await readdir(world.dir.file("data/mirrors"));
  const path = world.dir.file(`data/mirrors/${mirror}`);
  const loose = async () => Number((await world.git("-C", path, "count-objects")).split(" ")[0]);
  // So that they are on a branch that the mirror knows.
  await world.run(world.project(inlineAgent("")), { jobId: "job2" });
  expect(await loose()).toBeGreaterThan(900);
  // This one began when the settings had another prefix.
  const { pullRequests } = project;
  const before = { ...project, pullRequests: { ...pullRequests, branchPrefix: "docs/bot-" } };
  await world.run({ ...before, agent: world.project(EDIT).agent }, { jobId: "job0" });
  await world.upkeep([project, before]);
  expect(await loose()).toBeLessThan(100);
  const known = await world.git(
    "-C",
    path,
    "for-each-ref",
    "--format=%(refname:lstrip=3)",
    "refs/mirror/jobs",
  );
  expect(known.split("\n")).toEqual(["job0", "job1"]);
  expect(await world.run(world.project(EDIT), { jobId: "job3" })).toMatchObject({ kind: "pull-request" });
});

it("packs a mirror that could not be packed again only after a day", async () => {
  const clock = new LaterClock();
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, clock });
  const real = world.env["PATH"];
  const bin = world.dir.file("bin");
  const tries = world.dir.file("tries");
  await mkdir(bin);
  await writeFile(
    `${bin}/git`,
    `#!/bin/sh\ncase "$1" in gc) echo try >> '${tries}'; exit 1;; esac\nPATH='${real}' exec git "$@"\n`,
    { mode: 0o755 },
  );
  world.env["PATH"] = `${bin}:${real}`;
  const many = inlineAgent(
    `for (let i = 0; i < 900; i++) fs.writeFileSync("docs/" + i + ".md", "page " + i)`,
  );
  const project = world.project(many);
  await world.run(project);
  const tried = async () => (await readFile(tries, "utf8")).split("\n").length - 1;

  await world.upkeep([project]);
  expect(world.logger.text("warn")).toContain("mirror packed: failed");
  clock.laterMs = DAY_MS - 60_000;
  await world.upkeep([project]);
  expect(await tried()).toBe(1);
  clock.laterMs = DAY_MS + 60_000;
  await world.upkeep([project]);
  expect(await tried()).toBe(2);
});

it("goes on with the rest when a part fails", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const project = world.project(EDIT);
  await world.run(project);
  await world.run(world.project(inlineAgent("")), { jobId: "job2" });
  world.api.fault = () => ({ kind: "http", status: 503 });
  const note = world.dir.file("data/turns/job1.json");
  await utimes(note, 0, 0);
  await world.upkeep([project]);
  expect(world.logger.text("warn")).toContain("merged branches removed: failed");
  expect(await readdir(world.dir.file("data/turns"))).toEqual([]);
});
