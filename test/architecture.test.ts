import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The folders in the order of ARCHITECTURE.md: what each may import besides itself and the packages it names. */
const MAY_IMPORT: Record<string, string[]> = {
  "src/core": [],
  "src/process": ["src/core"],
  "src/store": ["src/core"],
  "src/queue": ["src/core", "src/store"],
  "src/replies": ["src/core"],
  "src/slack": ["src/core", "src/process", "src/replies"],
  "src/config": ["src/core", "src/process", "src/slack", "src/store"],
  "src/job-client": ["src/core", "src/process"],
  "src/decisions": ["src/core"],
  "src/tasks": ["src/core", "src/decisions"],
  "src/intake": ["src/core", "src/decisions", "src/replies"],
  "src/state": ["src/core", "src/process", "src/queue", "src/store"],
  "service/gateway": ["src/core", "src/process", "service/base"],
  "service/egress": ["src/core", "src/process", "src/config", "service/gateway"],
  "service/config": [
    "src/core",
    "src/process",
    "src/config",
    "service/base",
    "service/egress",
    "service/gateway",
  ],
  "service/base": ["src/core"],
  "service/code-host": ["src/core", "src/process", "service/base", "service/config"],
  "service/runner": [
    "src/core",
    "src/process",
    "src/job-client",
    "service/base",
    "service/code-host",
    "service/config",
    "service/egress",
    "service/gateway",
  ],
  "service/jobs": [
    "src/core",
    "src/process",
    "src/job-client",
    "src/queue",
    "src/store",
    "service/base",
    "service/code-host",
    "service/config",
    "service/runner",
  ],
  "service/follow": [
    "src/core",
    "src/job-client",
    "service/base",
    "service/code-host",
    "service/config",
    "service/jobs",
  ],
  "service/http": [
    "src/core",
    "src/process",
    "src/job-client",
    "service/base",
    "service/config",
    "service/jobs",
  ],
  "service/cli": [
    "src/core",
    "src/process",
    "src/job-client",
    "service/base",
    "service/code-host",
    "service/config",
    "service/egress",
    "service/jobs",
    "service/runner",
  ],
  // Slack's entities, which both sides of the wire write and read the same way.
  emulators: ["src/core", "src/process", "src/replies"],
  gallery: ["emulators", "src/core", "src/intake", "src/process", "src/replies"],
  playground: ["emulators", "gallery", "src/config", "src/core", "src/process", "src/replies"],
};
/** The programs that put the folders together. */
const PROGRAMS: Record<string, RegExp> = { src: /^src\//, service: /^(src|service)\// };
/** The folders of the runner: what each may import of the others. */
const RUNNER_MAY_IMPORT: Record<string, string[]> = {
  apart: ["agents", "bytes", "claims", "publish", "verify"],
  bytes: [],
  git: [],
  tree: ["git"],
  sandbox: [],
  steps: ["agents", "apart", "bytes", "claims", "git", "publish", "sandbox", "tree", "verify"],
  process: ["apart"],
  agents: ["claims", "sandbox"],
  claims: ["publish", "tree"],
  publish: ["git"],
  verify: ["sandbox"],
};
type Import = { file: string; folder: string; target: string };

function imports(): Import[] {
  return ["src", "service", "emulators", "gallery", "playground"]
    .flatMap((top) =>
      readdirSync(join(ROOT, top), { recursive: true, encoding: "utf8" }).map((name) => `${top}/${name}`),
    )
    .filter((name) => name.endsWith(".ts"))
    .flatMap((file) => {
      const source = readFileSync(join(ROOT, file), "utf8");
      const targets = [...source.matchAll(/(?:from|import) "([^"]+)"/g)].map((match) => match[1] ?? "");
      return targets.map((target) => ({
        file,
        folder: folderOf(file),
        target: target.startsWith(".") ? normalize(join(dirname(file), target)) : target,
      }));
    });
}

/** `src/core/turn/turn.ts` → `src/core`, `src/app.ts` → `src`, `emulators/slack/post.ts` → `emulators`. */
function folderOf(file: string): string {
  const [top = "", second, third] = file.split("/");
  return ["src", "service"].includes(top) && second !== undefined && third !== undefined
    ? `${top}/${second}`
    : top;
}

const all = imports();
const own = all.filter(({ target }) => target.endsWith(".ts"));

it("finds the imports it is about", () => {
  expect(own.length).toBeGreaterThan(100);
  expect([...new Set(own.map(({ folder }) => folder))].toSorted()).toEqual(
    [...Object.keys(PROGRAMS), ...Object.keys(MAY_IMPORT)].toSorted(),
  );
});

it("core imports nothing but zod and itself", () => {
  const outside = all.filter(
    ({ folder, target }) => folder === "src/core" && folderOf(target) !== "src/core" && target !== "zod",
  );
  expect(outside).toEqual([]);
});

it("imports point one way", () => {
  const wrong = own.filter(({ folder, target }) => {
    const program = PROGRAMS[folder];
    if (program !== undefined) return !program.test(target);
    return folderOf(target) !== folder && !(MAY_IMPORT[folder] ?? []).includes(folderOf(target));
  });
  expect(wrong).toEqual([]);
});

it("imports point one way in the runner, too", () => {
  const inRunner = (file: string) => /^service\/runner\/(\w+)\//.exec(file)?.[1];
  const between = own.flatMap(({ file, target }) => {
    const [from, to] = [inRunner(file), inRunner(target)];
    return from === undefined || to === undefined || from === to ? [] : [{ file, from, to }];
  });
  expect(between.length).toBeGreaterThan(5);
  expect(between.filter(({ from, to }) => !(RUNNER_MAY_IMPORT[from] ?? []).includes(to))).toEqual([]);
});

it("no import leads back to where it began", () => {
  const targetsOf = Map.groupBy(own, ({ file }) => file);
  const isFree = new Set<string>();
  function circleFrom(file: string, path: string[]): string[] | null {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (isFree.has(file)) return null;
    for (const { target } of targetsOf.get(file) ?? []) {
      const circle = circleFrom(target, [...path, file]);
      if (circle !== null) return circle;
    }
    isFree.add(file);
    return null;
  }
  expect([...targetsOf.keys()].map((file) => circleFrom(file, [])).find((circle) => circle !== null)).toBe(
    undefined,
  );
});

it("only the edges know Slack's packages", () => {
  const knowing = all.filter(({ file, target }) => file.startsWith("src/") && target.startsWith("@slack/"));
  expect([...new Set(knowing.map(({ folder }) => folder))].toSorted()).toEqual([
    "src/intake",
    "src/replies",
    "src/slack",
  ]);
});

it("what ships needs no devDependency", () => {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  const packages = all
    .filter(({ file, target }) => /^(src|service)\//.test(file) && !target.endsWith(".ts"))
    .filter(({ target }) => !target.startsWith("node:"))
    .map(({ target }) =>
      target
        .split("/")
        .slice(0, target.startsWith("@") ? 2 : 1)
        .join("/"),
    );
  expect([...new Set(packages)].filter((name) => !(name in dependencies))).toEqual([]);
});

it("the Docker image gets what ships, and nothing else of the project", () => {
  const dockerfile = readFileSync(join(ROOT, "Dockerfile"), "utf8");
  const copied = [...dockerfile.matchAll(/^COPY (?:--\S+ )*(.+) \S+$/gm)].flatMap((match) =>
    (match[1] ?? "").split(" "),
  );
  expect(copied.toSorted()).toEqual([
    "LICENSE",
    "manifest.yml",
    "package-lock.json",
    "package.json",
    "service",
    "src",
  ]);
  const kept = readFileSync(join(ROOT, ".dockerignore"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  expect(kept.toSorted()).toEqual([
    "!LICENSE",
    "!manifest.yml",
    "!package-lock.json",
    "!package.json",
    "!service",
    "!src",
    "*",
  ]);
  const shipped = own.filter(({ file }) => /^(src|service)\//.test(file));
  expect(shipped.filter(({ target }) => !/^(src|service)\//.test(target))).toEqual([]);
});
