// @module-tag all

import { execFileSync } from "node:child_process";
import { readdir } from "node:fs/promises";
import { expect, it } from "vitest";
import { inlineAgent, openRunnerWorld, START_FILES } from "../../support/runner-world.ts";

const FILES = {
  ...START_FILES,
  "docs/deep/er/page.md": "deep\n",
  "docs/deep/other.md": "other\n",
  "docs/untouched/a.md": "a\n",
  "assets/logo.svg": "<svg/>\n",
  // Whatever these ask for, agents see the repository's own bytes.
  ".gitattributes": "*.md text eol=crlf\n*.svg ident filter=run\n",
  "docs/lines.md": "one\ntwo\n",
  "docs/ident.svg": "$Id$\n",
};

/** Writes what its tree holds, but for this very page, to a page. */
const REPORTING_AGENT = inlineAgent(`
  import { createHash } from "node:crypto";
  const lines = [];
  function look(folder) {
    for (const each of fs.readdirSync(folder, "latin1")) {
      const name = folder + "/" + each;
      const path = Buffer.from(name, "latin1");
      const stats = fs.lstatSync(path);
      if (stats.isDirectory()) {
        lines.push("folder " + (stats.mode & 0o777).toString(8) + " " + name);
        look(name);
        continue;
      }
      const content = stats.isSymbolicLink() ? fs.readlinkSync(path, "buffer") : fs.readFileSync(path);
      const oid = createHash("sha1").update("blob " + content.length + "\\0").update(content).digest("hex");
      lines.push([oid, stats.mode.toString(8), stats.nlink, name].join(" "));
    }
  }
  look(".");
  fs.writeFileSync("report.md", lines.sort().join("\\n"));
`);

/** All that an agent might do to a tree that another one gets later. */
const MESSING_AGENT = inlineAgent(`
  const at = new Date(0);
  fs.writeFileSync("README.md", "# Acme\\n\\nThe product.\\n"); fs.utimesSync("README.md", at, at);
  fs.renameSync("docs/deep", "docs/moved"); fs.mkdirSync("docs/deep"); fs.writeFileSync("docs/deep/secret.txt", "by-an-agent");
  fs.linkSync("assets/logo.svg", "assets/second-name.svg");
  fs.chmodSync("src/index.js", 0o777); fs.chmodSync("docs/untouched", 0o777);
  fs.mkdirSync("docs/untouched/.cache/a/b", { recursive: true });
  fs.writeFileSync("docs/untouched/.cache/a/b/left-behind", "by-an-agent");
  fs.writeFileSync(Buffer.from("docs/untouched/\\xff\\xfe", "latin1"), "by-an-agent");
  fs.rmSync(".github", { recursive: true }); fs.symlinkSync("/etc", ".github");
  fs.mkdirSync(".git"); fs.writeFileSync(".git/config", "by-an-agent");
  fs.rmSync("link.md"); fs.symlinkSync("docs/quickstart.md", "link.md");
`);

type World = Awaited<ReturnType<typeof openRunnerWorld>>;

async function withLink(): Promise<World> {
  const world = await openRunnerWorld({ remote: "folder", files: FILES });
  const work = world.dir.file("with-link");
  await world.git("clone", "--quiet", world.bare, work);
  execFileSync("ln", ["-s", "README.md", `${work}/link.md`]);
  await world.git("-C", work, "add", "--all");
  await world.git("-C", work, "commit", "--quiet", "-m", "A link");
  await world.git("-C", work, "push", "--quiet", world.bare, "HEAD:refs/heads/main");
  return world;
}

/** What an agent must find in its tree. */
async function treeOf(world: World, commit: string): Promise<string> {
  const listing = await world.inBare("ls-tree", "-r", "-t", commit);
  const lines = listing.split("\n").map((line) => {
    const [, mode = "", kind, oid, path] = /^(\d+) (\w+) (\w+)\t(.*)$/.exec(line) ?? [];
    if (kind === "tree") return `folder 755 ./${path}`;
    return `${oid} ${mode === "120000" ? "120777" : mode} 1 ./${path}`;
  });
  return lines.toSorted().join("\n");
}

it(
  "gives every turn the tree of its commit, whatever an earlier agent did to the tree that is used again",
  { tags: "nightly" },
  async () => {
    await using world = await withLink();
    const trees = world.dir.file("data/trees");
    await world.run(world.project(REPORTING_AGENT), { jobId: "fresh" });
    expect(await world.show("report.md", "docs-agent/fresh")).toBe(await treeOf(world, "main"));
    const kept = (await readdir(trees))[0];
    expect(kept).toBeDefined();

    for (const [round, files] of [{}, { "docs/new.md": "new\n", "README.md": "# Other\n" }].entries()) {
      await world.run(world.project(MESSING_AGENT), { jobId: `mess${round}` });
      // What is kept is none of the agent's.
      expect(await readdir(trees)).toHaveLength(1);
      expect(await world.stored()).not.toContain("by-an-agent");
      const names = await readdir(trees, { recursive: true });
      expect(names.filter((name) => /secret|second-name|moved|\.cache|\.git$/.test(name))).toEqual([]);

      await world.commitTo("main", files, "Meanwhile");
      await world.run(world.project(REPORTING_AGENT), { jobId: `after${round}` });
      expect(await world.show("report.md", `docs-agent/after${round}`)).toBe(await treeOf(world, "main"));
      // A turn whose agent changes nothing finds nothing changed.
      expect(await world.run(world.project(inlineAgent("")), { jobId: `idle${round}` })).toMatchObject({
        kind: "no-changes",
        summary: null,
        reason: null,
        leftOut: [],
      });
    }
  },
);

it("sees a change that hides behind the same size and the old times, in a fresh tree and in one used again", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const agent = inlineAgent(`
    const { atime, mtime } = fs.statSync("README.md");
    fs.writeFileSync("README.md", fs.readFileSync("README.md", "utf8").replace("Teh", "The"));
    fs.utimesSync("README.md", atime, mtime);
  `);
  for (const jobId of ["first", "second"]) {
    expect(await world.run(world.project(agent), { jobId })).toMatchObject({ kind: "pull-request" });
    expect(await world.changed(`docs-agent/${jobId}`)).toEqual(["README.md"]);
  }
});

it("begins with nothing after a restart, and removes the trees that were kept", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  await world.run(world.project(inlineAgent("")));
  const [before] = await readdir(world.dir.file("data/trees"));
  world.restart();
  let during: string[] = [];
  await world.run(world.project(inlineAgent(`console.log("here")`)), {
    jobId: "job2",
    onLine: (line) => {
      if (line !== "here") return;
      during = [...during, "running"];
    },
  });
  expect(before).toBeDefined();
  expect(during).toEqual(["running"]);
  expect(await readdir(world.dir.file("data/trees"))).toHaveLength(1);
});

it("keeps no more trees than turns ran at once, four at most", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const project = world.project(inlineAgent(""));
  const jobs = ["1", "2", "3", "4", "5"].map((n) => `j${n}`);
  await Promise.all(jobs.map((jobId) => world.run(project, { jobId })));
  const kept = (await readdir(world.dir.file("data/trees"))).length;
  expect(kept).toBeGreaterThan(0);
  expect(kept).toBeLessThanOrEqual(4);
});
