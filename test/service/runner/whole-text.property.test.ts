import fc from "fast-check";
import { expect, it } from "vitest";
import { bodyOf, changeTitle } from "../../../src/service/runner/publish/pull-request-text.ts";
import { formattedTitle, MAX_TITLE_LENGTH } from "../../../src/service/runner/publish/title.ts";
import { lastOf } from "../../support/turn-texts.ts";

const plain = (text: string) => text;
const PATHS = [
  "README.md",
  "docs/faq.md",
  "docs/README.md",
  "docs/guides/install.md",
  "docs/de/guides/install.md",
  "docs/a-page-with-a-name-that-is-nearly-as-long-as-a-title-may-be-at-all.md",
  `docs/${"folder/".repeat(12)}deep.md`,
];

const page = fc.constantFrom(...PATHS);
const phrase = fc.constantFrom(
  "Fix typos",
  "Correct 3 misspellings, repair 1 link",
  "Correct 2 misspellings",
  "Repair 1 link",
  'Replace "immediately" with "at once"',
  "Rename `docs/old.md` to `docs/new.md`",
  "Explain why the client asks again after a while, and what it does with an answer that is late",
  "",
);
const titles = fc
  .tuple(phrase, fc.constantFrom(" in ", " of ", ", as ", " and "), fc.array(page, { maxLength: 3 }))
  .map(([what, between, pages]) => (pages.length === 0 ? what : `${what}${between}${pages.join(" and ")}`));
const turn = fc
  .tuple(titles, fc.uniqueArray(page), fc.lorem({ maxCount: 30 }), fc.boolean())
  .map(([said, pages, words, isTold]) =>
    [said, "", ...(isTold ? [words, ""] : []), ...pages.map((each) => `- ${each}: ${words}`)].join("\n"),
  );

const overlap = fc.record({
  url: fc.constant("https://github.com/acme/docs/pull/7"),
  name: fc.integer({ min: 1, max: 99_999 }).map((number) => `acme/docs#${number}`),
  isSameLines: fc.boolean(),
  paths: fc.uniqueArray(page, { minLength: 1, maxLength: 3 }),
  morePaths: fc.nat({ max: 50 }),
});

/** Paths and names of files that a title may have. Of a path that is too long, its end. */
const isWhole = (word: string) =>
  [...PATHS, "docs/old.md", "docs/new.md"].some(
    (path) => path === word || (word !== "" && path.endsWith(`/${word.replace(/^…\//, "")}`)),
  );

it("of any turns, the title is whole and short, and the text names each changed page once", () => {
  fc.assert(
    fc.property(
      fc.array(turn, { minLength: 1, maxLength: 8 }),
      fc.uniqueArray(page, { minLength: 1 }),
      fc.constantFrom("{title}", "docs: {title}", "[docs team, please look] {title}"),
      fc.array(overlap, { maxLength: 20 }),
      (summaries, changed, template, overlaps) => {
        const told = lastOf(summaries, changed, { overlaps });
        const undone = PATHS.filter((path) => !changed.includes(path));
        const last = { ...told, change: told.change && { ...told.change, undone } };
        const title = changeTitle(last, plain);
        const formatted = formattedTitle(template, title);
        for (const each of [title, formatted]) {
          expect(each.length).toBeLessThanOrEqual(MAX_TITLE_LENGTH);
          expect(each.trim()).not.toBe("");
          expect(each.split("`").length % 2).toBe(1);
          const words = each.split(/[\s`"]+/).map((word) => word.replace(/[,;:]$/, ""));
          expect(words.filter((word) => /\/|\.md/.test(word) && !isWhole(word))).toEqual([]);
        }
        const body = bodyOf(last, plain);
        const [above = "", below = ""] = body.split("<details>");
        const whole = below.includes("**Changed**") ? below : above;
        for (const path of PATHS) {
          const linesIn = (text: string) =>
            text.split("\n").filter((line) => line.startsWith(`- \`${path}\``)).length;
          expect(linesIn(whole)).toBe(changed.includes(path) ? 1 : 0);
          expect(linesIn(above)).toBeLessThanOrEqual(linesIn(whole));
        }
        expect(above.length).toBeLessThan(1600);
      },
    ),
  );
});
