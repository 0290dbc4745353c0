import { expect, it } from "vitest";
import type { StateCommand } from "../../../src/service/commands/run-command.ts";
import { RunnerList } from "../../../src/service/commands/runners-text.ts";
import { RunnerStore } from "../../../src/service/jobs/runner-store.ts";
import { ServiceFolder } from "../../support/service-process.ts";
import { ServiceUnderTest } from "../../support/service-under-test.ts";

const TIMEOUT_MS = 240_000;
const JOBS = "/v2/agent/docs/job";
const SAYS = { version: "1.2.0", protocol: 1, session: "s1", labels: ["large"], places: 4, free: 3 };

/** The columns of the lines of a table, with its head. */
function table(text: string): string[][] {
  return text
    .split("\n")
    .filter((line) => /^(?:NAME|[a-z0-9-]+ +runner_)/.test(line))
    .map((line) => line.split(/ {2,}/));
}

it.each([{ isServing: false }, { isServing: true }])(
  "adds, lists, drains and removes runners from the command line, while it serves: $isServing",
  { timeout: TIMEOUT_MS },
  async ({ isServing }) => {
    await using folder = await ServiceFolder.open({ docs: ["true"], api: ["true"] });
    folder.change({ publicBaseUrl: "https://jobs.example.com/" });
    if (isServing) await folder.serve();
    const told = async (...args: string[]) => {
      const { code, stdout, stderr } = await folder.run("runners", ...args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      return stdout;
    };
    expect(await told()).toBe(
      "The service's own runner runs up to 4 turns at once (jobsAtOnce).\n" +
        "There are no runners elsewhere. Add one: runners add <name> --project <id>\n",
    );
    const added = await told("add", "build-1", "--project", "docs", "--project", "api");
    const [, token = ""] = /^RUNNER_TOKEN=(docsagent_runner_[\w-]{44})$/m.exec(added) ?? [];
    expect(added).toBe(
      "Added runner build-1 for docs, api. Its token is shown only once. Put these two lines into\n" +
        ".env on its machine, and start it there: npm run runner\n\n" +
        `RUNNER_SERVICE_URL=https://jobs.example.com\nRUNNER_TOKEN=${token}\n`,
    );
    expect(await told("add", "build-2", "--all-projects")).toContain(
      "Added runner build-2 for all projects.",
    );
    const id = expect.stringMatching(/^runner_[0-9a-f]{12}$/) as string;
    const listed = await told();
    expect(table(listed)).toEqual([
      ["NAME", "RUNNER", "STATE", "FREE", "RUNS", "VERSION", "SEEN", "PROJECTS", "LABELS"],
      ["build-1", id, "never seen", "-", "-", "-", "-", "docs, api", "-"],
      ["build-2", id, "never seen", "-", "-", "-", "-", "all", "-"],
    ]);
    expect(listed).not.toContain(token);

    expect(await told("drain", "build-1")).toBe(
      "Runner build-1 gets no more turns. Those that it runs go on.\n",
    );
    expect(table(await told("list"))[1]?.[2]).toBe("never seen, draining");
    expect(await told("drain", "build-1")).toBe("Runner build-1 was already getting no more turns.\n");
    expect(await told("resume", "build-1")).toBe("Runner build-1 gets turns again.\n");
    expect(await told("resume", "build-1")).toBe("Runner build-1 was already getting turns.\n");
    expect(await told("remove", "build-1")).toBe(
      "Removed runner build-1. Its token is refused from now on.\n",
    );
    expect(table(await told()).map(([name, , state]) => [name, state])).toEqual([
      ["NAME", "STATE"],
      ["build-2", "never seen"],
      ["build-1", expect.stringMatching(/^revoked \d{4}-.*Z$/)],
    ]);
    const { jobsAtOnce, runners } = RunnerList.parse(JSON.parse(await told("--json")));
    expect(jobsAtOnce).toBe(4);
    expect(runners.map(({ name, state, projects }) => ({ name, state, projects }))).toEqual([
      { name: "build-2", state: "away", projects: null },
      { name: "build-1", state: "revoked", projects: ["docs", "api"] },
    ]);
  },
);

it(
  "says what is wrong with a name, a project or an option, and does nothing",
  { tags: "all", timeout: TIMEOUT_MS },
  async () => {
    await using folder = await ServiceFolder.open({ docs: ["true"] });
    await folder.run("runners", "add", "build-1", "--project", "docs");
    for (const [args, said] of [
      [["add", "build-1", "--all-projects"], "There is a runner build-1 already. Choose another name"],
      [["add", "Build_2", "--all-projects"], "must be 1 to 40 lower-case letters, digits or '-'."],
      [["add", "x".repeat(41), "--all-projects"], "must be 1 to 40 lower-case letters"],
      [["add", "build-2", "--project", "nope"], 'There is no project "nope" in the settings. Known: docs.'],
      [["add", "build-2"], "Say what the runner may run: --project <id>, or --all-projects."],
      [["add", "build-2", "--project", "docs", "--all-projects"], "cannot be used with option"],
      [["drain", "nope"], 'There is no runner "nope". See runners.'],
      [["remove", "nope"], 'There is no runner "nope". See runners.'],
      [["lst"], "too many arguments"],
    ] as const) {
      const { code, stdout, stderr } = await folder.run("runners", ...args);
      expect({ args, isRefused: code !== 0, stdout }).toEqual({ args, isRefused: true, stdout: "" });
      expect(stderr).toContain(said);
    }
    expect(table((await folder.run("runners")).stdout)).toHaveLength(2);
  },
);

it("shows what runners say of themselves, what they run, and since when they are away", async () => {
  await using subject = await ServiceUnderTest.start();
  const store = new RunnerStore(subject.db);
  const add = (name: string) => {
    const at = { keyPrefix: "docsagent", name, projects: ["docs"], nowMs: subject.clock.now() };
    return store.add(at)?.id ?? "";
  };
  const one = add("build-1");
  subject.clock.advance(1);
  const two = add("build-2");
  const { id: job } = (await (await subject.ask(JOBS, { body: { prompt: "Fix" } })).json()) as { id: string };
  await subject.runner.runOf(job);
  subject.db.prepare("UPDATE turns SET runner = ? WHERE job_id = ?").run(one, job);
  const seenAt = subject.clock.now();
  store.saw(one, { ...SAYS, version: "1.2.0\n\u001b[31m", labels: ["large", "y".repeat(99)] }, seenAt);
  store.saw(two, { ...SAYS, labels: [], free: 4 }, seenAt);
  const shown = () => {
    const { text } = subject.service.runCommand({ name: "list-runners", asJson: false });
    expect(text).not.toContain("\u001b");
    return table(text).slice(1);
  };
  const time = `${new Date(seenAt).toISOString().slice(0, 19)}Z`;
  const long = `large, ${"y".repeat(39)}…`;
  expect(shown()).toEqual([
    ["build-1", one, "ready", "3 of 4", `${job} (1)`, "1.2.0 \uFFFD[31m", time, "docs", long],
    ["build-2", two, "ready", "4 of 4", "-", "1.2.0", time, "docs", "-"],
  ]);
  subject.clock.advance(60_001);
  expect(shown().map(([name, , state]) => [name, state])).toEqual([
    ["build-1", `away since ${time}`],
    ["build-2", `away since ${time}`],
  ]);
});

it("logs a line for each command, with ids and no token", async () => {
  await using subject = await ServiceUnderTest.start();
  subject.logger.lines.length = 0;
  const run = (command: StateCommand) => subject.service.runCommand(command);
  const { text } = run({ name: "add-runner", runner: "build-1", projects: ["docs"] });
  const token = /RUNNER_TOKEN=(\S+)/.exec(text)?.[1] ?? "";
  // Somebody takes the token for the name.
  run({ name: "drain-runner", runner: token });
  run({ name: "remove-runner", runner: "build-1" });
  const runner_id = expect.stringMatching(/^runner_/) as string;
  expect(subject.logger.lines).toEqual([
    {
      level: "info",
      fields: { command: "add-runner", runner_id, projects: ["docs"] },
      message: "command done",
    },
    { level: "info", fields: { command: "drain-runner" }, message: "command refused" },
    { level: "info", fields: { command: "remove-runner", runner_id }, message: "command done" },
  ]);
  expect(JSON.stringify(subject.logger.lines)).not.toContain(token);
});
