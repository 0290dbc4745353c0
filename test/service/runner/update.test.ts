import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { TransientRunError } from "../../../src/service/base/run-error.ts";
import type { RunTurnResult } from "../../../src/service/runner/runner.ts";
import { forkAt } from "../../../src/service/config/repository.ts";
import { SETTINGS } from "../../support/pull-request-texts.ts";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";

type World = Awaited<ReturnType<typeof openRunnerWorld>>;

const BRANCH = "docs-agent/job1";
const PAGE = "docs/quickstart.md";
const UPDATE = "Bring the branch up to date.";
const FIRST = { prompt: "Fix the typo", summary: "Correct the typo\n\n- docs/quickstart.md: instal" };

/** An agent that fails its turn, for turns that must not start one. */
const NO_AGENT = ["false"];
/** Replaces `from` with `to` in the quickstart. */
const replacing = (from: string, to: string) =>
  inlineAgent(
    `fs.writeFileSync("${PAGE}", fs.readFileSync("${PAGE}", "utf8").replace(${JSON.stringify(from)}, ${JSON.stringify(to)})); console.log(${JSON.stringify(FIRST.summary)});`,
  );
const FIXES = replacing("Instal it", "Install it");

async function begun(world: World): Promise<void> {
  expect(await world.run(world.project(FIXES))).toMatchObject({ kind: "pull-request" });
}

function update(world: World, command: string[] = NO_AGENT, changes = {}): Promise<RunTurnResult> {
  const input = { kind: "update" as const, prompt: UPDATE, words: null, earlierTurns: [FIRST] };
  return world.run(world.project(command, changes), input);
}

const parentsOf = async (world: World, branch = BRANCH) =>
  (await world.inBare("log", "-1", "--format=%P", branch)).split(" ");

it("merges the base branch without an agent, and leaves the text as it was", async () => {
  await using world = await openRunnerWorld();
  await begun(world);
  const before = await world.inBare("rev-parse", BRANCH);
  const [{ title, body } = { title: "", body: "" }] = world.pulls();
  await world.commitTo("main", { "src/index.js": "console.log(2);\n", "docs/faq.md": "# FAQ\n" }, "Others");
  const main = await world.inBare("rev-parse", "main");
  expect(await update(world)).toMatchObject({
    kind: "pull-request",
    summary: "Merged main into the branch",
    pullRequest: { number: 1, headSha: await world.inBare("rev-parse", BRANCH) },
  });
  expect(await parentsOf(world)).toEqual([before, main]);
  expect(await world.inBare("log", "-1", "--format=%B", BRANCH)).toMatch(
    /^Merge branch 'main' into docs-agent\/job1\n\nDocs-Agent-Job: job1\nDocs-Agent-Turn: 2-[0-9a-f]{16}$/,
  );
  expect(await world.changed()).toEqual([PAGE]);
  expect(await world.show("src/index.js")).toBe("console.log(2);");
  expect(world.pulls()).toEqual([expect.objectContaining({ title, body, state: "open" })]);
  expect(world.told("agentRuns")).toHaveLength(1);
  expect((await world.diff())?.files.map(({ path }) => path)).toEqual([PAGE]);

  expect(await update(world)).toMatchObject({
    kind: "pull-request",
    pullRequest: { headSha: await world.inBare("rev-parse", BRANCH) },
  });
  expect(await world.commits()).toBe(2);
});

it("says that there is nothing to bring, or nothing to bring it to", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await begun(world);
  expect(await update(world)).toMatchObject({
    kind: "no-changes",
    reason: "The branch already has everything from main.",
  });
  await world.asPerson("PATCH", "1", { state: "closed" });
  await world.commitTo("main", { "docs/faq.md": "# FAQ\n" }, "Others");
  expect(await update(world)).toMatchObject({
    kind: "no-changes",
    reason: "#1 was closed without merging.",
  });
  await world.asPerson("PATCH", "1", { state: "open", base: "main" });
  await world.asPerson("PUT", "1/merge", {});
  expect(await update(world)).toMatchObject({ kind: "no-changes", reason: "#1 was merged." });
  expect(await world.commits()).toBe(0);
});

it("has the agent resolve conflicts in pages, and takes nothing else of what it changed", async () => {
  await using world = await openRunnerWorld();
  await begun(world);
  const before = await world.inBare("rev-parse", BRANCH);
  await world.commitTo(
    "main",
    { [PAGE]: "# Quickstart\n\nInstal it now.\n", "docs/faq.md": "# FAQ\n" },
    "Now",
  );
  const main = await world.inBare("rev-parse", "main");
  const resolves = inlineAgent(
    `const seen = fs.readFileSync("${PAGE}", "utf8"); if (!/<<<<<<< [^]*Install it\\.\\n\\|{7} [^]*=======\\nInstal it now\\.\\n>>>>>>> /.test(seen)) process.exit(1);` +
      `fs.writeFileSync("${PAGE}", "# Quickstart\\n\\nInstall it now.\\n"); fs.writeFileSync("docs/faq.md", "# Mine\\n"); fs.writeFileSync("docs/new.md", "# New\\n"); console.log("Resolved");`,
  );
  const result = await update(world, resolves);
  expect(result).toMatchObject({
    kind: "pull-request",
    notes: ["The agent resolved conflicts in docs/quickstart.md."],
  });
  expect(await parentsOf(world)).toEqual([before, main]);
  expect(await world.show(PAGE)).toBe("# Quickstart\n\nInstall it now.");
  expect(await world.changed()).toEqual([PAGE]);
  expect(await world.show("docs/faq.md")).toBe("# FAQ");
  const [brief = ""] = world.told("brief").slice(-1);
  expect(brief).toContain("- docs/quickstart.md\n");
  expect(brief).toContain("> +Instal it now.");
  expect(brief).toContain("> +Install it.");
  expect(world.pulls()).toHaveLength(1);
});

it("leaves conflicts outside the docs to people, and names some of the files", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await begun(world);
  const files = Object.fromEntries(["a", "b", "c", "d"].map((name) => [`src/${name}.js`, "1\n"]));
  await world.commitTo(BRANCH, files, "By hand");
  const theirs = Object.fromEntries(Object.keys(files).map((path) => [path, "2\n"]));
  await world.commitTo("main", { ...theirs, [PAGE]: "# Quickstart\n\nInstal it now.\n" }, "Others");
  const before = await world.inBare("rev-parse", BRANCH);
  expect(await update(world)).toEqual({
    kind: "failed",
    reason:
      "There are conflicts with main in src/a.js, src/b.js, src/c.js and 1 more, which aren't documentation. Resolve them by hand.",
  });
  expect(await world.inBare("rev-parse", BRANCH)).toBe(before);
});

const withoutLines = (pattern: string) =>
  inlineAgent(
    `fs.writeFileSync("${PAGE}", fs.readFileSync("${PAGE}", "utf8").replace(/^(${pattern}).*\\n/gm, ""));`,
  );

const indented = (indent: string) =>
  inlineAgent(
    `fs.writeFileSync("${PAGE}", fs.readFileSync("${PAGE}", "utf8").replace(/^./gm, "${indent}$&"));`,
  );

it.each<[what: string, command: string[]]>([
  ["does nothing", ["true"]],
  ["leaves the last mark", withoutLines("<<<<<<<|=======|[|]{7}")],
  ["leaves the line between", withoutLines("<<<<<<<|>>>>>>>|[|]{7}")],
  ["indents them", indented("  ")],
  ["puts them into a list", indented("- ")],
  ["puts them into a quote", indented("> ")],
])("doesn't push pages with marks of a conflict: an agent that %s", async (_what, command) => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await begun(world);
  await world.commitTo("main", { [PAGE]: "# Quickstart\n\nInstal it now.\n" }, "Others");
  const before = await world.inBare("rev-parse", BRANCH);
  expect(await update(world, command)).toEqual({
    kind: "failed",
    reason: "The agent left conflicts in docs/quickstart.md. Resolve them by hand.",
  });
  expect(await world.inBare("rev-parse", BRANCH)).toBe(before);
});

it("tells the agent once that marks are left", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await begun(world);
  await world.commitTo("main", { [PAGE]: "# Quickstart\n\nInstal it now.\n" }, "Others");
  const seesIt = inlineAgent(`
    const told = fs.readFileSync(0, "utf8");
    const marks = told.includes("- ${PAGE} still has marks of a conflict") ? /^(?:[<|=>]{7}|Instal ).*\\n/gm : /^<{7}.*\\n/gm;
    fs.writeFileSync("${PAGE}", fs.readFileSync("${PAGE}", "utf8").replace(marks, ""));
    console.log("Resolved");
  `);
  expect(await update(world, seesIt)).toMatchObject({
    kind: "pull-request",
    notes: ["The agent resolved conflicts in docs/quickstart.md."],
  });
  expect(await world.show(PAGE)).toBe("# Quickstart\n\nInstall it.");
  expect(world.told("agentRuns")).toHaveLength(3);
});

it.each([
  ["goes, too", [`fs.rmSync("${PAGE}")`], []],
  ["stays as the job left it", ['console.log("It is still needed.")'], [PAGE]],
])("has the agent decide about a page that the base branch removed: it %s", async (_what, acts, changed) => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await begun(world);
  const copy = world.dir.file("copy");
  await world.git("clone", "-q", world.bare, copy);
  await world.git("-C", copy, "rm", "-q", PAGE);
  await world.git("-C", copy, "commit", "-q", "-m", "Remove the page");
  await world.git("-C", copy, "push", "-q");
  const result = await update(world, inlineAgent(acts.join(";")));
  expect(result).toMatchObject({ pullRequest: changed.length === 0 ? { isEmpty: true } : {} });
  expect(await world.changed()).toEqual(changed);
});

/** A world whose job has changed one of `files`, and whose base branch `base` changes in a clone. */
async function openParted(
  files: Record<string, string | Buffer>,
  job: string,
  base: (git: (...words: string[]) => Promise<unknown>, folder: string) => Promise<unknown>,
) {
  const world = await openRunnerWorld({ ...LOGIC_ONLY, files });
  await world.run(world.project(inlineAgent(`${job}; console.log("Change it");`), { docs: ["docs/**"] }));
  const copy = world.dir.file("copy");
  await world.git("clone", "-q", world.bare, copy);
  const git = (...words: string[]) => world.git("-C", copy, ...words);
  await base(git, copy);
  await git("commit", "-q", "-a", "-m", "By a person");
  await git("push", "-q");
  return world;
}

it("takes no silence for a decision about a page that the base branch removed", async () => {
  const job = `fs.appendFileSync("${PAGE}", "More.\\n")`;
  await using world = await openParted({ [PAGE]: "# Quickstart\n" }, job, (git) => git("rm", "-q", PAGE));
  const before = await world.inBare("rev-parse", BRANCH);
  expect(await update(world, ["true"])).toEqual({
    kind: "failed",
    reason: `The agent left conflicts in ${PAGE}. Resolve them by hand.`,
  });
  expect(await world.inBare("rev-parse", BRANCH)).toBe(before);
});

it("leaves pictures that both sides changed to people", async () => {
  const picture = "docs/start.png";
  const job = `fs.writeFileSync("${picture}", "\\0job\\0")`;
  await using world = await openParted({ [picture]: Buffer.from("\0old\0") }, job, (_git, copy) =>
    writeFile(join(copy, picture), "\0base\0"),
  );
  const before = await world.inBare("rev-parse", BRANCH);
  expect(await update(world, NO_AGENT, { docs: ["docs/**"] })).toEqual({
    kind: "failed",
    reason: `There are conflicts with main in ${picture}, where git can't show both versions. Resolve them by hand.`,
  });
  expect(await world.inBare("rev-parse", BRANCH)).toBe(before);
});

it("leaves links that both sides brought to people, and says that they are links", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await begun(world);
  const copy = world.dir.file("copy");
  await world.git("clone", "-q", world.bare, copy);
  const git = (...words: string[]) => world.git("-C", copy, ...words);
  for (const [branch, to] of [
    ["main", "v1.md"],
    [BRANCH, "v2.md"],
  ] as const) {
    await git("checkout", "-q", branch);
    await symlink(to, join(copy, "docs/latest.md"));
    await git("add", "docs/latest.md");
    await git("commit", "-q", "-m", "By a person");
    await git("push", "-q", "origin", branch);
  }
  const before = await world.inBare("rev-parse", BRANCH);
  expect(await update(world)).toEqual({
    kind: "failed",
    reason:
      "There are conflicts with main in docs/latest.md, where a link stands in place of a page. Resolve them by hand.",
  });
  expect(await world.inBare("rev-parse", BRANCH)).toBe(before);
});

it("tells the agent which side gave a page which name", async () => {
  const job = `fs.renameSync("${PAGE}", "docs/start.md")`;
  const text = "# Quickstart\n\nInstall it.\n\nRun it.\n";
  await using world = await openParted({ [PAGE]: text }, job, (git) => git("mv", PAGE, "docs/begin.md"));
  await update(world, inlineAgent(`fs.rmSync("docs/begin.md"); console.log("One page is enough.");`));
  const [brief = ""] = world.told("brief").slice(-1);
  expect(brief).toContain("- docs/begin.md (only main has it under this name)\n");
  expect(brief).toContain(`- ${PAGE} (both gave it another name)\n`);
  expect(brief).toContain("- docs/start.md (only this job has it under this name)\n");
  expect(await world.inBare("ls-tree", "-r", "--name-only", BRANCH)).toBe("docs/start.md");
});

it("takes headings that both sides brought for no marks", async () => {
  const page = (middle: string) => `Install\n=======\n\n${middle}\n\n\nThe end of all.\n`;
  const brought = (title: string) => page(`${title}\n=======\n\nOf it.`);
  const job = `fs.writeFileSync("${PAGE}", ${JSON.stringify(brought("Upgrade"))})`;
  await using world = await openParted({ [PAGE]: page("Old.") }, job, (_git, copy) =>
    writeFile(join(copy, PAGE), brought("Removal")),
  );
  const both = page("Upgrade\n=======\n\nOf it.\n\nRemoval\n=======\n\nOf it.");
  const resolves = `fs.writeFileSync("${PAGE}", ${JSON.stringify(both)}); console.log("Keep both");`;
  expect(await update(world, inlineAgent(resolves))).toMatchObject({ kind: "pull-request" });
  expect(await world.show(PAGE)).toBe(both.trimEnd());
});

it("keeps what a person pushes while the base branch is merged: the turn starts again", async () => {
  await using world = await openRunnerWorld();
  await begun(world);
  await world.commitTo("main", { "docs/faq.md": "# FAQ\n" }, "Others");
  let isPushed = false;
  world.gitHttp.before = async (request) => {
    if (isPushed || !request.includes("git-receive-pack")) return;
    isPushed = true;
    await world.commitTo(BRANCH, { "docs/theirs.md": "# Theirs\n" }, "By hand");
  };
  await expect(update(world)).rejects.toThrow(TransientRunError);
  expect(await update(world)).toMatchObject({ kind: "pull-request" });
  expect(await world.changed()).toEqual([PAGE, "docs/theirs.md"]);
  expect(await world.show("docs/faq.md")).toBe("# FAQ");
});

it("lets later turns build on the merge, with a text that tells no more than what they changed", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await begun(world);
  await world.commitTo("main", { "docs/faq.md": "# FAQ\n" }, "Others");
  await update(world);
  const more = inlineAgent(`fs.writeFileSync("docs/more.md", "# More\\n"); console.log("Add a page");`);
  const earlier = { prompt: UPDATE, words: null, summary: "Merged main into the branch" };
  expect(
    await world.run(world.project(more), { prompt: "Add more", earlierTurns: [FIRST, earlier] }),
  ).toMatchObject({
    kind: "pull-request",
  });
  expect(await world.changed()).toEqual(["docs/more.md", PAGE]);
  const [pull] = world.pulls();
  expect(pull?.title).not.toMatch(/job1|Merge/);
  expect(pull?.body).not.toMatch(/Merged main|up to date|faq/);
  const back = inlineAgent(
    `fs.rmSync("docs/more.md"); fs.writeFileSync("${PAGE}", "# Quickstart\\n\\nInstal it.\\n"); console.log("Take it back");`,
  );
  const third = { prompt: "Add more", summary: "Add a page" };
  const taken = { prompt: "Take all back", earlierTurns: [FIRST, earlier, third] };
  expect(await world.run(world.project(back), taken)).toMatchObject({ pullRequest: { isEmpty: true } });
  expect(world.pulls()[0]?.body).toContain("the last follow-up took everything back");
});

it("says so if the base branch has the same change already", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await begun(world);
  await world.commitTo("main", { [PAGE]: "# Quickstart\n\nInstall it.\n" }, "The same");
  expect(await update(world)).toMatchObject({ pullRequest: { isEmpty: true } });
  expect(world.pulls()[0]?.body).toContain("the base branch has the same changes already");
});

it("is committed by the code host if the settings say so, also where the agent resolved conflicts", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const commits = { signOff: false, signingKeyFile: null, by: "api" as const };
  expect(await world.run(world.project(FIXES, { commits }))).toMatchObject({ kind: "pull-request" });
  const before = await world.inBare("rev-parse", BRANCH);
  await world.commitTo("main", { "src/index.js": "console.log(2);\n" }, "Others");
  const main = await world.inBare("rev-parse", "main");
  let pushes = 0;
  world.gitHttp.before = async (request) => void (pushes += request.includes("receive-pack") ? 1 : 0);
  expect(await update(world, NO_AGENT, { commits })).toMatchObject({ kind: "pull-request" });
  expect(await parentsOf(world)).toEqual([before, main]);
  expect(await world.show("src/index.js")).toBe("console.log(2);");

  await world.commitTo("main", { [PAGE]: "# Quickstart\n\nInstal it now.\n" }, "Others");
  const merged = await world.inBare("rev-parse", BRANCH);
  const resolves = inlineAgent(`fs.writeFileSync("${PAGE}", "# Quickstart\\n\\nInstall it now.\\n");`);
  const earlier = { prompt: UPDATE, words: null, summary: "Merged main into the branch" };
  const again = { kind: "update" as const, prompt: UPDATE, words: null, earlierTurns: [FIRST, earlier] };
  let isPushed = false;
  world.api.before = async (request) => {
    if (isPushed || !request.startsWith("PATCH") || !request.includes("/git/refs/")) return;
    isPushed = true;
    await world.commitTo(BRANCH, { "docs/theirs.md": "# Theirs\n" }, "By hand");
  };
  await expect(world.run(world.project(resolves, { commits }), again)).rejects.toThrow(TransientRunError);
  const theirs = await world.inBare("rev-parse", BRANCH);
  expect(await world.inBare("log", "-1", "--format=%P", BRANCH)).toBe(merged);
  expect(await world.run(world.project(resolves, { commits }), again)).toMatchObject({
    kind: "pull-request",
  });
  expect(await parentsOf(world)).toEqual([theirs, await world.inBare("rev-parse", "main")]);
  expect(await world.show(PAGE)).toBe("# Quickstart\n\nInstall it now.");
  expect(await world.changed()).toEqual([PAGE, "docs/theirs.md"]);
  expect(pushes).toBe(0);
});

it("merges into the branch of a fork", { tags: "all" }, async () => {
  await using world = await openRunnerWorld({ containment: "none" });
  await world.codeHost.fork("acme", "docs", "docs-bot");
  const project = {
    pullRequests: { ...SETTINGS, fork: "docs-bot/docs" },
    fork: forkAt(world.codeHost.gitUrl("acme", "docs"), "acme/docs", "docs-bot/docs"),
  };
  expect(await world.run(world.project(FIXES, project))).toMatchObject({ kind: "pull-request" });
  await world.commitTo("main", { "docs/faq.md": "# FAQ\n" }, "Others");
  expect(await update(world, NO_AGENT, project)).toMatchObject({ kind: "pull-request" });
  const fork = world.bare.replace("acme/docs.git", "docs-bot/docs.git");
  expect(await world.git("-C", fork, "show", `${BRANCH}:docs/faq.md`)).toBe("# FAQ");
  expect(await world.branches()).toEqual(["main"]);
});

it.each(["git", "api"] as const)(
  "is pushed once, whichever answer of a server is lost: commits by %s",
  { tags: "all", timeout: 400_000 },
  async (by) => {
    const commits = { signOff: false, signingKeyFile: null, by };
    let lost = 0;
    for (let isOver = false; !isOver; lost += 1) {
      await using world = await openRunnerWorld({ containment: "none" });
      await begun(world);
      const before = await world.inBare("rev-parse", BRANCH);
      await world.commitTo("main", { "docs/faq.md": "# FAQ\n" }, "Others");
      let seen = 0;
      world.codeHost.traffic.fault = () => ((seen += 1) === lost + 1 ? { kind: "drop-after" } : undefined);
      const first = await update(world, NO_AGENT, { commits }).catch((error: unknown) => error);
      const result = first instanceof Error ? await update(world, NO_AGENT, { commits }) : first;
      expect(result, `after the answer ${lost + 1}`).toMatchObject({ kind: "pull-request" });
      expect(await parentsOf(world)).toEqual([before, await world.inBare("rev-parse", "main")]);
      expect(world.pulls()).toHaveLength(1);
      isOver = seen <= lost;
    }
    expect(lost).toBeGreaterThan(5);
  },
);
