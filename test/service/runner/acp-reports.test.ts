import { expect, it, vi } from "vitest";
import type { AgentQuestion } from "../../../src/service/runner/runner.ts";
import { advanceUntilSettled } from "../../support/advance-until-settled.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { fixtureAgent, openRunnerWorld } from "../../support/runner-world.ts";

const ANSWERS = "docs/answers.md";
const acpAgent = (steps: object[]) => fixtureAgent("acp-agent.mjs", JSON.stringify(steps));

it("tells steps, plan and cost while the agent works", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const project = world.acpProject(
    acpAgent([
      {
        plan: [
          ["Find the page", "in_progress"],
          ["Correct it", "pending"],
          [" ", "pending"],
        ],
      },
      { tool: "Read docs/install.md\nwith MODEL-KEY-0123456789" },
      { tool: "edit", rawInput: { filePath: "/repo/docs/install.md" } },
      { cost: { amount: 0.25, currency: "USD" } },
      { cost: { amount: 30, currency: "JPY" } },
      { cost: { amount: 1e308, currency: "USD" } },
      { say: "I can't find the page you mean." },
    ]),
  );
  const result = await world.run(project);
  expect(result).toMatchObject({ kind: "no-changes", summary: "I can't find the page you mean." });
  expect(world.told("step")).toEqual([
    "Fetching the repository",
    "The agent is working",
    expect.stringMatching(/^Read docs\/install\.md with /),
    "edit",
    "Edit docs/install.md",
    "Looking at what changed",
  ]);
  expect(world.told("plan")).toEqual([
    [
      { text: "Find the page", status: "in-progress" },
      { text: "Correct it", status: "pending" },
    ],
  ]);
  const uncounted = { inputTokens: null, outputTokens: null, cachedInputTokens: null, calls: null };
  expect(world.told("usage")).toEqual([{ ...uncounted, costUsd: 0.25 }]);
});

it("says what the agent was refused when nothing was changed, and asks nobody", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const ask = vi.fn<() => Promise<null>>(async () => null);
  const project = world.acpProject(
    acpAgent([{ permission: "execute", title: "Run `npm install`" }, { say: "I could not go on." }]),
    {},
  );
  // The agent's notes are its only change: outside the docs of this project.
  const result = await world.run({ ...project, docs: ["guides/**"] }, { ask });
  expect(result).toMatchObject({
    kind: "no-changes",
    summary: "I could not go on.",
    reason: expect.stringContaining("was refused: Run `npm install`.") as string,
  });
  expect(ask).not.toHaveBeenCalled();
});

it("tells the operator what the agent was refused, also when it opens a pull request", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const steps = [
    { permission: "execute", title: "npm test" },
    { permission: "execute", title: "npm test" },
  ];
  // The agent's notes are in the docs.
  expect(await world.run(world.acpProject(acpAgent(steps)))).toMatchObject({ kind: "pull-request" });
  expect(world.progress.filter((line) => line.startsWith("refused"))).toEqual(["refused: npm test"]);
  expect(world.logger.text("warn")).toBe(
    'agent was refused a permission {"project":"docs","job_id":"job1","turn":1,"what":"npm test"}',
  );
});

it("keeps the agent's words and what it was refused when it refuses the request", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const steps = [
    { permission: "fetch", title: "Open a page" },
    { say: "Not without the page." },
    { stop: "refusal" },
  ];
  expect(await world.run(world.acpProject(acpAgent(steps)))).toEqual({
    kind: "failed",
    reason:
      "The agent refused the request. It said: Not without the page. The agent wanted to do what it may not do here, and was refused: Open a page.",
  });
});

it("asks a person what the policy leaves to them, and does as they say", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const questions: AgentQuestion[] = [];
  const project = world.acpProject(
    acpAgent([
      { permission: "edit", id: "edit", paths: ["./docs/install.md"] },
      { permission: "execute", title: "Run `npm test`" },
      { permission: "execute", title: "Run `rm -rf .`" },
      { permission: "execute", title: "Run `ls`" },
    ]),
    { permissions: "ask" },
  );
  const answers = ["2", "3", null];
  await world.run(project, {
    ask: async (question) => {
      questions.push(question);
      const choice = answers.shift() ?? null;
      return choice === null ? null : { choice };
    },
  });
  expect(questions.map(({ text }) => text)).toEqual([
    "May the agent do this? Run `npm test`",
    "May the agent do this? Run `rm -rf .`",
    "May the agent do this? Run `ls`",
  ]);
  expect(questions[0]).toMatchObject({
    choices: [
      { id: "1", label: "allow_always" },
      { id: "2", label: "allow_once" },
      { id: "3", label: "reject_once" },
    ],
    allowsText: false,
  });
  const outcomes = (await world.show(ANSWERS))
    .trim()
    .split("\n")
    .map(
      (line) => (JSON.parse(line) as { result: { outcome: { optionId: string } } }).result.outcome.optionId,
    );
  expect(outcomes).toEqual(["allow_once", "allow_once", "reject_once", "reject_once"]);
});

it("puts an agent's form to a person, a field at a time, and gives it the answers", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const questions: AgentQuestion[] = [];
  const properties = {
    page: {
      type: "string",
      title: "Page",
      oneOf: [
        { const: "a.md", title: "Install" },
        { const: "b.md", title: "FAQ" },
      ],
    },
    why: { type: "string", title: "Reason" },
    isNew: { type: "boolean", title: "New page" },
    lines: { type: "integer", title: "Lines" },
  };
  const elicit = { message: "Which page?", requestedSchema: { type: "object", properties } };
  const answers = [{ choice: "2" }, { text: "It is old" }, { choice: "1" }, { text: "12" }];
  await world.run(world.acpProject(acpAgent([{ elicit }]), { permissions: "ask" }), {
    ask: async (question) => {
      questions.push(question);
      return answers.shift() ?? null;
    },
  });
  expect(questions.map(({ text, choices }) => [text, ...choices.map(({ label }) => label)])).toEqual([
    ["Which page? (Page)", "Install", "FAQ"],
    ["Which page? (Reason)"],
    ["Which page? (New page)", "Yes", "No"],
    ["Which page? (Lines)"],
  ]);
  expect(JSON.parse(await world.show(ANSWERS))).toMatchObject({
    result: { action: "accept", content: { page: "b.md", why: "It is old", isNew: true, lines: 12 } },
  });
});

it.each([
  ["cancels a form that nobody answers", "ask", { a: { type: "string" } }, "cancel"],
  ["declines a form where nobody is to be asked", "policy", { a: { type: "string" } }, "decline"],
  ["declines a form that a person cannot be given", "ask", { a: { type: "matrix" } }, "decline"],
] as const)("%s", async (_what, permissions, properties, action) => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const elicit = { message: "?", requestedSchema: { type: "object", properties } };
  await world.run(world.acpProject(acpAgent([{ elicit }]), { permissions }));
  expect(JSON.parse(await world.show(ANSWERS))).toMatchObject({ result: { action } });
});

it("does not count the time that a person takes against the agent", async () => {
  const clock = new ManualClock();
  await using world = await openRunnerWorld({ remote: "folder", clock });
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<{ choice: string }>();
  const agent = acpAgent([{ permission: "execute", title: "Run it" }, { hang: true }]);
  const run = world.run(world.acpProject(agent, { permissions: "ask" }), {
    ask: async () => {
      asked.resolve();
      return await answer.promise;
    },
  });
  await asked.promise;
  // The agent may take a minute.
  clock.advance(30 * 60_000);
  answer.resolve({ choice: "2" });
  await vi.waitFor(() => expect(clock.nextWakeAt()).toBeLessThanOrEqual(clock.now() + 60_000), {
    timeout: 20_000,
  });
  expect(await advanceUntilSettled(clock, run, 1000)).toMatchObject({
    kind: "failed",
    reason: "The agent reached its 1-minute limit.",
  });
});

it("ends an agent that is stopped while it waits for a person", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const abort = new AbortController();
  const agent = acpAgent([{ permission: "execute", title: "Run it" }]);
  const run = world.run(world.acpProject(agent, { permissions: "ask" }), {
    signal: abort.signal,
    ask: (_question) =>
      new Promise((resolve) => {
        abort.signal.addEventListener("abort", () => resolve(null));
        abort.abort(new Error("cancelled"));
      }),
  });
  await expect(run).rejects.toThrow("cancelled");
});
