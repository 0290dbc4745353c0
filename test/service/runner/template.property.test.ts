import fc from "fast-check";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import { unified } from "unified";
import { expect, it } from "vitest";
import { marked, mergedBody, saysOurDraft } from "../../../src/service/runner/publish/our-parts.ts";
import { parseTemplate } from "../../../src/service/runner/publish/template.ts";

const MAIN = marked("main", "Why it was wrong.");
const CHECKS = marked("checks", "**Checks:** passed");
const reader = unified().use(remarkParse).use(remarkGfm);

/** The template's lines as they are in the text of a pull request, without ours. */
function linesAround(template: string): string[] {
  const { hasChecks, filled } = parseTemplate(template);
  const body = filled(MAIN, CHECKS);
  expect(body.split(MAIN)).toHaveLength(2);
  expect(body.split(CHECKS)).toHaveLength(hasChecks ? 2 : 1);
  return body
    .replace(MAIN, "")
    .replace(CHECKS, "")
    .split("\n")
    .filter((line) => line.trim() !== "");
}

const PARTS = [
  "## Summary",
  "### Test plan",
  "# Types of changes",
  "Changes\n===",
  "What:\n-",
  "Text",
  "Say why.",
  "",
  "",
  "```",
  "````md",
  "~~~",
  "<!--",
  "-->",
  "<!-- a note -->",
  "<details>",
  "</details>",
  "> ## What",
  "    ## What",
  "- [ ] I read it",
  "- [x] Fixes #(issue)",
  "- Fix",
  "-",
  "* ",
  "1.",
  "- a",
  "  - b",
  "  -",
  "> -",
  "Closes #",
  "- Closes #",
  "Fixes: #(issue)",
  "Resolves",
  "Closes <!-- issue -->",
  "Closes #12",
  "Fixes a bug",
  "Brief description of the change",
  "<!-- docs-agent:start -->",
  "<!-- docs-agent:end -->",
  "docs-agent:",
  "<!-- <!-- docs-agent:x -->docs-agent:start -->",
  "<!-- docs-agent:draft -->",
  "<!-- docs-agent:checks -->",
];
const template = fc
  .tuple(fc.array(fc.constantFrom(...PARTS), { maxLength: 25 }), fc.constantFrom("\n", "\r\n", "\r"))
  .map(([lines, end]) => lines.join("\n").replaceAll("\n", end));
const PLACEHOLDER =
  /^\s*(?:[-*] ?|1\.|(?:- )?(?:Closes|Fixes|Resolves):?( #)?(\(issue\)| <!-- issue -->)?|Brief description .*)$/;

it("is kept around our parts, line by line, but for placeholders", () => {
  fc.assert(
    fc.property(template, (text) => {
      const left = linesAround(text);
      const lines = text.split(/\r\n?|\n/).filter((line) => line.trim() !== "");
      for (const line of lines) {
        const shown = line.replaceAll("docs-agent:", "docs-agent\u200b:");
        if (left[0] === shown) left.shift();
        else expect(line).toMatch(PLACEHOLDER);
      }
      expect(left).toEqual([]);
    }),
  );
});

it("leaves our parts where a follow-up finds them, and nothing else that passes for them", () => {
  fc.assert(
    fc.property(template, (text) => {
      const { hasChecks, filled } = parseTemplate(text);
      const body = filled(MAIN, CHECKS);
      expect(saysOurDraft(body)).toBe(false);
      expect(body.match(/docs-agent:/g)).toHaveLength(hasChecks ? 4 : 2);
      const [main, checks] = [marked("main", "More."), marked("checks", "**Checks:** none")];
      expect(mergedBody(body, { main, checks })).toBe(body.replace(MAIN, main).replace(CHECKS, checks));
      // It is read as a part of its own: not in code, a comment, a list or a quote.
      const blocks = reader.parse(body).children.map((node) => ("value" in node ? node.value : node.type));
      const at = blocks.indexOf("<!-- docs-agent:start -->");
      expect(blocks.slice(at, at + 3)).toEqual([
        "<!-- docs-agent:start -->",
        "paragraph",
        "<!-- docs-agent:end -->",
      ]);
    }),
  );
});

it.each(
  [
    [
      "Closes #",
      "Fixes: #",
      "Resolves",
      "Closes #(issue)",
      "Fixes #<!-- -->",
      "Closes: ",
      "**Fixes:** # (number)",
    ],
    [
      "Fixes/closes #XXX",
      "Closes <issue>",
      "Related to #",
      "- Closes #<!-- the issue -->",
      "Closes #<!--\nissue\n-->",
    ],
    ["-", "* ", "+", "1.", "- \n- \n- ", "What changed:\n-\n-", "1.\n   -"],
    ["Brief description of what's being updated", "_A short, clear summary of the change._"],
  ].flat(),
)("has no place for %j", (placeholder) => {
  expect(linesAround(`## Why\n\n${placeholder}\n\nThe end`).join("\n")).toMatch(
    /^## Why\n(?:What changed:\n)?The end$/,
  );
});

it.each(
  [
    [
      "Closes #12",
      "Fixes the build",
      "- Fix\n- Feature",
      "Fixes:\n- a",
      "- [ ] Fixes #(issue)",
      "- [ ]",
      "> Closes #",
    ],
    [
      "```\nCloses #\n-\n```",
      "<!--\nCloses #\n-->",
      "---",
      "See the guide",
      "**Brief description of the bug:**",
    ],
    ["Closes #\n---", "| - | - |", "Brief description of the bug: none"],
  ].flat(),
)("keeps %j", (text) => {
  expect(linesAround(`## Why\n\n${text}\n\nThe end`).join("\n")).toBe(`## Why\n${text}\nThe end`);
});

it.each([
  [
    "a longer fence",
    "````\n```\n## Summary\n````\n\n~~~\n```\n## Details\n~~~\n\n## Overview",
    "## Overview",
  ],
  ["a heading that is underlined", "Hello\n\nSummary of changes\n===\nx", "===\n"],
  ["a comment that never ends", "Hello\n\n<!--\n## Summary", ""],
  ["a quote and a list", "> ## Summary\n\n- ## Changes\n\n## Details", "## Details"],
  ["the kinds of a change", "## Type of change\n\n- [ ] Fix\n\n## What changes", "## What changes"],
  ["what is there today", "## What is the current behavior?\n\n## What is new?", "## What is new?"],
])("finds our place after %s", (_what, text, above) => {
  const [before = ""] = parseTemplate(text).filled(MAIN, CHECKS).split(MAIN);
  expect(before.trimEnd()).toBe(text.slice(0, text.indexOf(above) + above.length).trimEnd());
});
