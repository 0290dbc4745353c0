// @module-tag all

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { DIFF_LIMITS } from "../../../src/shared/contract/diff.ts";
import { LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";

type World = Awaited<ReturnType<typeof openRunnerWorld>>;

const BRANCH = "docs-agent/job1";
const AGENT = [
  "sh",
  "-c",
  "echo more >> README.md; echo new > docs/new.md; rm docs/quickstart.md; echo Done",
];
const CHANGED = {
  files: [
    { path: "README.md", status: "changed", additions: 1, deletions: 0 },
    { path: "docs/new.md", status: "added", additions: 1, deletions: 0 },
    { path: "docs/quickstart.md", status: "removed", additions: 0, deletions: 3 },
  ],
  fileCount: 3,
  isCut: false,
};

async function changed(world: World): Promise<string> {
  await world.run(world.project(AGENT));
  return world.inBare("rev-parse", BRANCH);
}

const removeBranch = (world: World) => world.inBare("update-ref", "-d", `refs/heads/${BRANCH}`);

/**
 * Puts a commit with any content on the job's branch, as a person can, and `copies` more files with
 * the content of README.md.
 */
async function pushByHand(world: World, fill: (folder: string) => Promise<void>, copies = 0): Promise<void> {
  const work = world.dir.file(`hand-${Math.random().toString(36).slice(2)}`);
  // Git would pack so many files behind our back, while the folder is removed.
  await world.inBare("config", "receive.autogc", "false");
  await world.git(
    "clone",
    "--quiet",
    "--config=gc.auto=0",
    "--config=maintenance.auto=false",
    world.bare,
    work,
  );
  await fill(work);
  await world.git("-C", work, "add", "--all", "--force");
  const copied = await world.git("-C", work, "rev-parse", ":README.md");
  const entries = Array.from({ length: copies }, (_, n) => `100644 ${copied.trim()}\tdocs/many/${n}.md\n`);
  execFileSync("git", ["-C", work, "update-index", "--index-info"], { input: entries.join("") });
  await world.git("-C", work, "commit", "--quiet", "-m", "By hand");
  await world.git("-C", work, "push", "--quiet", "--force", "origin", `HEAD:refs/heads/${BRANCH}`);
}

it("tells what a job's branch changes, with what people added, and nothing of the base branch", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await changed(world);
  await world.commitTo("main", { "docs/later.md": "later\n" }, "Later");
  const diff = await world.diff();
  expect(diff).toMatchObject(CHANGED);
  expect(diff?.diff).toContain("diff --git a/README.md b/README.md");
  expect(diff?.diff).toContain("\n Teh product.\n+more\n");
  await world.commitTo(BRANCH, { "docs/new.md": "newer\n" }, "By hand");
  expect((await world.diff())?.diff).toContain("+newer");
});

it("names the nearest heading of each change", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const page = "## Limits\n\nEvery call\ncounts.\n\nLine\n";
  await world.commitTo("main", { "docs/limits.md": page }, "A page");
  await world.run(world.project(["sh", "-c", "echo More >> docs/limits.md; echo Done"]));
  expect((await world.diff())?.diff).toContain("@@ -4,3 +4,4 @@ ## Limits\n");
});

it.each(["merge", "squash"])(
  "tells it after a %s, with the branch left, and with it removed",
  async (method) => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const head = await changed(world);
    await world.asPerson("PUT", "1/merge", { merge_method: method });
    await world.commitTo("main", { "docs/later.md": "later\n" }, "Later");
    expect(await world.diff(head)).toMatchObject(CHANGED);
    await removeBranch(world);
    expect(await world.diff(head)).toMatchObject(CHANGED);
    // The runner's note of the turn is enough, too.
    expect(await world.diff()).toMatchObject(CHANGED);
  },
);

it("tells of a follow-up's own pull request what it changes, after both are merged", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await changed(world);
  await world.asPerson("PUT", "1/merge", { merge_method: "merge" });
  await world.run(world.project(["sh", "-c", "echo again >> README.md"]), {
    number: 2,
    prompt: "More",
    earlierTurns: [{ prompt: "Fix the typo", summary: null }],
  });
  await world.asPerson("PUT", "2/merge", { merge_method: "merge" });
  expect(await world.diff()).toMatchObject({ files: [{ path: "README.md", additions: 1 }], fileCount: 1 });
});

it("tells it without a code host, also once the branch was merged as it is and removed", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const project = world.project(AGENT, { codeHost: { kind: "none" } });
  expect(await world.run(project)).toMatchObject({ kind: "branch" });
  expect(await world.diff(null, project)).toMatchObject(CHANGED);
  await world.inBare("update-ref", "refs/heads/main", `refs/heads/${BRANCH}`);
  expect(await world.diff(null, project)).toMatchObject(CHANGED);
  await removeBranch(world);
  expect(await world.diff(null, project)).toMatchObject(CHANGED);
});

it("tells nothing where no commit is known, or none with that id", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  expect(await world.diff()).toBeNull();
  expect(await world.diff("a".repeat(40))).toBeNull();
  expect(await world.diff("--upload-pack=touch x")).toBeNull();
});

it("asks the remote for a commit that is no longer in the mirror", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const head = await changed(world);
  await world.asPerson("PUT", "1/merge", { merge_method: "squash" });
  await removeBranch(world);
  for (const folder of ["mirrors", "turns"]) await rm(world.dir.file(`data/${folder}`), { recursive: true });
  for (const folder of ["mirrors", "turns"]) await mkdir(world.dir.file(`data/${folder}`));
  expect(await world.diff(head)).toMatchObject(CHANGED);
});

it("bounds a hostile change: 10,000 files, long lines, what is no text, links and modules", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await changed(world);
  await pushByHand(
    world,
    async (folder) => {
      await writeFile(`${folder}/a-line.md`, `<!channel> \`\`\` \u202e ${"x".repeat(60_000)}\n`);
      await writeFile(`${folder}/a-picture.png`, Buffer.from([0x89, 0x50, 0, 1, 2, 3]));
      await writeFile(`${folder}/a-\u202etxt.md`, "turned\n");
      await writeFile(`${folder}/a-large.md`, "large\n".repeat(200_000));
      await symlink("/etc/passwd", `${folder}/a-link`);
    },
    10_000,
  );
  const diff = await world.diff();
  expect(diff).toMatchObject({ isCut: true });
  expect(diff?.fileCount).toBe(10_005);
  expect(diff?.files).toHaveLength(DIFF_LIMITS.files);
  expect(diff?.files.slice(0, 5)).toEqual([
    { path: "a-large.md", status: "added", additions: 200_000, deletions: 0 },
    { path: "a-line.md", status: "added", additions: 1, deletions: 0 },
    { path: "a-link", status: "added", additions: 1, deletions: 0 },
    { path: "a-picture.png", status: "added", additions: null, deletions: null },
    { path: "a-txt.md", status: "added", additions: 1, deletions: 0 },
  ]);
  const lines = diff?.diff.split("\n") ?? [];
  expect(Math.max(...lines.map(({ length }) => length))).toBe(DIFF_LIMITS.lineChars);
  expect(lines).toContain("Binary files /dev/null and b/a-picture.png differ");
  expect(lines).toContain("Binary files /dev/null and b/a-large.md differ");
  // Where it leads to is never read.
  expect(lines).toContain("+/etc/passwd");
  expect(Buffer.byteLength(JSON.stringify(diff))).toBeLessThan(1024 * 1024);
});

it("runs nothing that the repository's attributes or settings name", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await changed(world);
  const ran = world.dir.file("ran");
  await pushByHand(world, async (folder) => {
    await writeFile(`${folder}/.gitattributes`, "*.md diff=evil\n");
    await writeFile(`${folder}/README.md`, "other\n");
  });
  const [mirror = ""] = await readdir(world.dir.file("data/mirrors"));
  const config = `[diff "evil"]\n\ttextconv = touch ${ran}; cat\n\tcommand = touch ${ran}\n`;
  await writeFile(world.dir.file(`data/mirrors/${mirror}/config`), config);
  expect((await world.diff())?.diff).toContain("+other");
  expect(existsSync(ran)).toBe(false);
});
