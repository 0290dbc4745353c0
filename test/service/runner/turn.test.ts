import { readdir } from "node:fs/promises";
import { expect, it } from "vitest";
import { inlineAgent, openRunnerWorld } from "../../support/runner-world.ts";

const FIX = inlineAgent(`
  const text = fs.readFileSync("README.md", "utf8");
  fs.writeFileSync("README.md", text.replace("Teh", "The"));
  fs.writeFileSync("src/index.js", "changed");
  console.log("Fix a typo in the readme");
`);

const MUST_NOT_RUN = inlineAgent(`fs.writeFileSync("docs/second.md", "a second agent ran")`);

it("turns a change into one commit and one pull request with the right files", async () => {
  await using world = await openRunnerWorld();
  const result = await world.run(world.project(FIX));
  expect(result).toEqual({
    kind: "pull-request",
    prLink: `${world.codeHost.url}/acme/docs/pull/1`,
    pullRequest: {
      url: `${world.codeHost.url}/acme/docs/pull/1`,
      number: 1,
      title: "Fix a typo in the readme",
      state: "open",
      files: 1,
      additions: 1,
      deletions: 1,
      headRef: "docs-agent/job1",
      headSha: expect.stringMatching(/^[0-9a-f]{40}$/) as string,
      isDraft: false,
      pages: [{ path: "README.md", status: "changed", additions: 1, deletions: 1, words: null }],
    },
    summary: "Fix a typo in the readme",
    leftOut: ["src/index.js"],
    checks: [],
    claims: { total: 0, verified: 0 },
    context: [],
    notes: [],
  });
  expect(await world.changed()).toEqual(["README.md"]);
  expect(await world.show("README.md")).toContain("The product");
  expect(await world.commits()).toBe(1);
  expect(await world.inBare("log", "-1", "--format=%an <%ae>%n%cn <%ce>%n%s", "docs-agent/job1")).toMatch(
    /^(docs-agent <\d+\+docs-agent@users\.noreply\.github\.com>)\n\1\nFix a typo in the readme$/,
  );
  expect(world.pulls()).toHaveLength(1);
  expect(world.pulls()[0]).toMatchObject({ title: "Fix a typo in the readme", base: "main" });
  expect(world.pulls()[0]?.body).toContain("> Fix the typo");
  expect(world.pulls()[0]?.body).toContain("- `src/index.js`");
  expect(await readdir(world.dir.file("data/worktrees"))).toEqual([]);
  expect(await readdir(world.dir.file("data/scratch"))).toEqual([]);
});

it("ends with no changes, and no branch, when the agent changes nothing", async () => {
  await using world = await openRunnerWorld();
  expect(await world.run(world.project(inlineAgent(`console.log("All is well")`)))).toEqual({
    kind: "no-changes",
    summary: "All is well",
    reason: null,
    leftOut: [],
    context: [],
    notes: [],
  });
  expect(await world.branches()).toEqual(["main"]);
  expect(world.pulls()).toEqual([]);
});

it("says what was left out when nothing inside the documentation changed", async () => {
  await using world = await openRunnerWorld();
  const result = await world.run(world.project(inlineAgent(`fs.writeFileSync("src/index.js", "x")`)));
  expect(result).toMatchObject({
    kind: "no-changes",
    reason: expect.stringContaining("src/index.js"),
    leftOut: ["src/index.js"],
  });
});

it("adds a commit to the same pull request in a second turn, which knows the first", async () => {
  await using world = await openRunnerWorld();
  const first = await world.run(world.project(FIX));
  const heard = inlineAgent(`
    const prompt = fs.readFileSync(0, "utf8");
    fs.appendFileSync("docs/quickstart.md", fs.readFileSync("README.md", "utf8") + prompt);
    console.log("Second");
  `);
  const second = await world.run(world.project(heard), {
    prompt: "Now the quickstart",
    earlierTurns: [{ prompt: "Fix the typo", summary: "Fix a typo in the readme" }],
  });
  expect(second).toMatchObject({
    kind: "pull-request",
    prLink: first.kind === "pull-request" && first.prLink,
  });
  expect(await world.commits()).toBe(2);
  expect(world.pulls()).toHaveLength(1);
  expect(world.pulls()[0]?.body).toContain("> Now the quickstart");
  expect(world.pulls()[0]?.body).toContain("> Fix the typo");
  const text = await world.show("docs/quickstart.md");
  for (const part of [
    "The product",
    "Fix the typo",
    "Fix a typo in the readme",
    "Now:\nNow the quickstart",
  ]) {
    expect(text).toContain(part);
  }
});

it("keeps what people wrote into the pull request", async () => {
  await using world = await openRunnerWorld();
  await world.run(world.project(FIX));
  await world.asPerson("PATCH", "1", { body: `Reviewed by Ana.\n\n${world.pulls()[0]?.body}` });
  await world.run(world.project(inlineAgent(`fs.writeFileSync("docs/new.md", "new")`)), {
    prompt: "More",
    earlierTurns: [{ prompt: "Fix the typo", summary: null }],
  });
  expect(world.pulls()[0]?.body).toMatch(/^Reviewed by Ana\.\n\n<!-- docs-agent:start -->/);
  expect(world.pulls()[0]?.body).toContain("> More");
});

it("starts from the base again and opens another pull request when the first was merged", async () => {
  await using world = await openRunnerWorld();
  await world.run(world.project(FIX));
  // The base has the content in a commit of its own.
  await world.asPerson("PUT", "1/merge", { merge_method: "squash" });
  const result = await world.run(world.project(inlineAgent(`fs.writeFileSync("docs/new.md", "new")`)), {
    prompt: "More",
    earlierTurns: [{ prompt: "Fix the typo", summary: null }],
  });
  expect(result).toMatchObject({ kind: "pull-request", prLink: `${world.codeHost.url}/acme/docs/pull/2` });
  expect(await world.commits()).toBe(1);
  expect(await world.changed()).toEqual(["docs/new.md"]);
});

it("handles deletions, renames, binary files and executable bits", async () => {
  await using world = await openRunnerWorld();
  const agent = inlineAgent(`
    fs.renameSync("docs/quickstart.md", "docs/start.md");
    fs.writeFileSync("docs/image.png", Buffer.from([0, 1, 2, 255, 13, 10]));
    fs.chmodSync("README.md", 0o755);
    fs.chmodSync("docs/image.png", 0o755);
  `);
  await world.run(world.project(agent));
  expect(await world.changed()).toEqual(
    ["docs/image.png", "docs/quickstart.md", "docs/start.md"].filter((name) => name !== "docs/quickstart.md"),
  );
  expect(await world.inBare("ls-tree", "-r", "--format=%(objectmode) %(path)", "docs-agent/job1")).toBe(
    [
      "100644 .github/workflows/ci.yml",
      "100644 README.md",
      "100644 docs/.gitignore",
      "100644 docs/image.png",
      "100644 docs/start.md",
      "100644 src/index.js",
    ].join("\n"),
  );
});

it("leaves out links, what the repository ignores and installed packages", async () => {
  await using world = await openRunnerWorld();
  const agent = inlineAgent(`
    fs.symlinkSync("/etc/passwd", "docs/passwd.md");
    fs.rmSync("README.md"); fs.symlinkSync("docs/quickstart.md", "README.md");
    fs.mkdirSync("docs/drafts"); fs.writeFileSync("docs/drafts/a.md", "draft");
    fs.mkdirSync("node_modules/x", { recursive: true }); fs.writeFileSync("node_modules/x/README.md", "x");
    fs.linkSync("docs/quickstart.md", "docs/hard.md");
    fs.writeFileSync("docs/good.md", "good");
  `);
  const result = await world.run(world.project(agent));
  expect(await world.changed()).toEqual(["docs/good.md"]);
  expect(result).toMatchObject({
    leftOut: [
      "README.md",
      "docs/drafts/a.md",
      "docs/hard.md",
      "docs/passwd.md",
      "docs/quickstart.md",
      "node_modules/",
    ],
  });
});

it("commits a page whose name git could take for more than a name", async () => {
  await using world = await openRunnerWorld();
  const names = [":!notes.md", ":(glob)all.md", ":page.md", "*.md", "-z.md"];
  const agent = inlineAgent(`
    for (const name of ${JSON.stringify(names)}) fs.writeFileSync(name, "new");
    fs.mkdirSync("docs/drafts"); fs.writeFileSync("docs/drafts/:a.md", "draft");
  `);
  expect(await world.run(world.project(agent, { portableNames: false }))).toMatchObject({
    leftOut: ["docs/drafts/:a.md"],
  });
  expect(await world.changed()).toEqual(names.toSorted());
});

it("does not take a folder that became a link for a deletion", async () => {
  await using world = await openRunnerWorld();
  const agent = inlineAgent(`
    fs.renameSync("docs", "moved"); fs.symlinkSync("moved", "docs"); fs.writeFileSync("README.md", "new");
  `);
  await world.run(world.project(agent));
  expect(await world.changed()).toEqual(["README.md", "moved/quickstart.md"]);
  expect(await world.show("docs/quickstart.md")).toContain("Instal");
});

it("works with a repository on this machine, without a token for it", async () => {
  await using world = await openRunnerWorld();
  expect(await world.run(world.project(FIX, { repository: world.bare }))).toMatchObject({
    kind: "pull-request",
  });
  expect(world.codeHost.traffic.requests.filter((request) => request.includes(".git/"))).toEqual([]);
});

it("ends with the branch when there is no code host, also when it runs again", async () => {
  await using world = await openRunnerWorld();
  const project = world.project(FIX, { repository: world.bare, codeHost: { kind: "none" } });
  const result = await world.run(project);
  expect(result).toEqual({
    kind: "branch",
    branch: "docs-agent/job1",
    summary: "Fix a typo in the readme",
    leftOut: ["src/index.js"],
    checks: [],
    claims: { total: 0, verified: 0 },
    context: [],
    notes: [],
  });
  expect(await world.changed()).toEqual(["README.md"]);
  const commit = await world.inBare("rev-parse", "docs-agent/job1");
  world.restart();
  expect(
    await world.run(world.project(MUST_NOT_RUN, { repository: world.bare, codeHost: { kind: "none" } })),
  ).toEqual(result);
  expect(await world.inBare("rev-parse", "docs-agent/job1")).toBe(commit);
});

it("leaves out a new file whose name differs from another's in case only", async () => {
  await using world = await openRunnerWorld();
  const agent = inlineAgent(`
    for (const path of ["readme.md", "Docs/other.md", "docs/New.md", "docs/new.md", "docs/\u00e9.md", "docs/e\u0301.md"]) {
      fs.mkdirSync(path.includes("/") ? path.split("/")[0] : ".", { recursive: true });
      fs.writeFileSync(path, path);
    }
    fs.renameSync("docs/quickstart.md", "docs/QuickStart.md");
  `);
  const result = await world.run(world.project(agent));
  // The first by name stays; a renamed file is no second one.
  expect(result).toMatchObject({ leftOut: ["Docs/other.md", "docs/new.md", "docs/\u00e9.md", "readme.md"] });
  const names = await world.inBare("ls-tree", "-r", "-z", "--name-only", "docs-agent/job1");
  const docs = names.split("\0").filter((name) => name.endsWith(".md"));
  expect(docs).toEqual(["README.md", "docs/New.md", "docs/QuickStart.md", "docs/e\u0301.md"]);
});
