import { describe, expect, it } from "vitest";
import { TransientRunError } from "../../../src/service/base/run-error.ts";
import { advanceUntilSettled } from "../../support/advance-until-settled.ts";
import { LaterClock } from "../../../world/clock/later-clock.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { atNight } from "../../support/nightly.ts";
import { LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";
import { ask, keptJobs, sessionProject, toldOf } from "../../support/session-agent.ts";

const EARLIER = "Earlier in this job you were asked";
const PULL_REQUEST = { kind: "pull-request" };

describe.each(atNight(["required", "none"] as const, ["required"]))("containment: %s", (containment) => {
  it("resumes the agent's session in a follow-up, with what the agent left in its HOME", async () => {
    await using world = await openRunnerWorld({ remote: "folder", containment });
    const project = sessionProject(world, { resume: true, load: true });
    await ask(
      world,
      project,
      `js: fs.writeFileSync(home + "/notes", "n"); fs.mkdirSync(home + "/.cache/big", { recursive: true }); fs.mkdirSync(home + "/.npm")`,
    );
    const second = `js: fs.writeFileSync("docs/home.md", fs.readdirSync(home).join(" "))`;
    expect(await ask(world, project, second, "First")).toMatchObject(PULL_REQUEST);
    const told = await toldOf(world);
    expect(told.how).toBe("session/resume");
    expect(told.prompts).toHaveLength(1);
    expect(told.prompts[0]).toContain("notes");
    expect(told.context).toContain("`**/*.md`");
    expect(told.context).toContain("read a file again");
    expect(told.context).not.toContain(EARLIER);
    expect(await world.show("docs/home.md")).toBe(".local notes");
    expect(world.progress).toContain("the agent's session is resumed");

    await ask(world, project, "Third", "First", second);
    expect((await toldOf(world)).prompts).toHaveLength(2);
  });
});

it.each([
  ["before its answer", {}],
  ["after it", { repliesFirst: true }],
])(
  "takes nothing of a loaded session's past for this turn's: told %s",
  { tags: "all" },
  async (_when, options) => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const project = sessionProject(world, { load: true, ...options });
    await ask(world, project, "First costs 0.5");
    const stepsBefore = world.told("step").length;
    const usageBefore = world.told("usage").length;
    const result = await world.run(project, {
      prompt: "Second",
      earlierTurns: [{ prompt: "First costs 0.5", summary: null }],
    });
    expect(result).toMatchObject({ ...PULL_REQUEST, summary: "Did: Second" });
    expect(await toldOf(world)).toMatchObject({ how: "session/load", prompts: ["First costs 0.5"] });
    expect(world.told("plan")).toEqual([]);
    expect(world.told("usage")).toHaveLength(usageBefore);
    // The service's own, and none of the agent's.
    expect(world.told("step").slice(stepsBefore).join("\n")).toMatch(
      /^Fetching the repository\nThe agent is working\nLooking at/,
    );
    expect(world.progress.join("\n")).not.toContain("Replayed");
  },
);

it.each([{ resume: true }, { load: true }])(
  "gives the earlier turns as text when the agent refuses what it offers: %j",
  async (way) => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const project = sessionProject(world, { ...way, refuses: true });
    await ask(world, project, "First");
    expect(await ask(world, project, "Second", "First")).toMatchObject(PULL_REQUEST);
    const { how, context } = await toldOf(world);
    expect(how).toBe("new");
    expect(context).toContain(EARLIER);
    expect(context).not.toContain("read a file again");
    expect(world.progress.join("\n")).toContain("can't be resumed, a new one begins: Resource not found");
  },
);

it("gives the earlier turns as text when the agent doesn't answer", { tags: "all" }, async () => {
  const clock = new ManualClock();
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, clock });
  const given = sessionProject(world, { resume: true, isSilent: true });
  const project = { ...given, agent: { ...given.agent, timeLimitMinutes: 30 } };
  await ask(world, project, "First");
  const second = ask(world, project, "Second", "First");
  expect(await advanceUntilSettled(clock, second, 100)).toMatchObject(PULL_REQUEST);
  expect(await toldOf(world)).toMatchObject({ how: "new" });
  expect(world.progress.join("\n")).toContain("a new one begins: no answer");
});

it("runs the turn again without the session when the agent dies of it", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const project = sessionProject(world, { resume: true, dies: true });
  await ask(world, project, "First");
  await expect(ask(world, project, "Second", "First")).rejects.toThrow(TransientRunError);
  expect(await ask(world, project, "Second", "First")).toMatchObject(PULL_REQUEST);
  const { how, context } = await toldOf(world);
  expect(how).toBe("new");
  expect(context).toContain(EARLIER);
});

it(
  "forgets the session with a turn whose work is gone, and gives the earlier turns as text",
  { tags: "all" },
  async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const project = sessionProject(world, { resume: true });
    await ask(world, project, "First");
    expect(await ask(world, project, "give up", "First")).toMatchObject({ kind: "failed" });
    expect(await keptJobs(world)).toEqual([]);
    await ask(world, project, "Third", "First", "give up");
    const { how, context } = await toldOf(world);
    expect(how).toBe("new");
    expect(context).toContain("Request 2:\ngive up");
  },
);

it("tells a resumed session of a turn that failed before its agent started", { tags: "all" }, async () => {
  await using world = await openRunnerWorld({ containment: "none" });
  const project = sessionProject(world, { resume: true });
  await ask(world, project, "First");
  world.gitHttp.fault = () => ({ kind: "http", status: 404 });
  expect(await ask(world, project, "Second", "First")).toMatchObject({ kind: "failed" });
  world.gitHttp.fault = undefined;
  await ask(world, project, "Third", "First", "Second");
  const { how, prompts, context } = await toldOf(world);
  expect({ how, prompts }).toEqual({ how: "session/resume", prompts: ["First"] });
  expect(context).toContain("Second");
  expect(context).not.toContain("First");
});

it(
  "resumes the session of a turn that was pushed and whose pull request came later",
  { tags: "all" },
  async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const project = sessionProject(world, { resume: true });
    world.api.fault = (request) => (request.startsWith("POST") ? { kind: "http", status: 503 } : undefined);
    await expect(ask(world, project, "First")).rejects.toThrow(TransientRunError);
    world.api.fault = undefined;
    world.restart();
    expect(await ask(world, project, "First")).toMatchObject(PULL_REQUEST);
    await ask(world, project, "Second", "First");
    expect(await toldOf(world)).toMatchObject({ how: "session/resume", prompts: ["First"] });
  },
);

it(
  "does not resume a session that knows of work which somebody removed before its turn ended",
  { tags: "all" },
  async () => {
    const clock = new LaterClock();
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, clock });
    const project = sessionProject(world, { resume: true });
    world.api.fault = (request) => (request.startsWith("POST") ? { kind: "http", status: 503 } : undefined);
    await expect(ask(world, project, "First")).rejects.toThrow(TransientRunError);
    world.api.fault = undefined;
    await world.inBare("update-ref", "-d", "refs/heads/docs-agent/job1");
    // Before that, the git server may just not show the branch yet.
    clock.laterMs = 60_000;
    expect(await ask(world, project, "First")).toMatchObject(PULL_REQUEST);
    expect(await toldOf(world)).toMatchObject({ how: "new", prompts: [] });
  },
);

it("resumes the session of a turn that only answered", { tags: "all" }, async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const project = sessionProject(world, { resume: true });
  const question = `js: fs.rmSync("docs/told.md")`;
  expect(await ask(world, project, question)).toMatchObject({ kind: "no-changes" });
  await ask(world, project, "Fix it, then", question);
  expect(await toldOf(world)).toMatchObject({ how: "session/resume", prompts: [question] });
});

it("lets no other agent resume a session", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const project = sessionProject(world, { resume: true });
  await ask(world, project, "First");
  await ask(world, sessionProject(world, { resume: true }, "--other"), "Second", "First");
  const { how, context } = await toldOf(world);
  expect(how).toBe("new");
  expect(context).toContain(EARLIER);
});

it.each([
  [false, [0.5, 0.25, 1]],
  [true, [0.5, 0.25, 0.125]],
])(
  "counts the cost of each turn once, also if the agent counts anew: %j",
  { tags: "all" },
  async (forgetsCost, expected) => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const project = sessionProject(world, { resume: true, forgetsCost });
    const prompts = forgetsCost
      ? ["costs 0.5", "costs 0.25", "costs 0.125"]
      : ["costs 0.5", "costs 0.25", "costs 1"];
    for (const [index, prompt] of prompts.entries()) {
      await world.run(project, {
        prompt,
        earlierTurns: prompts.slice(0, index).map((before) => ({ prompt: before, summary: null })),
      });
    }
    expect(world.told("usage").map(({ costUsd }) => costUsd)).toEqual(expected);
  },
);
