import { describe, expect, it } from "vitest";
import { bodyOf, type TurnText } from "../../../src/service/runner/publish/pull-request-text.ts";
import { cutAtWord } from "../../../src/service/runner/publish/cut-at-word.ts";
import { joinedWords } from "../../../src/service/runner/publish/page-words.ts";
import { above } from "../../support/pull-request-texts.ts";

const plain = (text: string) => text;

/** The last of turns with these summaries, which changed these pages together. */
function lastOf(
  summaries: readonly string[],
  paths: readonly string[],
  more: Partial<TurnText> = {},
): TurnText {
  const turns = summaries.map((summary, at) => ({
    prompt: `Turn ${at + 1}`,
    words: `Turn ${at + 1}`,
    authors: null,
    summary,
    outcome: "pull-request" as const,
  }));
  const [own] = turns.slice(-1);
  const pages = paths.map((path) => ({ path, status: "changed" as const, additions: 2, deletions: 1 }));
  return {
    jobId: "j1",
    number: turns.length,
    prompt: "",
    words: null,
    summary: null,
    ...own,
    earlierTurns: turns.slice(0, -1),
    leftOut: [],
    change: { pages, undone: [], turns: new Set(turns.map((_, at) => at + 1)), nothingLeft: null },
    credit: null,
    checks: [],
    sources: null,
    caution: null,
    isOurDraft: false,
    ...more,
  };
}

describe("after a follow-up", () => {
  it("says of each page what all turns did there, oldest first", () => {
    const turn = lastOf(
      [
        "Correct 3 misspellings in docs/quickstart.md\n\nPeople read them first.\n\n- docs/quickstart.md: recieve → receive",
        "Say “at once”\n\nIt takes no time.\n\n- docs/quickstart.md: immediately → at once\n- docs/faq.md: the same",
        "Say “at once”\n\nIt takes no time.\n\n- quickstart.md: immediately → at once",
      ],
      ["docs/faq.md", "docs/quickstart.md"],
    );
    expect(above(bodyOf(turn, plain))).toBe(`<!-- docs-agent:start -->

People read them first.

It takes no time.

**Changed**

- \`docs/faq.md\` (+2 −1): the same
- \`docs/quickstart.md\` (+2 −1): recieve → receive; immediately → at once

`);
  });

  it("says nothing of a page that the change no longer has", () => {
    const summaries = [
      "Fix both\n\n- docs/a.md: one\n- docs/b.md: two",
      "Leave B alone\n\n- docs/b.md: as before",
    ];
    const turn = lastOf(summaries, ["docs/a.md"]);
    const change = turn.change && { ...turn.change, undone: ["docs/b.md"] };
    const text = above(bodyOf({ ...turn, change }, plain));
    expect(text).toContain("`docs/a.md` (+2 −1): one");
    expect(text).not.toContain("b.md");
  });

  it("says less of each page where that makes room for all of them", () => {
    const paths = Array.from({ length: 9 }, (_, at) => `docs/page-${at}.md`);
    const lines = paths.map((path) => `- ${path}: ${"a few words ".repeat(12)}`);
    const text = bodyOf(lastOf([`Fix them\n\n${lines.join("\n")}`], paths), plain);
    for (const path of paths) expect(above(text)).toContain(`- \`${path}\` (+2 −1): a few words`);
    expect(above(text).length).toBeLessThan(1600);
    expect(text.split("<summary>More about the change</summary>")[1]).toContain("a few words ".repeat(11));
  });
});

it("keeps of many words about a page the first and the newest", () => {
  const said = Array.from({ length: 20 }, (_, at) => `${at + 1}. ${"word ".repeat(20).trim()}`);
  expect(joinedWords(said)).toMatch(/^1\. [\w ]+; …; 19\. [\w ]+; 20\. [\w ]+$/);
  expect(joinedWords([])).toBe("");
  expect(joinedWords(["a", "b", "a"])).toBe("a; b");
});

it.each([
  ["one two three four", 15, "one two three …"],
  ["one two, and three", 14, "one two …"],
  ["Fix the links in docs/guides/quickstart.md", 30, "Fix the links …"],
  ["Set `max retries` in the file", 12, "Set …"],
  ["Replace all “a long saying” there", 24, "Replace all …"],
  ["“Words in marks that go on and on” end", 20, "“Words in marks …"],
  ["docs/guides/all/quickstart.md and more", 20, "…/all/quickstart.md"],
  ["`npm install a b c d e f`", 12, "npm install…"],
  ["文書の誤りを直す文書の誤りを直す", 9, "文書の誤りを直す…"],
  ["short", 5, "short"],
  ["see [a](https://example.com/a/b) now", 20, "see …"],
])("cuts %j to %i as %j", (line, max, shown) => {
  expect(cutAtWord(line, max)).toBe(shown);
  expect(shown.length).toBeLessThanOrEqual(max);
});
