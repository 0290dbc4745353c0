import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { markdownRanges } from "../../../playground/agent/markdown-ranges.ts";
import { correctSpelling, readWordList } from "../../../playground/agent/spelling.ts";

const words = readWordList();
const correct = (text: string, isMdx = false) => correctSpelling(text, isMdx, words).text;

describe("the word list", () => {
  it("is long enough, and no correction is a misspelling itself", () => {
    expect(words.size).toBeGreaterThanOrEqual(300);
    for (const [wrong, right] of words) {
      expect(wrong).toMatch(/^[a-z]{3,}$/);
      expect(right).toMatch(/^[a-z][a-z' ]+$/);
      expect(right.split(" ").filter((word) => words.has(word))).toEqual([]);
    }
  });

  it("says each word once, and nothing about itself", () => {
    for (const [wrong, right] of words) expect(wrong).not.toBe(right);
  });
});

it.each([
  ["You recieve it.", "You receive it."],
  ["Recieve it, SEPERATE it.", "Receive it, SEPARATE it."],
  ["It doesnt matter, teh rest (wich is alot) does.", "It doesn't matter, the rest (which is a lot) does."],
  ["**definately** _occured_", "**definitely** _occurred_".replace("_occurred_", "_occured_")],
  ["*occured* and “occured”", "*occurred* and “occurred”"],
  ["[teh link](docs/teh.md)", "[the link](docs/teh.md)"],
  ["A seperate-but-equal thing", "A separate-but-equal thing"],
  ["Teh end. Teh", "The end. The"],
  ["| teh | `teh` |", "| the | `teh` |"],
  ["- teh item\n\n- teh item\n  teh more", "- the item\n\n- the item\n  the more"],
])("corrects %j", (text, corrected) => {
  expect(correct(text)).toBe(corrected);
});

it.each([
  ["fenced code", "```sh\nrecieve teh\n```\n"],
  ["a fence inside of a list", "- item\n\n  ```\n  recieve\n  ```\n"],
  ["a longer fence around a shorter one", "````\n```\nteh\n```\nteh\n````\n"],
  ["a fence that is never closed", "~~~\nteh\n\nteh"],
  ["indented code", "Text:\n\n    recieve teh\n    seperate\n"],
  ["inline code", "Call `recieve` and ``teh ` teh``."],
  ["inline code over two lines", "Call `recieve\nteh` now."],
  ["addresses", "See https://example.com/recieve?teh=seperate and www.recieve.com, teh@recieve.com"],
  ["an address in angle brackets", "<https://example.com/teh>"],
  ["a link's target and title", "[a](recieve.md)"],
  ["a link's definition", "[teh-name]: ./recieve.md"],
  ["a reference's name", "[a][teh]"],
  ["front matter", "---\nslug: recieve\nteh: seperate\n---\n"],
  ["a tag's attributes", 'A <a href="teh.html" title="recieve">x</a>'],
  ["a comment", "<!-- teh -->"],
  [
    "paths, options, identifiers",
    "src/recieve.ts recieve_all --seperate recieve.js #teh @teh recieve() key=teh $teh",
  ],
  ["names in mixed case", "RecieveAll reCieve"],
  ["parts of words", "tehran recieveable"],
  ["words that go on after an apostrophe", "teh's"],
])("leaves %s alone", (_name, text) => {
  expect(correct(text)).toBe(text);
});

it("leaves an MDX page's imports and expressions alone, and corrects its prose", () => {
  const text =
    'import { teh } from "./recieve";\n\nexport const recieve = {\n  teh: 1,\n};\n\nTeh {recieve} <Note title="teh">teh</Note>\n';
  expect(correct(text, true)).toBe(text.replace("Teh {", "The {").replace(">teh<", ">the<"));
});

it("corrects the prose in front matter, never its keys", () => {
  expect(correct("---\ntitle: Recieve it\ndescription: teh way\nid: teh\n---\n\nTeh\n")).toBe(
    "---\ntitle: Receive it\ndescription: the way\nid: teh\n---\n\nThe\n",
  );
});

it("counts what it did", () => {
  expect(correctSpelling("teh teh Teh", false, words).edits).toEqual([
    { from: "teh", to: "the", count: 2 },
    { from: "Teh", to: "The", count: 1 },
  ]);
});

/** Pages made of pieces that look like Markdown, with misspellings in all of them. */
const piece = fc.oneof(
  fc.constantFrom(
    "teh ",
    "Recieve ",
    "SEPERATE",
    "`teh`",
    "`",
    "``",
    "```\n",
    "~~~\n",
    "\n",
    "\n\n",
    "    teh\n",
    "- ",
    "> ",
    "[teh](teh.md)",
    "](",
    "<teh>",
    "<",
    "---\n",
    "https://teh.example/teh ",
    "{teh}",
    "occured.",
    "1. ",
    "\t",
    "\r\n",
    "é",
  ),
  fc.string({ maxLength: 4, unit: "binary" }),
);
const page = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));

it("changes nothing more when it is done again", () => {
  fc.assert(
    fc.property(page, fc.boolean(), (text, isMdx) => {
      const once = correct(text, isMdx);
      expect(correct(once, isMdx)).toBe(once);
    }),
  );
});

it("never changes code, and nothing but words of its list", () => {
  const codeOf = (text: string, isMdx: boolean) =>
    markdownRanges(text, isMdx).code.map(({ start, end }) => text.slice(start, end));
  fc.assert(
    fc.property(page, fc.boolean(), (text, isMdx) => {
      const corrected = correct(text, isMdx);
      expect(codeOf(corrected, isMdx)).toEqual(codeOf(text, isMdx));
      const bare = (some: string) => some.replaceAll(/\p{L}+(?:'t| lot)?/gu, "w");
      expect(bare(corrected)).toBe(bare(text));
    }),
  );
});

it("never changes a fenced block, whatever is in it", () => {
  const body = fc.array(fc.constantFrom("teh", "Recieve it", "", "    teh", "# teh", "``", "<b>"), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(page, body, page, (before, lines, after) => {
      const block = `\n\n~~~~~~~~~\n${lines.join("\n")}\n~~~~~~~~~\n\n`;
      // What stands before must not have opened a fence of its own.
      const start = before.replaceAll(/[`~<]|---/g, "");
      expect(correct(start + block + after)).toContain(block);
    }),
  );
});

it("takes a long page in its stride", () => {
  const nasty = [
    "`".repeat(3000),
    "[".repeat(20_000),
    "<a ".repeat(10_000),
    "` `` ".repeat(2000),
    "](".repeat(20_000),
    "{".repeat(20_000),
  ];
  for (const text of nasty) expect(correct(text, true)).toBe(text);
});
