// @module-tag all

import { expect, it } from "vitest";
import { advanceUntilSettled } from "../../support/advance-until-settled.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { fixtureAgent, inlineAgent, LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";

const acp = (...steps: object[]) => fixtureAgent("acp-agent.mjs", JSON.stringify(steps));

it("takes what the agent edits, and summarizes with its last message", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const agent = acp(
    { say: "Let me look.\n" },
    { tool: "Read README" },
    { write: "./docs/new.md", content: "# New\n" },
    { tool: "Check" },
    { say: "Add a page" },
    { say: " about new things" },
  );
  const result = await world.run(world.acpProject(agent));
  expect(result).toMatchObject({ kind: "pull-request", summary: "Add a page about new things" });
  expect(await world.show("docs/new.md")).toBe("# New");
  expect(world.progress).toContain("Let me look.");
  expect(world.progress).toContain("Read README");
});

it("gives the agent the earlier turns, and the request alone as the last block", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  await world.run(world.acpProject(acp({ sayPrompt: true })), {
    prompt: "Now this",
    earlierTurns: [{ prompt: "First that", summary: "Did that" }],
  });
  const said = world.progress.join(" ");
  expect(said).toMatch(/Earlier in this job .* First that .*Did that \| Now this/);
});

it("answers permission requests by policy", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const cases: [answer: "allow_once" | "reject_once", kind: string, ...paths: string[]][] = [
    ["allow_once", "edit", "./docs/quickstart.md"],
    ["reject_once", "edit", "/etc/passwd"],
    ["reject_once", "edit"],
    ["allow_once", "read", "./README.md"],
    ["reject_once", "execute"],
    ["reject_once", "fetch"],
    ["reject_once", "edit", "./docs/quickstart.md", "./../x"],
    ["allow_once", "read", "/tmp/attachments/1-shot.png"],
    ["allow_once", "edit", "/tmp/claims.json"],
    ["reject_once", "read", "/tmp/../x"],
    ["reject_once", "read", "/tmpx"],
    ["allow_once", "read", "/context/cli/main.js"],
    ["reject_once", "edit", "/context/cli/main.js"],
    // OpenCode asks like this before it reads or writes outside its folder.
    ["allow_once", "other", "/tmp/claims.json", "/tmp"],
    ["allow_once", "other", "/context/cli/main.js", "/x/../context/cli"],
    ["reject_once", "other", "/tmp", "/etc"],
    ["reject_once", "other"],
  ];
  const agent = acp(...cases.map(([, permission, ...paths]) => ({ permission, paths })));
  const context = [
    {
      name: "cli",
      repository: world.codeHost.gitUrl("acme", "docs"),
      ref: "main",
      paths: [],
      publish: "allow" as const,
    },
  ];
  await world.run({ ...world.acpProject(agent), context });
  const answers = (await world.show("docs/answers.md"))
    .split("\n")
    .map(
      (line) => (JSON.parse(line) as { result: { outcome: { optionId: string } } }).result.outcome.optionId,
    );
  expect(answers).toEqual(cases.map(([answer]) => answer));
});

/** An agent that gives one method this answer. */
function answering(odd: string, answer: unknown, greeting = ""): string[] {
  return inlineAgent(`
    process.stdout.write(${JSON.stringify(greeting)});
    import { createInterface } from "node:readline";
    createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      const usual = { protocolVersion: 1, agentCapabilities: {}, sessionId: "s" };
      const result = method === ${JSON.stringify(odd)} ? ${JSON.stringify(answer)} : usual;
      process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
    });
  `);
}

const BREAKS = (method: string) => `The agent's answer to "${method}" breaks the Agent Client Protocol.`;

it("offers no files and no terminals, and allows programs only where the project does", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const agent = acp({ offered: true }, { permission: "execute", paths: [] });
  await world.run(world.acpProject(agent));
  expect(await world.show("docs/answers.md")).toMatch(/^{}\n.*reject_once/);
  await world.run(world.acpProject(agent, { terminal: true }), { jobId: "job2" });
  expect(await world.show("docs/answers.md", "docs-agent/job2")).toMatch(/^{}\n.*allow_once/);
});

it.each([
  ["refusal", "refused"],
  ["cancelled", "canceled"],
  ["max_tokens", "before it was done"],
  ["max_turn_requests", "before it was done"],
  ["out_of_patience", "The agent stopped before it was done (out_of_patience)."],
  ["toString", "The agent stopped before it was done (toString)."],
])("fails when the agent stops with %s", async (stop, words) => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const result = await world.run(world.acpProject(acp({ write: "./docs/a.md", content: "a" }, { stop })));
  expect(result).toMatchObject({ kind: "failed", reason: expect.stringContaining(words) });
  expect(await world.branches()).toEqual(["main"]);
});

it.each([{}, 7, ["end_turn"]])("fails at once when the agent stops with %j", async (stop) => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const result = await world.run(world.acpProject(acp({ write: "./docs/a.md", content: "a" }, { stop })));
  expect(result).toMatchObject({ kind: "failed", reason: BREAKS("session/prompt") });
});

it("takes an answer that has more fields than the protocol names", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const result = await world.run(
    world.acpProject(answering("session/prompt", { stopReason: "end_turn", error: null })),
  );
  expect(result).toMatchObject({ kind: "no-changes" });
});

it.each(["Welcome back", "Hi {you}! ", "\u001b[0m", "\ufeff"])(
  "understands an agent whose greeting has no line end: %j",
  async (greeting) => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const agent = answering("session/prompt", { stopReason: "end_turn" }, greeting);
    expect(await world.run(world.acpProject(agent))).toMatchObject({ kind: "no-changes" });
  },
);

it.each([
  ["initialize", null],
  ["initialize", { protocolVersion: "1" }],
  ["initialize", { protocolVersion: 1, agentCapabilities: null }],
  ["session/new", null],
  ["session/new", { sessionId: 7 }],
])("fails at once when the agent answers %s with %j", async (broken, result) => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const project = world.acpProject(answering(broken, result));
  expect(await world.run(project)).toMatchObject({ kind: "failed", reason: BREAKS(broken) });
});

it("fails when the agent dies in mid-turn", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  expect(await world.run(world.acpProject(acp({ say: "Oh" }, { exit: 3 })))).toMatchObject({
    kind: "failed",
    reason: expect.stringContaining("exited with code 3"),
  });
});

it("fails when the agent is no ACP agent", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const garbage = inlineAgent(
    `for (let i = 0; i < 50; i++) console.log("{garbage", "[1,2]", "\\u0000"); console.log('{"jsonrpc":"2.0","id":1,"result":7}');`,
  );
  expect(await world.run(world.acpProject(garbage))).toMatchObject({ kind: "failed" });
  expect(
    await world.run(world.acpProject(inlineAgent(`process.stdout.write("x".repeat(2e6))`))),
  ).toMatchObject({ kind: "failed" });
});

it.each([
  ["nothing at all", ``, "It printed nothing."],
  ["no end of its greeting", `process.stdout.write("Welcome")`, "Its last line: Welcome"],
  [
    "what it waits for",
    `console.log("Starting"); console.error("Waiting for \\u001b[31ma browser\\u001b[0m");`,
    "Its last line: Waiting for a browser",
  ],
])("fails when the agent doesn't answer in time, and prints %s", async (_what, says, lastLine) => {
  const clock = new ManualClock();
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, clock });
  const [node = "", ...args] = inlineAgent(`${says}; setInterval(() => {}, 1000)`);
  const project = world.acpProject([node, "--no-warnings", ...args], {
    timeLimitMinutes: 30,
    startSeconds: 90,
  });
  const startedAt = clock.now();
  expect(await advanceUntilSettled(clock, world.run(project), 500)).toMatchObject({
    kind: "failed",
    reason: expect.stringMatching(
      new RegExp(String.raw`^node --no-warnings .* didn't answer within 90 seconds\. ${lastLine}$`, "s"),
    ),
    details: expect.arrayContaining(["If it takes longer to start, raise agent.startSeconds."]),
  });
  expect(clock.now() - startedAt).toBeGreaterThanOrEqual(90_000);
});
