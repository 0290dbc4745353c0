import { expect, it } from "vitest";
import { Check, problemOf } from "../../eval/checks.ts";

async function jsProblem(path: string, code: string): Promise<string | null> {
  const files = new Map([[path, Buffer.from(code)]]);
  const solved = { base: files, result: files, words: "" };
  return problemOf({ name: "js", kind: "parses", in: ["**"] }, solved);
}

it.each([
  ["imports on several lines", 'import {\n  open,\n  close,\n} from "tide";\n\nawait open();\n'],
  ["an import for its effects", "import './tide.js'\nrun();\n"],
  ["an import that is called", 'const tide = await import("tide");\nimport("tide").then(run);\n'],
  ["a default export on several lines", 'export default {\n  title: "Tide",\n  url: "/",\n};\n'],
  ["named exports", 'export const a = 1;\nexport function b() {}\nexport { a as c } from "tide";\n'],
])("reads JavaScript with %s", async (_, code) => {
  expect(await jsProblem("a.js", code)).toBeNull();
});

it.each([
  ["an import without its end", 'import { open from "tide";\n'],
  ["a call that isn't closed", 'import { open } from "tide";\nawait open({ a: 1 };\n'],
  ["a default export that isn't closed", 'export default {\n  title: "Tide",\n'],
])("finds %s", async (_, code) => {
  expect(await jsProblem("a.mjs", code)).toContain("a.mjs");
});

const BEFORE = "Wait for `--old` to end.\nThen go on,\nand look at it.\n";

it.each([
  ["another line break", "Wait for `--new` to end. Then\ngo on, and look at it.\n", null],
  ["more words", "Wait long for `--new` to end.\nThen go on,\nand look well at it.\n", null],
  ["a lost line", "Wait for `--new` to end.\nand look at it.\n", "a.md: Then, a.md: go, a.md: on,"],
  ["another word", "Wait for `--new` to end.\nThen run on,\nand look at it.\n", "a.md: go"],
  ["a doubled line", BEFORE.replace("Then go on,\n", "Then go on,\nThen go on,\n"), "a.md: Then go on,"],
])("sees in the rest of a page %s", async (_, after, expected) => {
  const base = new Map([["a.md", Buffer.from(BEFORE)]]);
  const result = new Map([["a.md", Buffer.from(after)]]);
  const check = Check.parse({ name: "rest", kind: "rest", in: ["a.md"], matches: "--old" });
  const problem = await problemOf(check, { base, result, words: "" });
  expect(problem).toBe(expected === null ? null : `Lost or doubled: ${expected}`);
});
