import { expect, it } from "vitest";
import { samplesProblem } from "../../eval/rules/samples.ts";
import { solvedOf } from "./solved-of.ts";

function jsProblem(path: string, code: string): Promise<string | null> {
  return samplesProblem(solvedOf({ after: { [path]: code } }));
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
