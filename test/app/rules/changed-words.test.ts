import fc from "fast-check";
import { expect, it } from "vitest";
import { changedWords } from "../../../src/app/rules/words/changed-words.ts";
import { readDiffPages } from "../../../src/app/rules/words/diff-pages.ts";

/** What a message says of a page with these lines, which begin with their signs. */
function linesOf(...lines: string[]): string[] {
  const head = ["diff --git a/docs/a.md b/docs/a.md", "--- a/docs/a.md", "+++ b/docs/a.md", "@@ -1 +1 @@"];
  return said([...head, ...lines].join("\n"));
}

function said(diff: string): string[] {
  const { pages, more } = changedWords({ diff, fileCount: 0 });
  return [
    ...pages.flatMap(({ path, note, parts, more: left }) => [
      path + (note === null ? "" : `: ${note}`),
      ...parts.flatMap(({ heading, lines }) => [...(heading === null ? [] : [`# ${heading}`]), ...lines]),
      ...(left === 0 ? [] : [`${left} more`]),
    ]),
    ...(more === 0 ? [] : [`${more} more pages`]),
  ];
}

const MOVED = "It is free for teams of up to five people.";

it.each<[string, string[], string[]]>([
  ["one word", ["-You recieve it.", "+You receive it."], ["recieve → receive"]],
  ["a word in marks", ["-Run `npm instal`.", "+Run `npm install`."], ["instal → install"]],
  ["two words", ["-teh old and recieve", "+the old and receive"], ["teh → the", "recieve → receive"]],
  ["a word more", ["-Run npm install.", "+Run sudo npm install."], ["added: “sudo”"]],
  ["a word less", ["-the the end", "+the end"], ["removed: “the”"]],
  ["a paragraph that is wrapped anew", ["-one two", "-three", "+one", "+two threee"], ["three → threee"]],
  ["spaces alone", ["-a  b", "+a b"], []],
  ["new lines", ["+One more", "+line."], ["added: “One more line.” (2 lines)"]],
  ["removed lines", ["-One line less."], ["removed: “One line less.”"]],
  ["moved lines", [`-${MOVED}`, " and", `+${MOVED}`], [`moved: “${MOVED}”`]],
  [
    "a rewrite",
    ["-a b c d e f g h i j", "+one two three four five six seven eight nine j"],
    ["a b c d e f g h i → one two three four five six seven eight nine"],
  ],
  [
    "a long word",
    [`-https://${"x".repeat(80)}/setp`, `+https://${"x".repeat(80)}/setup`],
    [`…${"x".repeat(11)}/setp → …${"x".repeat(11)}/setup`],
  ],
  [
    "a long rewrite",
    [`-${"a few ".repeat(50)}`, `+${"other words ".repeat(50)}`],
    [`${"a few ".repeat(9)}a … → ${"other words ".repeat(4)}other …`],
  ],
])("says %s shortly", (_, lines, expected) => {
  expect(linesOf(...lines)).toEqual(
    expected.length === 0 ? ["docs/a.md: only spaces and line breaks"] : ["docs/a.md", ...expected],
  );
});

it("puts changes under the nearest heading", () => {
  expect(
    said(
      [
        "diff --git a/a b.md b/a b.md",
        "--- a/a b.md",
        "+++ b/a b.md",

        "@@ -9,3 +9,3 @@ ## Keys",
        "-teh",
        "+the",
        "@@ -30,5 +30,5 @@ Every program that",
        "-old",
        "+new",
        " ### Costs ###",
        "-recieve",
        "+receive",
        "\\ No newline at end of file",
      ].join("\n"),
    ),
  ).toEqual(["a b.md", "# Keys", "teh → the", "old → new", "# Costs", "recieve → receive"]);
});

it.each<[string, string[], string[]]>([
  [
    "a comment in a code block is no heading",
    [" ## Settings", " ```yaml", " # yours", "-enviroment", "+environment", " ```", "-teh", "+the"],
    ["# Settings", "enviroment → environment", "teh → the"],
  ],
  [
    "a part that begins in a code block",
    [" # yours", "-enviroment", "+environment", " ```", " ## Next", "-teh", "+the"],
    ["enviroment → environment", "# Next", "teh → the"],
  ],
  [
    "a heading that changes stands under itself",
    [" ## 1. Start", " Text", "-## 2. Create a key", "+## 2. Make your key"],
    ["# 2. Make your key", "Create a → Make your"],
  ],
  [
    "a link stays whole",
    ["-See [reference](api/refrence.md).", "+See [reference](api/reference.md)."],
    ["[reference](api/refrence.md) → [reference](api/reference.md)"],
  ],
  ["brackets of a text go", ["-(recieve it)", "+(receive it)"], ["recieve → receive"]],
])("reads parts of a page: %s", (_, lines, expected) => {
  expect(linesOf(...lines)).toEqual(["docs/a.md", ...expected]);
});

it("names new, removed, renamed and moved pages, and those that aren't text", () => {
  const page = (path: string, mode: string, ...lines: string[]) =>
    [`diff --git a/${path} b/${path}`, `${mode} file mode 100644`, "@@ -1 +1 @@", ...lines].join("\n");
  expect(
    said(
      [
        page("docs/new.md", "new", "+# New", "+page"),
        page("docs/old.md", "deleted", "-# Old"),
        page("docs/from.md", "deleted", `-${MOVED}`),
        page("docs/to.md", "new", `+${MOVED}`),
        "diff --git a/logo.png b/logo.png\nnew file mode 100644\nBinary files /dev/null and b/logo.png differ",
      ].join("\n"),
    ),
  ).toEqual([
    "docs/new.md: new page, 2 lines",
    "docs/old.md: removed, 1 line",
    "docs/from.md: removed, 1 line",
    "docs/to.md: was docs/from.md",
    "logo.png: new, not text",
  ]);
});

it("counts what it leaves out, and says something of each page", () => {
  const run = " and\n-teh\n+the\n";
  const page = (n: number) => `diff --git a/${n} b/${n}\n@@ -1 +1 @@\n${run.repeat(40)}`;
  const { pages, more } = changedWords({ diff: [1, 2, 3].map(page).join("\n"), fileCount: 5 });
  expect(pages.map(({ parts, more: left }) => [parts[0]?.lines.length, left])).toEqual([
    [28, 12],
    [1, 39],
    [1, 39],
  ]);
  expect(more).toBe(2);
});

const Word = fc.constantFrom(
  "a",
  "b",
  "teh",
  "`x`",
  "#",
  "##",
  "😀",
  "\u202e",
  "diff",
  "@@",
  "",
  "y".repeat(600),
);
const Line = fc.tuple(
  fc.constantFrom("-", "+", " ", "@@ ", "diff --git ", "\\"),
  fc.array(Word, { maxLength: 8 }),
);

it("says every diff in few and short lines", () => {
  fc.assert(
    fc.property(fc.array(Line, { maxLength: 120 }), (lines) => {
      const diff = lines.map(([sign, words]) => sign + words.join(" ")).join("\n");
      const shown = said(diff);
      expect(shown.length).toBeLessThan(90);
      expect(Math.max(0, ...shown.map(({ length }) => length))).toBeLessThan(400);
      expect(shown.join("")).toBe(shown.join("").toWellFormed());
      expect(readDiffPages(diff)).toHaveLength(
        diff.split("\n").filter((line) => line.startsWith("diff --git ")).length,
      );
    }),
  );
});
