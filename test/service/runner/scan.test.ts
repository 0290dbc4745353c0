// @module-tag all

import { execFile as execFileWithCallback } from "node:child_process";
import { mkdir, readdir, symlink, utimes, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { TurnFailedError } from "../../../src/service/base/run-error.ts";
import { copyChanges } from "../../../src/service/runner/workspace/tree/select-changes.ts";
import { scanTree } from "../../../src/service/runner/workspace/tree/scan-tree.ts";
import { identityAt, type WrittenFile } from "../../../src/service/runner/workspace/tree/written-files.ts";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";
import { openTempDir } from "../../support/temp-dir.ts";

const execFile = promisify(execFileWithCallback);
const { signal } = new AbortController();
/** As large as the agent's limits allow, and takes no room. */
const HUGE = 2 * 1000 ** 3;

it.each([
  ["src/huge.bin", "no-changes"],
  ["src/index.js", "no-changes"],
  ["docs/huge.bin", "failed"],
  ["README.md", "failed"],
])(
  "does not read a file of 2 GB at %s",
  async (path, kind) => {
    await using world = await openRunnerWorld({ remote: "folder" });
    const agent = inlineAgent(`fs.appendFileSync("${path}", ""); fs.truncateSync("${path}", ${HUGE})`);
    const result = await world.run(world.project(agent));
    expect(result.kind).toBe(kind);
    expect(JSON.stringify(result)).toContain(kind === "failed" ? `${path} has more than 10 MB.` : path);
  },
  30_000,
);

it("fails for good where a file became something else while it was read", async () => {
  await using dir = await openTempDir();
  await mkdir(dir.file("tree/docs"), { recursive: true });
  await symlink("/etc/passwd", dir.file("tree/docs/page.md"));
  const changes = [{ path: "docs/page.md", kind: "modified" }] as const;
  const copying = copyChanges(dir.file("tree"), changes, [], dir.file("copies"));
  await expect(copying).rejects.toThrow(TurnFailedError);
});

it("takes no page for unreadable because the machine is out of descriptors", async () => {
  await using dir = await openTempDir();
  await writeFile(dir.file("page.md"), "text");
  const modules = new URL("../../../src/service/runner/workspace/confined-files.ts", import.meta.url);
  const script = `
    import { openSync } from "node:fs";
    import { openInside } from ${JSON.stringify(modules)};
    const read = () => openInside(${JSON.stringify(dir.path)}, "page.md").then((opened) => opened.file.close(), ({ code }) => code);
    const before = await read();
    try { for (;;) openSync("/dev/null"); } catch {}
    console.log(before, await read());
  `;
  const node = [process.execPath, "--input-type=module", "--eval", script];
  const { stdout } = await execFile("sh", ["-c", 'ulimit -n 100; exec "$@"', "sh", ...node]);
  expect(stdout).toBe("undefined EMFILE\n");
});

it("stops looking at what an agent left when the job is archived meanwhile", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const abort = new AbortController();
  // Each takes a moment, together they take seconds.
  const agent = inlineAgent(`
    for (let i = 0; i < 20; i++) {
      fs.mkdirSync("many/" + i, { recursive: true });
      for (let j = 0; j < 1000; j++) fs.writeFileSync("many/" + i + "/" + j, "");
    }
  `);
  let abortedAt = Infinity;
  const run = world.run(world.project(agent), {
    signal: abort.signal,
    onLine(line) {
      if (line !== "looking at what changed") return;
      // In the middle of it.
      setImmediate(() => {
        abortedAt = performance.now();
        abort.abort(new Error("archived"));
      });
    },
  });
  await run.catch(() => {});
  await expect(run).rejects.toThrow("archived");
  expect(abortedAt).toBeLessThan(Infinity);
  expect(await world.branches()).toEqual(["main"]);
  expect(await readdir(world.dir.file("data/worktrees"))).toEqual([]);
});

it("does not compare more than so many bytes of touched files", async () => {
  await using dir = await openTempDir();
  await mkdir(dir.file("tree"));
  const written = new Map<string, WrittenFile>();
  for (const name of ["a.md", "b.md", "c.md"]) {
    const path = dir.file(`tree/${name}`);
    await writeFile(path, "x".repeat(100));
    written.set(name, { identity: identityAt(path) ?? "", oid: "0".repeat(40), mode: "100644", size: 100 });
  }
  const start = { snapshot: new Map(), written, hasFineTimes: true };
  // Untouched files are not read.
  expect(await scanTree(dir.file("tree"), start, signal, 0)).toEqual([]);
  for (const name of ["a.md", "b.md"]) await utimes(dir.file(`tree/${name}`), 0, 0);
  expect(await scanTree(dir.file("tree"), start, signal, 200)).toEqual([
    { path: "a.md", kind: "modified" },
    { path: "b.md", kind: "modified" },
  ]);
  await expect(scanTree(dir.file("tree"), start, signal, 199)).rejects.toThrow(
    "The agent touched more than 199 bytes of files, too much to compare with the repository.",
  );
});

it("compares contents where a disk's times can't be trusted", async () => {
  await using dir = await openTempDir();
  await mkdir(dir.file("tree"));
  const path = dir.file("tree/a.md");
  await writeFile(path, "x");
  const file = { identity: identityAt(path) ?? "", oid: "0".repeat(40), mode: "100644", size: 1 };
  const start = {
    snapshot: new Map(),
    written: new Map([["a.md", file]]),
    hasFineTimes: false,
  };
  expect(await scanTree(dir.file("tree"), start, signal)).toEqual([{ path: "a.md", kind: "modified" }]);
});

it.each(["docs/SECRET.md", "docs/x-SECRET/page.md"])("pushes no secret in the name %s", async (name) => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const path = name.replace("SECRET", world.modelKey);
  const agent = inlineAgent(`
    import { dirname } from "node:path";
    fs.mkdirSync(dirname("${path}"), { recursive: true }); fs.writeFileSync("${path}", "harmless");
  `);
  const result = await world.run(world.project(agent));
  expect(result).toEqual({
    kind: "failed",
    reason: "The agent put a secret into the name of a file. Nothing was pushed.",
  });
  expect(await world.branches()).toEqual(["main"]);
  expect(await world.said(result)).not.toContain(world.modelKey);
});

it("stops looking through a tree as soon as it is aborted", async () => {
  await using dir = await openTempDir();
  await writeFile(dir.file("a.md"), "x");
  const start = {
    snapshot: new Map(),
    written: new Map(),
    hasFineTimes: true,
  };
  const aborted = AbortSignal.abort(new Error("archived"));
  await expect(scanTree(dir.path, start, aborted)).rejects.toThrow("archived");
});

it("takes a tree that its agent has closed", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const agent = inlineAgent(`fs.appendFileSync("README.md", "more"); fs.chmodSync(".", 0);`);
  expect(await world.run(world.project(agent))).toMatchObject({ kind: "pull-request", leftOut: [] });
});

const GITS_OWN = [
  "docs/.git/config",
  "docs/\u200c.git/config",
  "docs/.g\u200dit/config",
  "docs/.git\ufeff/config",
  "docs/.GIT./config",
  "docs/.git. . /config",
  "docs/.git::$INDEX_ALLOCATION/config",
  "docs/GIT~1/config",
  "docs/.git\u202emodules",
  "docs/.gitmodules ",
  "docs/gitmod~1",
  "docs/gi7eba~1",
];
const NOT_EVERYWHERE = [
  "docs/aux.md",
  "docs/COM1",
  "docs/a:b.md",
  "docs/trail.",
  "docs/space ",
  "docs/tx\u202edm.md",
  "docs/what?.md",
];

it("commits nothing that some system takes for git's own, nor names that some system can't hold", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const paths = [...GITS_OWN, ...NOT_EVERYWHERE, "docs/plain.md", "docs/Straße.md", "docs/STRASSE.md"];
  const agent = inlineAgent(`
    for (const path of ${JSON.stringify(paths)}) {
      fs.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
      fs.writeFileSync(path, "x");
    }
  `);
  const result = await world.run(world.project(agent));
  expect(result).toMatchObject({ kind: "pull-request" });
  expect(await world.changed()).toEqual(["docs/STRASSE.md", "docs/plain.md"]);
  expect("leftOut" in result && result.leftOut).toHaveLength(GITS_OWN.length + NOT_EVERYWHERE.length + 1);
});

it("leaves names alone that no disk can hold", async () => {
  const names = [`docs/${"n".repeat(300)}.md`, `docs/${"folder/".repeat(700)}page.md`];
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await world.commitTo("main", Object.fromEntries(names.map((name) => [name, "text"])), "Long names");
  const agent = inlineAgent(`fs.appendFileSync("README.md", "more")`);
  expect(await world.run(world.project(agent))).toMatchObject({ kind: "pull-request", leftOut: [] });
  expect(await world.changed()).toEqual(["README.md"]);
});

it("commits names that some system can't hold where the settings say so", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const agent = inlineAgent(
    `for (const name of ["aux.md", "a:b.md"]) fs.writeFileSync("docs/" + name, "x");`,
  );
  await world.run(world.project(agent, { portableNames: false }));
  expect(await world.changed()).toEqual(["docs/a:b.md", "docs/aux.md"]);
});
