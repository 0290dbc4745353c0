import fc from "fast-check";
import { expect, it } from "vitest";
import { createRedact } from "../../../src/service/base/redaction.ts";
import { CHECK_PRESETS } from "../../../src/service/config/check-presets.ts";
import { checkOfPages } from "../../../src/service/runner/turn/checks/check-pages.ts";
import { judgeRuns } from "../../../src/service/runner/turn/checks/judge-runs.ts";
import { shellCheck } from "../../support/shell-check.ts";

const HOW = { proof: null, isPreset: false, findingsAt: [1] };
const word = fc.constantFrom("broken", "link", "to", "page", "heading", "unknown", "word");
const page = fc.constantFrom("docs/a.md", "docs/guide/b.md", "docs/c2.md", "README.md");
const finding = fc
  .tuple(page, fc.nat(99), fc.array(word, { minLength: 1, maxLength: 4 }))
  .map(([path, line, words]) => `${path}:${line}: ${words.join(" ")}`);
/** Ids as tools write them: of one length, or a number. */
const ids = fc.constantFrom<fc.Arbitrary<string>[]>(
  [fc.stringMatching(/^[0-9a-f]{12}$/).filter((id) => /\d/.test(id))],
  [fc.stringMatching(/^[0-9][A-Za-z0-9]{9}$/)],
  [fc.integer({ min: 100_000, max: 999_999 }).map(String)],
  [fc.uuid().map((id) => id.replaceAll(/\d(?=[^-]*-[^-]*$)/g, "a"))],
  [fc.stringMatching(/^tmp[a-z\d_]{8}$/)],
);
const shapes = fc.constantFrom(
  (line: string, id: string) => `${line} (run ${id})`,
  (line: string, id: string) => `/tmp/tmp.${id}/${line}`,
  (line: string, id: string) => `worker ${id}: ${line}`,
);
const world = fc
  .tuple(fc.uniqueArray(finding, { minLength: 1, maxLength: 8 }), shapes, ids)
  .chain(([lines, shape, [id = fc.constant("1")]]) =>
    fc.record({
      lines: fc.constant(lines),
      shape: fc.constant(shape),
      // One id for each run on the base, and one for the result.
      ids: fc.uniqueArray(id, { minLength: 3, maxLength: 3 }),
      order: fc.shuffledSubarray(lines, { minLength: lines.length }),
    }),
  );

function judged(
  base: readonly string[][],
  result: readonly string[],
  paths: string[] = [],
  moved: [string, string][] = [],
) {
  const output = (lines: readonly string[]) => ({ text: lines.join("\n"), code: 1 });
  const runs = { base: base.map(output), result: output(result), how: HOW, paths, moved };
  return judgeRuns(runs, createRedact([]));
}

it("what differs between two runs on the base is no finding, in any order", () => {
  fc.assert(
    fc.property(world, ({ lines, shape, ids: [one = "", two = "", three = ""], order }) => {
      const runs = [one, two].map((id) => lines.map((line) => shape(line, id)));
      expect(
        judged(
          runs,
          order.map((line) => shape(line, three)),
        ),
      ).toMatchObject({ result: "passed" });
    }),
  );
});

it("a finding that is new stays one, beside what differs", () => {
  fc.assert(
    fc.property(world, finding, ({ lines, shape, ids: [one = "", two = "", three = ""], order }, added) => {
      const runs = [one, two].map((id) => lines.map((line) => shape(line, id)));
      const result = [...order, added].map((line) => shape(line, three));
      const found = judged(runs, result, ["docs/c2.md"]);
      expect(found).toMatchObject({ result: "failed", count: 1 });
    }),
  );
});

it("a line that names a changed page is never taken for one that differs", () => {
  const found = judged([["page1.md is odd"], ["page2.md is odd"]], ["page3.md is odd"], ["page3.md"]);
  expect(found).toMatchObject({ result: "failed", lines: ["page3.md is odd"] });
});

it("an old finding on a page that moved is an old one, however the tool names the page", () => {
  const moved: [string, string][] = [
    ["docs/guide/a.md", "docs/start/b.md"],
    ["docs/old/index.md", "docs/new/index.md"],
    ["docs/x.md", "docs/deep/y.md"],
  ];
  const before = [
    "/guide/a",
    "docs/guide/a.md",
    "guide/a.md",
    "a.md",
    "site/guide/a.html",
    "/old/",
    "/x",
    "x.md",
  ];
  const after = [
    "/start/b",
    "docs/start/b.md",
    "start/b.md",
    "b.md",
    "site/start/b.html",
    "/new/",
    "/deep/y",
    "y.md",
  ];
  const lines = (pages: string[]) => pages.map((path) => `Problem on ${path}: it has a broken link`);
  expect(judged([lines(before)], lines(after), moved.flat(), moved)).toMatchObject({ result: "passed" });
  const news = lines([...after, "start/b.md", "guide/a.md"]);
  expect(judged([lines(before)], news, moved.flat(), moved)).toMatchObject({ result: "failed" });
});

it("gives each tool the changed pages that it reads, and the whole tree if there are many", () => {
  const checkOf = (name: string) => {
    const preset = CHECK_PRESETS.get(name);
    return shellCheck("", { name, command: [...(preset?.settings.command ?? [])], timeoutSeconds: 1 });
  };
  const there = new Set(["docs/a.md", "docs/-x y.MDX", "docs/a.png", "web/b.md"]);
  const argsOf = (name: string, paths: Iterable<string>, cwd = ".") => {
    const check = { ...checkOf(name), cwd };
    const of = checkOfPages(check, [...paths], (path) => there.has(path));
    return of === check ? "whole" : of?.command.slice(check.command.length - (name === "links" ? 0 : 3));
  };
  const paths = [...there, "docs/gone.md"];
  expect(argsOf("links", paths)).toEqual(["--", ...paths]);
  expect(argsOf("markdownlint", paths)).toEqual([":docs/a.md", ":docs/-x y.MDX", ":web/b.md"]);
  expect(argsOf("markdownlint", paths, "web")).toEqual([":b.md"]);
  expect(argsOf("vale", paths)?.slice(-3)).toEqual(["docs/a.md", "docs/-x y.MDX", "web/b.md"]);
  expect(argsOf("markdownlint", ["docs/a.png", "docs/gone.md"])).toBeUndefined();
  expect(argsOf("docusaurus", paths)).toBe("whole");
  expect(
    argsOf(
      "links",
      Array.from({ length: 201 }, (_, at) => `${at}.md`),
    ),
  ).toBe("whole");
  expect(argsOf("links", ["-x.md"])).toBe("whole");
});
