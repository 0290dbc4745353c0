import { spawn } from "node:child_process";
import { randomInt, randomUUID } from "node:crypto";
import { access, mkdir, readdir, readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { processesOf } from "../../support/processes-of.ts";
import { fixtureAgent, inlineAgent, openRunnerWorld } from "../../support/runner-world.ts";

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
const hex = (text: string) => Buffer.from(text).toString("hex");

describe.each(["required", "none"] as const)("containment: %s", (containment) => {
  const options = { containment };
  const isHeld = containment === "required";

  it("runs nothing that an agent planted for git", async () => {
    await using world = await openRunnerWorld({ ...options, remote: "folder" });
    const mark = world.dir.file("mark");
    const agent = fixtureAgent("git-tampering.mjs", world.dir.file("data"), mark);
    const result = await world.run(world.project(agent));
    expect(result).toMatchObject({ kind: "pull-request" });
    expect(await world.changed()).toEqual(["docs/quickstart.md"]);
    // Once more: what was planted in the mirror must not run at the next fetch either.
    await world.run(world.project(inlineAgent("")), { jobId: "job2" });
    expect(await exists(mark)).toBe(false);
  });

  it("commits nothing through links", async () => {
    await using world = await openRunnerWorld({ ...options, remote: "folder" });
    const agent = inlineAgent(`
      fs.symlinkSync("/etc", "docs/etc"); fs.rmSync("docs/quickstart.md");
      fs.symlinkSync("/etc/passwd", "docs/quickstart.md"); fs.writeFileSync("docs/ok.md", "ok");
    `);
    await world.run(world.project(agent));
    expect(await world.changed()).toEqual(["docs/ok.md"]);
  });

  it("ends an agent at its time limit, with all that it started", { tags: "nightly" }, async () => {
    const clock = new ManualClock();
    await using world = await openRunnerWorld({ ...options, clock, remote: "folder" });
    const mark = randomUUID();
    const agent = inlineAgent(`
      process.on("SIGTERM", () => console.log("not yet")); console.log("hanging");
      setInterval(() => {}, 1000); // ${mark}
    `);
    const result = await world.run(world.project(agent), {
      onLine(line) {
        if (line === "hanging") clock.advance(60_000);
      },
    });
    expect(result).toMatchObject({
      kind: "failed",
      reason: "The agent reached its 1-minute limit.",
      cause: "time-limit",
    });
    expect(await processesOf(mark)).toEqual([]);
  });

  it("ends an agent that floods its output", async () => {
    await using world = await openRunnerWorld({ ...options, remote: "folder" });
    const agent = inlineAgent(`for (;;) fs.writeSync(1, "x".repeat(65536));`);
    expect(await world.run(world.project(agent))).toMatchObject({
      kind: "failed",
      reason: expect.stringContaining("output limit"),
    });
  });

  it("kills what forks an agent leaves in its group", async () => {
    await using world = await openRunnerWorld({ ...options, remote: "folder" });
    // As good as a name.
    const seconds = `3571.${randomInt(1e9, 1e10)}`;
    expect(await world.run(world.project(fixtureAgent("daemonize.mjs", seconds)))).toMatchObject({
      kind: "pull-request",
    });
    const left = await processesOf(`sleep ${seconds}`);
    // A session of its own escapes the group; said so in the docs.
    expect(left.length).toBe(isHeld ? 0 : 1);
    for (const pid of left) process.kill(Number(pid), "SIGKILL");
  });

  it("keeps credentials from the agent, and its own out of everything that is read", async () => {
    await using world = await openRunnerWorld(options);
    const { token, modelKey } = world;
    // As the service's own process, which has the token in its environment.
    const service = spawn("sleep", ["3600"], { env: { ...process.env, DOCS_TOKEN: token }, stdio: "ignore" });
    using _ = { [Symbol.dispose]: () => void service.kill("SIGKILL") };
    const agent = fixtureAgent("leak.mjs", hex(token), hex(modelKey));
    const result = await world.run(world.project(agent));
    expect(result).toMatchObject({ kind: "pull-request" });
    const said = await world.said(result);
    for (const secret of [
      token,
      modelKey,
      "nobody-should-see-this",
      Buffer.from(`x-access-token:${token}`).toString("base64"),
    ]) {
      expect(said).not.toContain(secret);
      expect(await world.stored()).not.toContain(secret);
    }
    expect(said).toContain("My key is [secret]");
    // A process group hides nothing that the service's user can read; said so in the docs.
    expect(await world.show("docs/report.md")).toBe(
      `own: does not see the token, sees the key\nothers: ${isHeld ? "does not see" : "sees"} the token`,
    );
    expect(said).toContain(
      "GIT_CEILING_DIRECTORIES HOME HTTPS_PROXY HTTP_PROXY LANG MODEL_KEY NODE_USE_ENV_PROXY",
    );
    const { title, body } = world.pulls()[0]!;
    expect(title).toContain("@\u200bana should know, fixes #\u200b1");
    expect(`${title}\n${body}`).not.toMatch(/@ana|#1\b/);
  });
});

it("fails when an agent exits with an error, with its last words redacted", async () => {
  await using world = await openRunnerWorld();
  const agent = fixtureAgent("leak.mjs", hex(world.token), hex(world.modelKey), "fail");
  const result = await world.run(world.project(agent));
  expect(result).toEqual({
    kind: "failed",
    reason: "The agent exited with code 1.",
    details: ["last words: key [secret]"],
    isCutOff: true,
  });
});

it("takes a short value for a secret if its variable is named like one", { tags: "all" }, async () => {
  await using world = await openRunnerWorld();
  Object.assign(world.env, { STYLE_PASSWORD: "hunter-2", DOCS_STYLE: "google-2" });
  const agentEnv = ["STYLE_PASSWORD", "DOCS_STYLE"];
  const writing = (name: string) =>
    world.run({
      ...world.project(inlineAgent(`fs.writeFileSync("docs/x.md", process.env.${name})`)),
      agentEnv,
    });
  expect(await writing("STYLE_PASSWORD")).toMatchObject({
    kind: "failed",
    reason: "The agent wrote a secret into docs/x.md. Nothing was pushed.",
  });
  expect(await world.branches()).toEqual(["main"]);
  expect(await writing("DOCS_STYLE")).toMatchObject({ kind: "pull-request" });
});

it("fails when an agent writes one of its secrets into a file", async () => {
  await using world = await openRunnerWorld();
  const result = await world.run(
    world.project(inlineAgent(`fs.writeFileSync("docs/key.md", "key: " + process.env.MODEL_KEY)`)),
  );
  expect(result).toMatchObject({
    kind: "failed",
    reason: expect.stringContaining("wrote a secret into docs/key.md"),
  });
  expect(await world.branches()).toEqual(["main"]);
});

it.each(["required", "none"] as const)(
  "fails when an agent cannot be started (containment: %s)",
  async (containment) => {
    await using world = await openRunnerWorld({ containment });
    expect(await world.run(world.project(["no-such-agent"]))).toMatchObject({
      kind: "failed",
      reason: "The agent couldn't be started.",
      details: [expect.stringContaining("agent.command")],
    });
  },
);

it.each([
  [
    "a file of more than 10 MB",
    `fs.writeFileSync("docs/big.png", Buffer.alloc(11 * 1024 * 1024))`,
    "docs/big.png has more than 10 MB.",
  ],
  [
    "more than 1,000 files",
    `for (let i = 0; i < 1001; i++) fs.writeFileSync("docs/" + i + ".md", "x")`,
    "The agent changed 1001 files; a pull request may have 1000.",
  ],
  [
    "many files with long paths",
    `const folder = "docs" + ("/" + "d".repeat(250)).repeat(14);
    fs.mkdirSync(folder, { recursive: true });
    process.chdir(folder);
    for (let i = 0; i < 5000; i++) fs.writeFileSync(i + ".md", "")`,
    "The agent left files behind whose paths have more than 16 million characters together.",
  ],
  [
    "folders nested too deep",
    `for (let i = 0; i < 500; i++) { fs.mkdirSync("dddddddddd"); process.chdir("dddddddddd"); }`,
    "The agent left folders more than 60 deep behind.",
  ],
])("fails when an agent leaves %s", async (_, source, reason) => {
  await using world = await openRunnerWorld();
  expect(await world.run(world.project(inlineAgent(source)))).toEqual({ kind: "failed", reason });
  expect(await readdir(world.dir.file("data/worktrees"))).toEqual([]);
});

it("keeps the rest when an agent leaves folders too deep for a path to name", { tags: "all" }, async () => {
  await using world = await openRunnerWorld();
  const agent = inlineAgent(`
    fs.writeFileSync("docs/ok.md", "ok");
    for (let i = 0; i < 20; i++) { fs.mkdirSync("d".repeat(250)); process.chdir("d".repeat(250)); }
  `);
  expect(await world.run(world.project(agent))).toMatchObject({ kind: "pull-request" });
  expect(await world.changed()).toEqual(["docs/ok.md"]);
  expect(await readdir(world.dir.file("data/worktrees"))).toEqual([]);
});

it("lets an agent write nowhere but in its own folders", async () => {
  await using world = await openRunnerWorld();
  const outside = world.dir.file("work-outside");
  const agent = fixtureAgent("write-outside.mjs", world.dir.file("data"), outside);
  await mkdir(outside);
  expect(await world.run(world.project(agent))).toMatchObject({ kind: "pull-request" });
  expect(await world.changed()).toEqual(["docs/quickstart.md"]);
  expect(await world.show("docs/quickstart.md")).toContain("mirrors visible: false");
  expect(await readdir(outside)).toEqual([]);
  expect(await exists(world.dir.file("data/planted"))).toBe(false);
  expect(await exists("/etc/docs-agent-planted")).toBe(false);
});

it("shows no credentials in git's arguments", async () => {
  await using world = await openRunnerWorld();
  const lines: string[] = [];
  world.gitHttp.before = async () => {
    for (const pid of await processesOf(world.codeHost.gitUrl("acme", "docs"))) {
      lines.push((await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).replaceAll("\0", " "));
    }
  };
  await world.run(world.project(inlineAgent(`fs.writeFileSync("docs/a.md", "a")`)));
  expect(lines.join("\n")).toContain("fetch");
  expect(lines.join("\n")).toContain("push");
  expect(lines.join("\n")).not.toContain(world.token);
  expect(lines.join("\n")).not.toContain(Buffer.from(`x-access-token:${world.token}`).toString("base64"));
});
