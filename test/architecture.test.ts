import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The folders in the order of ARCHITECTURE.md: what each may import besides itself and the packages it names. */
const MAY_IMPORT: Record<string, string[]> = {
  "src/slack": ["src/core", "src/replies", "src"],
  "src/core": [],
  "src/queue": ["src/core", "src/store", "src"],
  "src/store": ["src/core", "src"],
  "src/job-client": ["src/core", "src"],
  "src/replies": ["src/core", "src"],
  "src/tasks": ["src/core", "src"],
  "src/intake": ["src/core", "src/tasks", "src/replies", "src"],
  "src/service": ["src/core", "src/store", "src/queue", "src/job-client", "src"],
  "src/state": ["src/core", "src/store", "src/queue", "src"],
  // Slack's entities, which both sides of the wire write and read the same way.
  emulators: ["src/replies", "src"],
  gallery: ["emulators", "src/core", "src/intake", "src/replies", "src"],
  playground: ["emulators", "gallery", "src/replies", "src"],
};
/** The folders of the runner: what each may import of the others. */
const RUNNER_MAY_IMPORT: Record<string, string[]> = {
  git: [],
  tree: ["git"],
  sandbox: [],
  steps: ["agents", "git", "publish", "tree"],
  process: [],
  agents: ["sandbox"],
  publish: [],
};
/** What stands at the top of `src/` and may be imported from the folders; more from a program of its own. */
const SHARED = ["src/errors.ts", "src/proxy.ts", "src/start-error.ts"];
const SHARED_BY_PROGRAMS = [
  ...SHARED,
  "src/did-you-mean.ts",
  "src/listen.ts",
  "src/logger.ts",
  "src/proxy-settings.ts",
  "src/system-clock.ts",
];
const PROGRAMS = ["src/service", "src/state", "playground"];

type Import = { file: string; folder: string; target: string };

function imports(): Import[] {
  return ["src", "emulators", "gallery", "playground"]
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

/** `src/core/turn.ts` → `src/core`, `src/app.ts` → `src`, `emulators/slack/post.ts` → `emulators`. */
function folderOf(file: string): string {
  const [top = "", second, third] = file.split("/");
  return top === "src" && second !== undefined && third !== undefined ? `${top}/${second}` : top;
}

const all = imports();
const own = all.filter(({ target }) => target.endsWith(".ts"));

it("finds the imports it is about", () => {
  expect(own.length).toBeGreaterThan(100);
  expect([...new Set(own.map(({ folder }) => folder))].toSorted()).toEqual(
    ["src", ...Object.keys(MAY_IMPORT)].toSorted(),
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
    if (folder === "src" && folderOf(target).startsWith("src")) return false;
    if (folderOf(target) === folder) return false;
    const shared = PROGRAMS.includes(folder) ? SHARED_BY_PROGRAMS : SHARED;
    if (folderOf(target) === "src") return !shared.includes(target);
    return !(MAY_IMPORT[folder] ?? []).includes(folderOf(target));
  });
  expect(wrong).toEqual([]);
});

it("imports point one way in the runner, too", () => {
  const inRunner = (file: string) => /^src\/service\/runner\/(\w+)\//.exec(file)?.[1];
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
    .filter(({ file, target }) => file.startsWith("src/") && !target.endsWith(".ts"))
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
  expect(copied.toSorted()).toEqual(["LICENSE", "package-lock.json", "package.json", "src"]);
  const kept = readFileSync(join(ROOT, ".dockerignore"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  expect(kept.toSorted()).toEqual(["!LICENSE", "!package-lock.json", "!package.json", "!src", "*"]);
  expect(own.filter(({ file, target }) => file.startsWith("src/") && !target.startsWith("src/"))).toEqual([]);
});
