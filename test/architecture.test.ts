import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

const TEXT = ["src/shared", "src/shared/text"];
/** What the job service's folders may import of what is shared. Only `jobs` and `pulls` have tasks. */
const SHARED = [...TEXT, "src/shared/machine", "src/shared/contract"];
const TASKS = ["src/shared/store", "src/shared/queue"];

/** The folders in the order of ARCHITECTURE.md: what each may import besides itself and the packages it names. */
const MAY_IMPORT: Record<string, string[]> = {
  "src/shared": [],
  "src/shared/text": [],
  "src/shared/machine": TEXT,
  "src/shared/contract": TEXT,
  "src/shared/store": [...TEXT, "src/shared/machine"],
  "src/shared/queue": [...TEXT, "src/shared/machine", "src/shared/store"],
  "src/app/rules": [...SHARED, ...TASKS],
  "src/app/messages": [...TEXT, "src/app/rules"],
  "src/app/slack": [...SHARED, "src/shared/store", "src/app/rules", "src/app/messages"],
  "src/app/config": [...TEXT, "src/shared/machine", "src/shared/store", "src/app/rules", "src/app/slack"],
  "src/app/job-client": [...SHARED, "src/app/rules"],
  "src/app/gather": [...SHARED, ...TASKS, "src/app/rules"],
  "src/app/tasks": [...SHARED, ...TASKS, "src/app/rules", "src/app/gather"],
  "src/app/intake": [
    ...SHARED,
    ...TASKS,
    "src/app/rules",
    "src/app/gather",
    "src/app/messages",
    "src/app/slack",
  ],
  "src/app/dump": [...TEXT, ...TASKS, "src/shared/machine", "src/app", "src/app/rules"],
  "src/service/base": SHARED,
  "src/service/network": [...SHARED, "src/service/base"],
  "src/service/config": [...SHARED, "src/service/base", "src/service/network"],
  "src/service/pulls/code-host": [...SHARED, "src/service/base", "src/service/config"],
  "src/service/runner": [
    ...SHARED,
    "src/service/base",
    "src/service/config",
    "src/service/network",
    "src/service/pulls/code-host",
  ],
  "src/service/runners": [
    ...SHARED,
    "src/service/base",
    "src/service/config",
    "src/service/network",
    "src/service/pulls/code-host",
    "src/service/runner",
  ],
  "src/service/jobs": [
    ...SHARED,
    ...TASKS,
    "src/service/base",
    "src/service/config",
    "src/service/pulls/code-host",
    "src/service/runner",
    "src/service/runners",
  ],
  // A program like src/service/main.ts, for another machine.
  "src/service/runner/program": [
    ...SHARED,
    "src/shared/store",
    "src/service/base",
    "src/service/cli",
    "src/service/config",
    "src/service/jobs",
    "src/service/network",
    "src/service/runner",
  ],
  "src/service/pulls/follow": [
    ...SHARED,
    ...TASKS,
    "src/service/base",
    "src/service/config",
    "src/service/jobs",
    "src/service/pulls/code-host",
  ],
  "src/service/commands": [
    ...SHARED,
    "src/service/base",
    "src/service/config",
    "src/service/jobs",
    "src/service/runners",
  ],
  "src/service/http": [
    ...SHARED,
    "src/shared/queue",
    "src/service/base",
    "src/service/config",
    "src/service/jobs",
    "src/service/runner",
    "src/service/runners",
  ],
  "src/service/cli": [
    ...SHARED,
    "src/service/base",
    "src/service/commands",
    "src/service/config",
    "src/service/jobs",
    "src/service/network",
    "src/service/pulls/code-host",
    "src/service/runner",
    "src/service/runners",
  ],
  // Slack's entities, which both sides of the wire write and read the same way.
  world: [...SHARED, "src/app/messages"],
  gallery: [...SHARED, "src/app/intake", "src/app/messages", "src/app/rules", "src/service/runner", "world"],
  playground: [...SHARED, "src/app/messages", "gallery", "world"],
};
/**
 * The programs that put the folders together. Neither of the two imports the other. The doctor and
 * the setup stand above both.
 */
const PROGRAMS: Record<string, RegExp> = {
  "src/app": /^src\/(?:app|shared)\//,
  "src/service": /^src\/(?:service|shared)\//,
  "src/setup": /^src\/(?:setup|doctor|app|service|shared)\//,
  "src/upgrade": /^src\/(?:upgrade|setup|doctor|app|service|shared)\//,
  "src/doctor": /^src\/(?:doctor|app|service|shared)\//,
};
/** The folders of the runner: what each may import of the others. */
const RUNNER_MAY_IMPORT: Record<string, string[]> = {
  "process/apart": ["agents", "workspace/bytes", "turn/claims", "publish", "turn/checks", "turn/reviews"],
  process: ["link", "local", "process/apart"],
  link: ["local"],
  local: [
    "process/apart",
    "publish",
    "turn",
    "turn/checks",
    "workspace",
    "workspace/git",
    "workspace/sandbox",
    "workspace/tree",
  ],
  "workspace/bytes": [],
  "workspace/git": ["workspace"],
  "workspace/sandbox": ["workspace"],
  "workspace/tree": ["workspace", "workspace/git"],
  workspace: ["workspace/sandbox"],
  "turn/checks": ["workspace", "workspace/sandbox"],
  "turn/claims": ["publish", "workspace/tree"],
  "turn/reviews": ["publish"],
  "turn/steps": [
    "agents",
    "process/apart",
    "publish",
    "turn",
    "turn/checks",
    "turn/claims",
    "turn/reviews",
    "workspace",
    "workspace/bytes",
    "workspace/git",
    "workspace/sandbox",
    "workspace/tree",
  ],
  turn: ["publish", "turn/steps", "workspace/git"],
  agents: ["workspace", "workspace/sandbox"],
  publish: ["workspace/git"],
};
type Import = { file: string; folder: string; target: string };

function imports(): Import[] {
  return ["src", "world", "gallery", "playground"]
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

/** The deepest folder of the tables: `src/app/rules/turn/turn.ts` → `src/app/rules`, `src/app/app.ts` → `src/app`. */
function folderOf(file: string): string {
  const known = [...Object.keys(MAY_IMPORT), ...Object.keys(PROGRAMS)];
  const folders = known.filter((folder) => file.startsWith(`${folder}/`));
  return folders.toSorted((a, b) => b.length - a.length)[0] ?? dirname(file);
}

const all = imports();
const own = all.filter(({ target }) => target.endsWith(".ts"));

it("finds the imports it is about", () => {
  expect(own.length).toBeGreaterThan(100);
  expect([...new Set(own.map(({ folder }) => folder))].toSorted()).toEqual(
    [
      ...Object.keys(PROGRAMS),
      ...Object.keys(MAY_IMPORT).filter((name) => MAY_IMPORT[name]?.length !== 0),
    ].toSorted(),
  );
});

/** A hash is a pure function, too. */
const PURE = ["zod", "node:crypto"];

it("the rules import no package but zod", () => {
  const outside = all.filter(
    ({ folder, target }) => folder === "src/app/rules" && !target.endsWith(".ts") && !PURE.includes(target),
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
  const rooms = Object.keys(RUNNER_MAY_IMPORT).toSorted((a, b) => b.length - a.length);
  const inRunner = (file: string) => rooms.find((room) => file.startsWith(`src/service/runner/${room}/`));
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
    "src/app/intake",
    "src/app/messages",
    "src/app/slack",
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
  expect(copied.toSorted()).toEqual(["LICENSE", "manifest.yml", "package-lock.json", "package.json", "src"]);
  const kept = readFileSync(join(ROOT, ".dockerignore"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  expect(kept.toSorted()).toEqual([
    "!LICENSE",
    "!manifest.yml",
    "!package-lock.json",
    "!package.json",
    "!src",
    "*",
  ]);
  const shipped = own.filter(({ file }) => file.startsWith("src/"));
  expect(shipped.filter(({ target }) => !target.startsWith("src/"))).toEqual([]);
});

it("each file and folder that the plan of the house names is there", () => {
  const known = ["src", "world", "gallery", "playground", "test", "docs", "eval", "bench", "package"].flatMap(
    (top) =>
      readdirSync(join(ROOT, top), { recursive: true, encoding: "utf8" }).map((name) => `/${top}/${name}`),
  );
  const paths = [...known, ...readdirSync(ROOT).map((name) => `/${name}`)];
  const isThere = (named: string) => paths.some((path) => path.endsWith(`/${named}`));
  // Without what stands for other names, and without commands and addresses.
  const isPath = (text: string) => /^[\w.][\w.-]*(?:\/[\w.-]*)*$/.test(text) && /\/|\w\.ts$/.test(text);
  for (const page of ["ARCHITECTURE.md", "AGENTS.md"]) {
    const quoted = [...readFileSync(join(ROOT, page), "utf8").matchAll(/`([^`\n]+)`/g)];
    const named = quoted.map((match) => match[1] ?? "").filter(isPath);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((path) => !isThere(path.replace(/\/$/, "")))).toEqual([]);
  }
});
