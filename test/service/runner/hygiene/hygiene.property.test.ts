import fc from "fast-check";
import { expect, it } from "vitest";
import { hygieneFindings } from "../../../../src/service/runner/hygiene/hygiene.ts";
import { findingsOf, GOOD_PAGE } from "./pages.ts";

const PARTS = [
  ..."`~<>*_[](){}|\\!#-+=: \n\t.,'\"/".split(""),
  "\n\n",
  "\r\n",
  "\n    ",
  "```js\n",
  "\n```\n",
  "---\n",
  "+++\n",
  "| a |\n|---|\n",
  ":::note\n",
  "<<<<<<< a\n",
  "import a from 'b'\n",
  "export const c = 1\n",
  "word ",
  "Certainly! ",
  ..."<!-- | -->|{/*|*/}|<b>|</b>|<Tab |/>|:::|[x]: /y|[^1]|\0|\uFEFF|\uFFFD|\u202E|â€™|import(".split("|"),
];
const text = fc.array(fc.constantFrom(...PARTS), { maxLength: 60 }).map((parts) => parts.join(""));
const path = fc.constantFrom("a.md", "a.mdx", "a.rst", "a.adoc", "a.txt", "a.html");

it("reads any page, and finds nothing on one that stays as it was", () => {
  fc.assert(
    fc.property(text, path, (page, name) => {
      for (const { line } of findingsOf(page, { path: name })) {
        expect(line).toBeGreaterThan(0);
        expect(line).toBeLessThanOrEqual(page.split("\n").length);
      }
      expect(findingsOf(page, { path: name, before: page })).toEqual([]);
    }),
  );
});

it("reads bytes that are not text", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), path, (bytes, name) => {
      const pages = [{ path: name, before: bytes, after: bytes }];
      expect(hygieneFindings({ pages, facts: { words: "", quotedNames: [] }, off: [] })).toEqual([]);
    }),
  );
});

it("finds the same, whatever plain paragraph comes before", () => {
  const words = fc.array(fc.stringMatching(/^[a-z]{3,8}$/), { minLength: 3, maxLength: 8 });
  fc.assert(
    fc.property(text, words, (page, said) => {
      const shape = (pages: ReturnType<typeof findingsOf>) => pages.map(({ rule, says }) => ({ rule, says }));
      const alone = shape(findingsOf(`${GOOD_PAGE}\n${page}`));
      const below = shape(
        findingsOf(GOOD_PAGE.replace("## Settings", `A ${said.join(" ")} z.\n\n## Settings`) + `\n${page}`),
      );
      expect(below).toEqual(alone);
    }),
  );
});
