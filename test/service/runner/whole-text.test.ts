import { describe, expect, it } from "vitest";
import { bodyOf, changeTitle, recordedPages } from "../../../src/service/runner/publish/pull-request-text.ts";
import { cutAtWord } from "../../../src/service/runner/publish/cut-at-word.ts";
import { joinedWords } from "../../../src/service/runner/publish/page-words.ts";
import {
  changedPullRequestText,
  newPullRequestText,
} from "../../../src/service/runner/publish/text-readers.ts";
import { above } from "../../support/pull-request-texts.ts";
import { lastOf } from "../../support/turn-texts.ts";

const plain = (text: string) => text;

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

describe("the title of several turns", () => {
  const Q = "docs/quickstart.md";
  const F = "docs/faq.md";
  const I = "docs/install.md";
  const one = (title: string, ...pages: string[]) =>
    `${title}\n\n${pages.map((page) => `- ${page}: it`).join("\n")}`;

  it.each<[string, string[], string[], string]>([
    ["Fix typos and links in FAQ and install", [`Fix typos in ${I}`, `Fix links in ${F}`], [F, I], ""],
    ["Fix typos in FAQ and install", ["Fix typos in install", "Fix typos in the FAQ"], [F, I], ""],
    [
      "Correct 3 misspellings and repair 1 link in FAQ and install",
      [`Correct 1 misspelling in ${I}`, `Repair 1 link in ${F}`, `Correct 2 misspellings in ${F}`],
      [F, I],
      "",
    ],
    [
      "Correct 3 misspellings, repair 1 link in docs/quickstart.md",
      [
        `Correct 3 misspellings, repair 1 link in ${Q}`,
        `Replace "immediately" with "at once", as everywhere in ${Q}`,
      ],
      [Q],
      "the first one, which is true of all",
    ],
    [
      "Correct 3 misspellings, repair 1 link and more in FAQ and quickstart",
      [
        `Correct 3 misspellings, repair 1 link in ${Q}`,
        `Replace "immediately" with "at once", as everywhere in ${F}`,
      ],
      [F, Q],
      "",
    ],
    ["Correct the port; add page A", ["Correct the port", "Add page A"], [F, "docs/a.md"], "as before"],
    [
      "Correct the install command for Windows wherever it stands",
      [
        one("Correct the install command for Windows wherever it stands", Q, F),
        "Use the same words as in the reference of the command line",
      ],
      [F, Q],
      "the first one, whose pages are all",
    ],
    [
      "Correct the install command for Windows and more in FAQ and install",
      ["Correct the install command for Windows", "Say in the FAQ what the command line prints then"],
      [F, I],
      "",
    ],
    ["Fix typos in 12 pages", ["Fix typos in 8 pages", "Fix typos in 4 pages"], pagesOf(12), ""],
    [
      "Update page-0, page-1 and 10 more pages",
      [one(`Explain ${"at length ".repeat(6)}why`, "docs/page-0.md"), `Say ${"more ".repeat(15)}`],
      pagesOf(12),
      "",
    ],
    ["Update docs/faq.md", ["", ""], [F], "the pages', if no turn says anything"],
    ["Update en/install.md and de/install.md", ["", ""], ["en/install.md", "de/install.md"], "with folders"],
    ["Update API and README", ["", ""], ["docs/api/README.md", "README.md"], "a folder's"],
  ])("is %s", (title, summaries, paths) => {
    expect(changeTitle({ ...lastOf(summaries, paths), words: null }, plain)).toBe(title);
  });

  it("is about what was asked for, and not about what its reviews led to", () => {
    const reviewed = lastOf(["Fix typos in install", "Name the port as the review says"], [I]);
    expect(changeTitle({ ...reviewed, kind: "address" }, plain)).toBe("Fix typos in install");
    const [first, ...more] = lastOf(["", "Name the port", "Fix links in install"], [I]).earlierTurns;
    const turn = lastOf(["", "", "Fix links in install"], [I]);
    const earlierTurns = [
      ...(first ? [first] : []),
      ...more.map((each) => ({ ...each, kind: "address" as const })),
    ];
    expect(changeTitle({ ...turn, earlierTurns }, plain)).toBe("Fix links in install");
  });

  it("is no request that only points at something", () => {
    const turn = { ...lastOf([""], [F]), words: "please fix these" };
    expect(changeTitle({ ...turn, summary: null }, plain)).toBe("Update docs/faq.md");
    expect(changeTitle({ ...turn, summary: null, words: "Fix the port" }, plain)).toBe("Fix the port");
  });
});

function pagesOf(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `docs/page-${at}.md`);
}

describe("a title of ours", () => {
  const text = { titleTemplate: "docs: {title}", template: null };
  const first = "Correct 3 misspellings in docs/quickstart.md";

  it("is known again, and a person's stays", () => {
    const paths = ["docs/faq.md", "docs/quickstart.md"];
    const begun = newPullRequestText({ ...text, turn: lastOf([first], paths.slice(1)) }, plain);
    const turn = lastOf([first, "Repair 1 link in docs/faq.md"], paths);
    const next = (found: { title: string; body: string | null }) =>
      changedPullRequestText({ ...text, turn, found }, plain);
    const changed = next(begun);
    expect(changed.title).toBe("docs: correct 3 misspellings and repair 1 link in FAQ and quickstart");
    expect(next({ ...begun, title: changed.title ?? "", body: changed.body }).title).toBe(changed.title);
    // Even one that we could have given it.
    const theirs = { title: "docs: repair 1 link in docs/faq.md", body: changed.body };
    const kept = next(theirs);
    expect(kept.title).toBeNull();
    expect(next({ ...theirs, body: kept.body }).title).toBeNull();
    // An earlier version wrote no mark.
    expect(next({ ...begun, body: "Words" }).title).toBe(changed.title);
    expect(next({ title: "Ours", body: "Words" }).title).toBeNull();
  });

  it("stays as it is if the text has no room", () => {
    const turn = lastOf([first, "Repair 1 link in docs/faq.md"], ["docs/faq.md"]);
    const begun = newPullRequestText({ ...text, turn: lastOf([first], ["docs/quickstart.md"]) }, plain);
    const found = { ...begun, body: begun.body.padStart(65_536, "Our own words. ") };
    expect(changedPullRequestText({ ...text, turn, found }, plain)).toMatchObject({
      title: null,
      body: null,
    });
  });
});

it("records the first pages with what the turns say of them", () => {
  const paths = Array.from({ length: 30 }, (_, at) => `docs/${String(at).padStart(2, "0")}.md`);
  const turn = lastOf(
    ["One\n\n- docs/00.md: a key sk-1", `Two\n\n- docs/00.md: ${"more ".repeat(90)}`],
    paths,
  );
  const pages = recordedPages(turn, (text) => text.replace("sk-1", "…"));
  expect(pages).toHaveLength(20);
  expect(pages[0]).toMatchObject({ path: "docs/00.md", status: "changed", additions: 2, deletions: 1 });
  expect(pages[0]?.words).toMatch(/^a key …; (?:more )+…$/);
  expect(pages[0]?.words?.length).toBeLessThanOrEqual(300);
  expect(pages[1]?.words).toBeNull();
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
