import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ServiceProject } from "../../../src/service/config/config.ts";
import { fixtureAgent, inlineAgent, openRunnerWorld } from "../../support/runner-world.ts";

type World = Awaited<ReturnType<typeof openRunnerWorld>>;
type Context = ServiceProject["context"][number];

/** A repository besides the docs, with a tag that is older than its branch. */
async function addRepository(world: World): Promise<string> {
  const folder = world.dir.file("cli");
  await mkdir(join(folder, "src"), { recursive: true });
  const git = (...args: string[]) => world.git("-C", folder, ...args);
  await git("init", "--quiet", "--initial-branch=main");
  await writeFile(join(folder, "src/cli.ts"), 'const FLAG = "--old";\n');
  await git("add", "--all");
  await git("commit", "--quiet", "-m", "Old");
  await git("tag", "-a", "v1", "-m", "v1");
  await writeFile(join(folder, "src/cli.ts"), 'const FLAG = "--json";\n');
  await writeFile(join(folder, "big.bin"), "not wanted");
  await symlink("cli.ts", join(folder, "src/good"));
  await symlink("/etc/hostname", join(folder, "src/absolute"));
  await symlink("../../../outside", join(folder, "src/outside"));
  await git("add", "--all");
  await git("commit", "--quiet", "-m", "New");
  return folder;
}

function contextOf(repository: string, changes: Partial<Context> = {}): Context {
  return { name: "cli", repository, ref: "main", paths: [], publish: "allow", ...changes };
}

/** Writes down what it finds, and tries to change it. */
const READER = inlineAgent(`
  const folder = process.env.DOCS_AGENT_CONTEXT;
  const found = { folder, claims: process.env.DOCS_AGENT_CLAIMS, told: fs.readFileSync(0, "utf8") };
  if (folder) {
    const { execFileSync } = await import("node:child_process");
    const args = [folder + "/cli/", "-mindepth", "1", "-printf", "%P\\n"];
    found.names = execFileSync("find", args, { encoding: "utf8" }).trim().split("\\n").sort();
    found.text = fs.readFileSync(folder + "/cli/src/cli.ts", "utf8");
    for (const name of ["/cli/src/cli.ts", "/cli/new", "/new"]) {
      try { fs.writeFileSync(folder + name, "mine"); found.wrote = name; } catch (error) { found.code = error.code; }
    }
  }
  fs.writeFileSync("docs/found.json", JSON.stringify(found));
`);

async function foundIn(world: World) {
  return JSON.parse(await world.show("docs/found.json")) as Record<string, string> & { names: string[] };
}

it("shows an agent in the sandbox a context repository, which it can't change", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const folder = await addRepository(world);
  const result = await world.run(world.project(READER, { context: [contextOf(folder)] }));
  const commit = await world.git("-C", folder, "rev-parse", "main");
  expect(result).toMatchObject({
    kind: "pull-request",
    context: [{ name: "cli", commit }],
    leftOut: [],
  });
  const found = await foundIn(world);
  expect(found).toMatchObject({ folder: "/context", text: 'const FLAG = "--json";\n', code: "EROFS" });
  expect(found["wrote"]).toBeUndefined();
  expect(found["told"]).toContain(`- \`cli\`: /context/cli, at commit ${commit}`);
  expect(found["claims"]).toBe("/tmp/claims.json");
  expect(await world.changed()).toEqual(["docs/found.json"]);
});

it("keeps only links whose words lead inside", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const folder = await addRepository(world);
  await world.run(world.project(READER, { context: [contextOf(folder)] }));
  const { names } = await foundIn(world);
  expect(names).toContain("src/good");
  for (const name of ["src/absolute", "src/outside"]) expect(names).not.toContain(name);
});

it("shows the files of a tag that the globs name, and those alone", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const folder = await addRepository(world);
  const context = [contextOf(folder, { ref: "v1", paths: ["src/**"] })];
  const result = await world.run(world.project(READER, { context }));
  const commit = await world.git("-C", folder, "rev-parse", "v1^{commit}");
  expect(result).toMatchObject({ context: [{ name: "cli", commit }] });
  const found = await foundIn(world);
  expect(found).toMatchObject({ text: 'const FLAG = "--old";\n', names: ["src", "src/cli.ts"] });
});

it("gives an agent without a sandbox the same folder outside of its tree", async () => {
  await using world = await openRunnerWorld({ remote: "folder", containment: "none" });
  const folder = await addRepository(world);
  const look = inlineAgent(`
    const folder = process.env.DOCS_AGENT_CONTEXT;
    const text = fs.readFileSync(folder + "/cli/src/cli.ts", "utf8");
    fs.writeFileSync("docs/found.json", JSON.stringify({ text, names: fs.readdirSync(".") }));
    fs.writeFileSync(folder + "/cli/src/cli.ts", "mine");
    fs.writeFileSync(folder + "/cli/new", "mine");
  `);
  const project = world.project(look, { context: [contextOf(folder)] });
  // What one turn's agent does there, the next one's doesn't find.
  for (const jobId of ["job1", "job2"]) {
    const result = await world.run(project, { jobId });
    expect(result).toMatchObject({ kind: "pull-request", leftOut: [] });
    const found = JSON.parse(await world.show("docs/found.json", `docs-agent/${jobId}`)) as Record<
      string,
      string
    >;
    expect(found).toMatchObject({ text: 'const FLAG = "--json";\n' });
    expect(found["names"]).not.toContain("context");
  }
});

it("goes on without one that can't be fetched, and says so", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const gone = contextOf(world.dir.file("gone"));
  const result = await world.run(world.project(READER, { context: [gone] }));
  const note = "The agent worked without the context repository cli, which couldn't be read.";
  expect(result).toMatchObject({ kind: "pull-request", context: [], notes: [note] });
  const found = await foundIn(world);
  expect(found["told"]).toContain("couldn't be read this time: cli");
  expect(found.folder).toBeUndefined();
});

it("keeps its files for the job's next turn, and brings these up to date", { tags: "all" }, async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const folder = await addRepository(world);
  const look = inlineAgent(`
    const { ino } = fs.statSync("/context/cli/big.bin");
    const text = fs.readFileSync("/context/cli/src/cli.ts", "utf8");
    fs.writeFileSync("docs/found.json", JSON.stringify({ ino, text }));
  `);
  const project = world.project(look, { context: [contextOf(folder)] });
  await world.run(project);
  const first = await foundIn(world);
  await writeFile(join(folder, "src/cli.ts"), 'const FLAG = "--new";\n');
  await world.git("-C", folder, "commit", "--quiet", "--all", "-m", "Newer");
  await world.run(project, { earlierTurns: [{ prompt: "Look", summary: null }] });
  expect(await foundIn(world)).toEqual({ ino: first["ino"], text: 'const FLAG = "--new";\n' });
});

it("tells both kinds of agents the whole brief, with the project's own words", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const own = { instructions: "Say Acme Cloud. {{docs}} $&", styleGuide: ["docs/STYLE.md"] };
  const command = world.project(READER);
  await world.run({ ...command, agent: { ...command.agent, ...own } }, { prompt: "Fix it" });
  await world.run(world.acpProject(fixtureAgent("session-agent.mjs", "{}"), own), {
    jobId: "job2",
    prompt: "Fix it",
  });
  const briefs = world.told("brief");
  expect(briefs).toHaveLength(2);
  for (const brief of briefs) {
    expect(brief).toMatch(/^# Your task\n/);
    expect(brief).toMatch(/\n\nNow:\nFix it$/);
    expect(brief).toContain(own.instructions);
    expect(brief).toContain("that isn't there: `docs/STYLE.md`");
    expect(brief).toContain("are kept: `**/*.md`, `docs/**`");
    expect(brief).toContain("Nobody can answer you while you work.");
    expect(brief.replace(own.instructions, () => "x")).not.toMatch(/\{\{|Context repositories|\n\n\n/);
  }
  expect(briefs[0]).toBe((await foundIn(world))["told"]);
  const asking = world.acpProject(fixtureAgent("session-agent.mjs", "{}"), { permissions: "ask" });
  await world.run(asking, { jobId: "job3" });
  const brief = world.told("brief")[2];
  expect(brief).toContain("ask. Ask once");
  expect(brief).not.toContain("Nobody can answer you");
});

it(
  "reads one with credentials of its own, which nobody is told, and goes on without one whose are wrong",
  { tags: "all" },
  async () => {
    await using world = await openRunnerWorld({ remote: "folder" });
    world.env["CLI_TOKEN"] = world.token;
    world.env["WRONG_TOKEN"] = "wrong-0123456789abcdef";
    const repository = world.codeHost.gitUrl("acme", "docs");
    const look = inlineAgent(`
    const env = fs.readFileSync("/proc/self/environ", "utf8") + fs.readFileSync(0, "utf8");
    const names = fs.readdirSync("/context");
    fs.writeFileSync("docs/found.json", JSON.stringify({ names, hasToken: env.includes("ghp_") }));
  `);
    const context = [
      contextOf(repository, { gitCredentialsEnv: "CLI_TOKEN" }),
      contextOf(repository, { name: "refused", gitCredentialsEnv: "WRONG_TOKEN" }),
    ];
    const result = await world.run(world.project(look, { context, agentEnv: ["CLI_TOKEN"] }));
    expect(result).toMatchObject({ context: [{ name: "cli" }], notes: [expect.stringContaining("refused")] });
    expect(await foundIn(world)).toMatchObject({ names: ["cli"], hasToken: false });
    const left = (await world.said(result)) + (await world.stored());
    for (const secret of [world.token, "wrong-0123456789abcdef"]) expect(left).not.toContain(secret);
  },
);
