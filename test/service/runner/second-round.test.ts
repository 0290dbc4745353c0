import { expect, it } from "vitest";
import { TransientRunError } from "../../../src/service/base/run-error.ts";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";
import { sessionProject, toldOf } from "../../support/session-agent.ts";
import { shellCheck } from "../../support/shell-check.ts";

/** Fails with a line for each page that has "teh", as long as it is told to. */
const NO_TEH = shellCheck("grep -rl teh docs && exit 1; exit 0");

/** Writes a misspelled page; does `second` where it is told of findings. */
function agentThat(second: string): string[] {
  return inlineAgent(`
    const told = fs.readFileSync(0, "utf8");
    if (told.includes("The project's checks found")) {
      fs.writeFileSync("docs/told.md", told);
      ${second};
    } else {
      fs.writeFileSync("docs/new.md", "teh page");
      fs.writeFileSync(process.env.HOME + "/kept", "x");
      fs.writeFileSync(process.env.TMPDIR + "/lost", "x");
      console.log("First words");
    }
  `);
}

const FIXES = `
  fs.writeFileSync("docs/new.md", "the page");
  fs.writeFileSync("docs/left.md", String([fs.existsSync(process.env.HOME + "/kept"), fs.existsSync(process.env.TMPDIR + "/lost")]));
  console.log("Second words");
`;

it("sends what blocks back to the agent, in the same tree and home, and publishes what it came to", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const project = world.project(agentThat(FIXES), { verify: [NO_TEH] });
  const result = await world.run(project);
  expect(result).toMatchObject({
    kind: "pull-request",
    summary: "Second words",
    checks: [{ name: "words", result: "passed", findings: [] }],
  });
  expect(await world.show("docs/new.md")).toBe("the page");
  expect(await world.show("docs/left.md")).toBe("true,false");
  const told = await world.show("docs/told.md");
  expect(told).toContain("Fix the typo");
  expect(told).toContain("words:\n- docs/new.md");
  expect(await world.commits()).toBe(1);
  expect(world.told("agentRuns")).toEqual([true, true]);
  expect(world.pulls()).toMatchObject([{ isDraft: false }]);
});

it("publishes what stays wrong as a draft that says so", async () => {
  await using world = await openRunnerWorld({ containment: "none" });
  const project = world.project(agentThat(""), { verify: [NO_TEH] });
  expect(await world.run(project)).toMatchObject({
    kind: "pull-request",
    checks: [{ name: "words", result: "failed", findings: ["docs/new.md"] }],
  });
  expect(world.pulls()).toMatchObject([{ isDraft: true }]);
});

it.each([
  ["other files", "", { summary: null, title: "Fix the typo" }],
  ["the same files", `fs.rmSync("docs/told.md")`, { summary: "First words", title: "First words" }],
])(
  "says what the first round said if a silent second one leaves the same files: %s",
  { tags: "all" },
  async (_, second, said) => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const result = await world.run(world.project(agentThat(second), { verify: [NO_TEH] }));
    const [pull] = world.pulls();
    expect({ summary: result.kind === "pull-request" && result.summary, title: pull?.title }).toEqual(said);
  },
);

const TAKES_BACK = `fs.rmSync("docs/new.md"); fs.rmSync("docs/told.md")`;
it.each([
  ["and says why", `${TAKES_BACK}; console.log("The request was wrong.")`, "The request was wrong.", null],
  ["silently", TAKES_BACK, null, "The agent took its changes back when the checks found problems in them."],
])("publishes nothing if the second round takes all back, %s", async (_, second, summary, reason) => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const result = await world.run(world.project(agentThat(second), { verify: [NO_TEH] }));
  expect(result).toMatchObject({ kind: "no-changes", summary, reason });
  expect(world.pulls()).toEqual([]);
  expect(await world.branches()).toEqual(["main"]);
});

it.each([
  ["crashes", "process.exit(3)"],
  ["is ended for its time", "setInterval(() => {}, 1000)"],
  ["puts a secret into a page", `fs.writeFileSync("docs/new.md", process.env.MODEL_KEY)`],
])("keeps the first round's work when the second one %s", { tags: "all" }, async (_, second) => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const project = world.project(agentThat(second), { verify: [NO_TEH] });
  project.agent.timeLimitMinutes = 0.05;
  expect(await world.run(project)).toMatchObject({
    kind: "pull-request",
    summary: "First words",
    checks: [{ result: "failed", findings: ["docs/new.md"] }],
  });
  expect(await world.show("docs/new.md")).toBe("teh page");
  expect(await world.changed()).toEqual(["docs/new.md"]);
});

it.each([
  ["crashes", "process.exit(3)"],
  ["is ended for its time", "setInterval(() => {}, 1000)"],
])("publishes nothing that the second round took back before it %s", { tags: "all" }, async (_, ends) => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const second = `if (!told.includes("in part")) fs.rmSync("docs/told.md"); fs.rmSync("docs/new.md"); ${ends}`;
  const agent = agentThat(second);
  const project = world.project(agent, { verify: [NO_TEH] });
  project.agent.timeLimitMinutes = 0.25;
  expect(await world.run(project)).toMatchObject({
    kind: "no-changes",
    summary: null,
    reason: "The agent took its changes back when the checks found problems in them.",
  });
  expect(await world.branches()).toEqual(["main"]);

  const inPart = agent.map((part) =>
    part.replace("} else {", `} else { fs.writeFileSync("docs/good.md", "fine");`),
  );
  expect(
    await world.run({ ...project, agent: { ...project.agent, command: inPart } }, { prompt: "Fix in part" }),
  ).toMatchObject({
    kind: "pull-request",
    summary: null,
    checks: [{ result: "passed" }],
  });
  expect(await world.changed()).toEqual(["docs/good.md"]);
  expect(world.pulls()).toMatchObject([{ title: "Fix in part", isDraft: false }]);
});

it("starts no second round for what doesn't block", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const verify = [{ ...NO_TEH, blocking: false }];
  expect(await world.run(world.project(agentThat(FIXES), { verify }))).toMatchObject({
    summary: "First words",
    checks: [{ result: "failed", findings: ["docs/new.md"] }],
  });
  expect(await world.changed()).toEqual(["docs/new.md"]);
});

it("cuts what the agent is told", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const many = {
    ...NO_TEH,
    command: ["sh", "-c", "grep -rl teh docs || exit 0; seq -f 'line-%.0f' 5000; exit 1"],
  };
  await world.run(world.project(agentThat(FIXES), { verify: [many] }));
  const told = await world.show("docs/told.md");
  expect(told).toContain("- line-100\n");
  expect(Buffer.byteLength(told.slice(told.indexOf("words:")))).toBeLessThanOrEqual(4096);
});

it.each([
  ["the first round's session", { resume: true }, "session/resume"],
  ["a new session where none can be resumed", {}, "new"],
])(
  "tells an ACP agent in %s, and adds up what both rounds cost",
  { tags: "all" },
  async (_, options, how) => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const project = {
      ...sessionProject(world, options),
      verify: [{ ...NO_TEH, command: ["sh", "-c", WRITTEN_ONCE] }],
    };
    const prompt = "Fix it; costs 0.5";
    const result = await world.run(project, { prompt });
    expect(result).toMatchObject({ kind: "pull-request" });
    const told = await toldOf(world);
    expect(told.how).toBe(how);
    expect(told.request).toContain("docs/told.md");
    expect(told.prompts).toHaveLength(how === "new" ? 0 : 1);
    expect(told.request.includes("costs 0.5")).toBe(how === "new");
    expect(world.told("usage").map(({ costUsd }) => costUsd)).toEqual(how === "new" ? [0.5, 1] : [0.5]);
  },
);

/** Finds something in the first round's page alone. */
const WRITTEN_ONCE = `test -e docs/told.md && ! grep -q "checks found" docs/told.md && { echo docs/told.md; exit 1; }; exit 0`;

it("tells of its checks after a crash between the push and the pull request", { tags: "all" }, async () => {
  await using world = await openRunnerWorld({ containment: "none" });
  const project = world.project(agentThat(""), { verify: [NO_TEH] });
  world.api.fault = (request) => (request.startsWith("POST") ? { kind: "http", status: 503 } : undefined);
  await expect(world.run(project)).rejects.toThrow(TransientRunError);
  world.api.fault = undefined;
  world.restart();
  expect(await world.run(project)).toMatchObject({
    checks: [{ name: "words", result: "failed", findings: ["docs/new.md"] }],
  });
  expect(world.pulls()).toMatchObject([{ isDraft: true }]);
});

it("tells of checks where there is no code host", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const project = world.project(agentThat(FIXES), { verify: [NO_TEH], codeHost: { kind: "none" } });
  expect(await world.run(project)).toMatchObject({ kind: "branch", checks: [{ result: "passed" }] });
});

it(
  "begins anew after it was stopped in the second round, and comes to one branch",
  { tags: "all" },
  async () => {
    await using world = await openRunnerWorld({ remote: "folder" });
    const project = world.project(agentThat(`console.log("again"); setInterval(() => {}, 1000)`), {
      verify: [NO_TEH],
    });
    const abort = new AbortController();
    const onLine = (line: string) => line === "again" && abort.abort(new Error("killed"));
    await expect(world.run(project, { signal: abort.signal, onLine })).rejects.toThrow("killed");
    expect(await world.branches()).toEqual(["main"]);
    world.restart();
    const verify = project.verify;
    expect(await world.run(world.project(agentThat(FIXES), { verify }))).toMatchObject({
      checks: [{ result: "passed" }],
    });
    expect(await world.commits()).toBe(1);
    expect(world.pulls()).toHaveLength(1);
  },
);
