import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const SRC = fileURLToPath(new URL("../src", import.meta.url));

/** The folders in the order of ARCHITECTURE.md: what each may import besides itself and the packages it names. */
const MAY_IMPORT: Record<string, string[]> = {
  core: [],
  queue: ["core", "store", "."],
  store: ["core", "."],
  "job-service": ["core", "."],
  replies: ["core", "."],
  tasks: ["core", "."],
  intake: ["core", "tasks", "replies", "."],
  service: ["core", "store", "queue", "job-service", "."],
  playground: ["."],
};
/** What stands at the top of `src/` and may be imported from the folders; more from a program of its own. */
const SHARED = ["errors.ts"];
const SHARED_BY_PROGRAMS = [...SHARED, "logger.ts", "start-error.ts", "system-clock.ts"];

type Import = { file: string; folder: string; target: string };

function imports(): Import[] {
  return readdirSync(SRC, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .flatMap((file) => {
      const source = readFileSync(join(SRC, file), "utf8");
      const targets = [...source.matchAll(/(?:from|import) "([^"]+)"/g)].map((match) => match[1] ?? "");
      const folder = file.includes("/") ? (file.split("/")[0] ?? "") : ".";
      return targets.map((target) => ({
        file,
        folder,
        target: target.startsWith(".") ? normalize(join(dirname(file), target)) : target,
      }));
    });
}

function folderOf(target: string): string {
  return target.includes("/") ? (target.split("/")[0] ?? "") : ".";
}

const all = imports();
const own = all.filter(({ target }) => target.endsWith(".ts"));

it("finds the imports it is about", () => {
  expect(own.length).toBeGreaterThan(100);
  expect([...new Set(own.map(({ folder }) => folder))].toSorted()).toEqual(
    [".", ...Object.keys(MAY_IMPORT)].toSorted(),
  );
});

it("core imports nothing but zod and itself", () => {
  const outside = all.filter(
    ({ folder, target }) => folder === "core" && folderOf(target) !== "core" && target !== "zod",
  );
  expect(outside).toEqual([]);
});

it("imports point one way", () => {
  const wrong = own.filter(({ folder, target }) => {
    if (folder === "." || folderOf(target) === folder) return false;
    const shared = folder === "service" ? SHARED_BY_PROGRAMS : SHARED;
    if (folderOf(target) === ".") return !shared.includes(target);
    return !(MAY_IMPORT[folder] ?? []).includes(folderOf(target));
  });
  expect(wrong).toEqual([]);
});

it("only the edges know Slack's packages", () => {
  const knowing = all.filter(({ target }) => target.startsWith("@slack/")).map(({ folder }) => folder);
  expect([...new Set(knowing)].toSorted()).toEqual([".", "intake", "replies"]);
});

it("nothing of the product imports the playground", () => {
  const wrong = own.filter(
    ({ folder, target }) => folder !== "playground" && folderOf(target) === "playground",
  );
  expect(wrong).toEqual([]);
});
