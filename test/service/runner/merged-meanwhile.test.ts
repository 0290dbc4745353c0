// @module-tag all

import { execFileSync } from "node:child_process";
import { readdir, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { TransientRunError } from "../../../src/service/base/run-error.ts";
import { LaterClock } from "../../../world/clock/later-clock.ts";
import { atNight } from "../../support/nightly.ts";
import { LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";

const FIRST_AGENT = ["sh", "-c", "echo more >> README.md; echo Add more"];
const SECOND_AGENT = ["sh", "-c", "echo a second agent ran > docs/second.md"];

type World = Awaited<ReturnType<typeof openRunnerWorld>>;
type Answer = "no answer to the create" | "no answer to the service's own records";

/** The pull request is there, and the service doesn't know. */
async function loseAnswer(world: World, lost: Answer, input = {}): Promise<void> {
  if (lost === "no answer to the service's own records") {
    await world.run(world.project(FIRST_AGENT), input);
    return;
  }
  world.api.fault = (request) => (request.startsWith("POST") ? { kind: "drop-after" } : undefined);
  await expect(world.run(world.project(FIRST_AGENT), input)).rejects.toThrow(TransientRunError);
  world.api.fault = undefined;
}

/** A rebase of one commit is a squash that keeps its message; the code host here has no other. */
async function merge(world: World, method: string): Promise<void> {
  const [title = "", ...rest] = (await world.inBare("log", "-1", "--format=%B", "docs-agent/job1")).split(
    "\n",
  );
  const kept = { merge_method: "squash", commit_title: title, commit_message: rest.join("\n").trim() };
  await world.asPerson("PUT", "1/merge", method === "rebase" ? kept : { merge_method: method });
}

const removeBranch = (world: World) => world.inBare("update-ref", "-d", "refs/heads/docs-agent/job1");

const LOST = ["no answer to the create", "no answer to the service's own records"] as const;
const METHODS = ["merge", "squash", "rebase"];
const BRANCHES = ["left", "removed", "added to and removed"];
type Case = [method: string, branch: string, lost: Answer];
const ALL = METHODS.flatMap((method) =>
  BRANCHES.flatMap((branch) => LOST.map((lost): Case => [method, branch, lost])),
);
// Each with each other once.
const PAIRS = METHODS.flatMap((method, m) =>
  BRANCHES.map((branch, b): Case => [method, branch, (m + b) % 2 === 0 ? LOST[0] : LOST[1]]),
);

it.each(atNight(ALL, PAIRS))(
  "runs no second agent after a %s where the branch was %s: %s",
  async (method, branch, lost) => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    await loseAnswer(world, lost);
    const isRemoved = branch !== "left";
    if (branch.startsWith("added")) {
      await world.commitTo("docs-agent/job1", { "docs/human.md": "mine\n" }, "by hand");
    }
    await merge(world, method);
    await world.commitTo("main", { "docs/later.md": "later\n" }, "Later");
    if (isRemoved) await removeBranch(world);
    world.restart();

    expect(await world.run(world.project(SECOND_AGENT))).toMatchObject({
      kind: "pull-request",
      prLink: `${world.codeHost.url}/acme/docs/pull/1`,
      summary: "Add more",
    });
    expect(world.pulls()).toHaveLength(1);
    expect((await world.branches()).includes("docs-agent/job1")).toBe(!isRemoved);
  },
);

it("runs no second agent for a follow-up that was pushed and merged, and names its own pull request", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await world.run(world.project(FIRST_AGENT));
  await world.asPerson("PUT", "1/merge", { merge_method: "squash" });
  await removeBranch(world);
  const followUp = { prompt: "More", earlierTurns: [{ prompt: "Fix the typo", summary: null }] };
  await loseAnswer(world, "no answer to the create", followUp);
  await world.asPerson("PUT", "2/merge", { merge_method: "squash" });
  await removeBranch(world);
  world.restart();
  expect(await world.run(world.project(SECOND_AGENT), followUp)).toMatchObject({
    prLink: `${world.codeHost.url}/acme/docs/pull/2`,
  });
  expect(world.pulls()).toHaveLength(2);
});

it("runs no second agent after the branch was updated with many commits of the base", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await loseAnswer(world, "no answer to the create");
  const commit = (ref: string, more: string) =>
    `commit ${ref}\ncommitter Ana <ana@example.com> ${Math.ceil(Date.now() / 1000) + 60} +0000\n` +
    `data 5\nLater\n${more}\n`;
  const [main, branch] = ["refs/heads/main", "refs/heads/docs-agent/job1"];
  const input = [
    commit(main, `from ${main}^0\n`),
    ...Array.from({ length: 210 }, () => commit(main, "")),
    commit(branch, `from ${branch}^0\nmerge ${main}\n`),
  ].join("");
  execFileSync("git", ["-C", world.bare, "fast-import", "--quiet"], { input });
  await world.codeHost.repository("acme", "docs").followBranches();
  world.restart();
  expect(await world.run(world.project(SECOND_AGENT))).toMatchObject({
    prLink: `${world.codeHost.url}/acme/docs/pull/1`,
    summary: "Add more",
  });
  expect(await world.changed()).toEqual(["README.md"]);
});

it("opens no pull request for what somebody merged before there was one", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  world.api.fault = (request) => (request.startsWith("POST") ? { kind: "http", status: 503 } : undefined);
  await expect(world.run(world.project(FIRST_AGENT))).rejects.toThrow(TransientRunError);
  world.api.fault = undefined;
  await world.inBare("update-ref", "refs/heads/main", "refs/heads/docs-agent/job1");
  world.restart();
  expect(await world.run(world.project(SECOND_AGENT))).toEqual({
    kind: "no-changes",
    summary: "Add more",
    reason: "The changes are in main already.",
    leftOut: [],
    checks: [],
    claims: { total: 0, verified: 0 },
    context: [],
    notes: [],
  });
  expect(world.pulls()).toEqual([]);
});

it("begins again when the branch was removed before anybody could merge it", async () => {
  const clock = new LaterClock();
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, clock });
  world.api.fault = (request) => (request.startsWith("POST") ? { kind: "http", status: 503 } : undefined);
  await expect(world.run(world.project(FIRST_AGENT))).rejects.toThrow(TransientRunError);
  world.api.fault = undefined;
  await removeBranch(world);
  world.restart();
  // In the first minute, the git server may just not show it yet.
  clock.laterMs = 60_000;
  expect(await world.run(world.project(SECOND_AGENT))).toMatchObject({ kind: "pull-request" });
  expect(await world.changed()).toEqual(["docs/second.md"]);
});

it("finds a pushed turn by the branch alone when the note of it was lost", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await loseAnswer(world, "no answer to the create");
  const notes = world.dir.file("data/turns");
  for (const name of await readdir(notes)) await writeFile(`${notes}/${name}`, "torn");
  world.restart();
  expect(await world.run(world.project(SECOND_AGENT))).toMatchObject({
    prLink: `${world.codeHost.url}/acme/docs/pull/1`,
    summary: null,
  });
});
