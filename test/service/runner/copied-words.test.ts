import { describe, expect, it } from "vitest";
import {
  findCopies,
  forgetKnown,
  showCopies,
  type Source,
} from "../../../service/runner/publish/copied-words.ts";
import { PRIVATE_SENTENCES } from "../../support/private-sentences.ts";

/** The parts of a text that stand in these sources, as a person would be shown them. */
function copiesIn(text: string, sources: readonly Source[], inARow: number, known: string[] = []): string[] {
  const { copied, meant } = findCopies({ inARow, texts: [text], sources });
  const runs = copied.filter((run) => !meant.includes(run));
  const found = forgetKnown({ found: [{ inARow, runs }], known });
  const [shown] = showCopies({ texts: [text], found }, (words) => words);
  return shown?.parts.flat().map(({ words }) => words) ?? [];
}

describe("a private sentence", () => {
  it.each(PRIVATE_SENTENCES)("is found: $name", ({ origin, sentence, written }) => {
    const source = {
      path: origin === "context" ? "src/plan.ts" : null,
      text: `Before it. ${sentence} After it.`,
    };
    const page = `# Our page\n\nSomething else that we wrote.\n\n${written}\n\nAnd more of ours.\n`;
    const [first = "", ...others] = copiesIn(page, [source], origin === "context" ? 12 : 8);
    expect(others).toEqual([]);
    expect(first.length).toBeGreaterThan(sentence.length * 0.7);
  });
});

const PLAN = "We will quietly drop support for the Globex appliance before the next summer release goes out.";

describe("words that are shared", () => {
  it.each([
    ["with one word less in a row", PLAN.split(" ").slice(0, 7).join(" "), 8],
    [
      "with another word in between",
      PLAN.split(" ")
        .map((word, at) => (at % 7 === 6 ? "soon" : word))
        .join(" "),
      8,
    ],
    ["of a script without spaces, in a short phrase", "安装程序现在很快。", 8],
  ])("aren't found %s", (_what, text, inARow) => {
    const sources = [PLAN, "安装程序现在每个节点至少需要四千兆字节的可用内存"].map((each) => ({
      path: null,
      text: each,
    }));
    expect(copiesIn(text, sources, inARow)).toEqual([]);
  });

  it.each([
    ["a readme's block of code", "README.md", `# Tool\n\n\`\`\`sh\n${PLAN}\n\`\`\`\n`],
    ["code within a readme's line", "pkg/readme.rst", `Type \`${PLAN}\` now.\n`],
    ["a readme's command", "README", `$ ${PLAN}\n`],
    ["a folder of examples", "examples/basic/main.ts", `// ${PLAN}\n`],
    ["the lines of a help text", "src/cli.ts", `.option("--drop <name>", "${PLAN}")\n`],
    ["an option with a value", "src/cli.ts", `  --drop NAME  ${PLAN}\n`],
    ["a line of usage", "src/cli.ts", `console.log("Usage: tool ${PLAN}");\n`],
    [
      "a help text over lines",
      "src/cli.ts",
      `  -d, --drop  We will quietly drop support for the Globex\n  --appliance  before the next summer release goes out.\n`,
    ],
  ])("don't count from %s", (_where, path, text) => {
    const page = path === "src/cli.ts" ? text : PLAN;
    expect(copiesIn(page, [{ path, text }], 12)).toEqual([]);
    // Unless they are nowhere but elsewhere in the repository.
    expect(
      copiesIn(page, [{ path: "src/plan.ts", text: `Note: ${page.replaceAll(/\s+/g, " ")}` }], 12),
    ).not.toEqual([]);
  });

  it("don't count if they are known, however they are written there", () => {
    const sources = [{ path: null, text: PLAN }];
    expect(copiesIn(PLAN, sources, 8, [`* **${PLAN.toUpperCase().replaceAll(" ", "*\n")}**`])).toEqual([]);
    expect(copiesIn(PLAN, sources, 8, [PLAN.slice(0, 60)])).not.toEqual([]);
  });

  it("are shown in full length, each part for itself, and a readme's prose is private", () => {
    const page = `Ours. **${PLAN}**\n\n${"Words of our own that are about something else. ".repeat(9)}\n\n> ${PLAN}\n`;
    const shown = copiesIn(page, [{ path: "README.md", text: `# Tool\n\n${PLAN}\n` }], 12);
    expect(shown).toEqual([PLAN.slice(0, -1), PLAN.slice(0, -1)]);
  });
});

it("begins a hint that is too short to be a copy, and leaves out each line that has a piece of one", () => {
  const text = `Title\n\nBen wrote: We will quietly drop\nsupport for the Globex appliance\n\nOurs.`;
  const { copied } = findCopies({ inARow: 8, texts: [text], sources: [{ path: null, text: PLAN }] });
  const [shown] = showCopies({ texts: [text], found: [{ inARow: 8, runs: copied }] }, (words) => words);
  expect(shown?.rest).toBe("Title\n\n\nOurs.");
  expect(shown?.parts.flat().map(({ hint }) => hint)).toEqual(["We will quietly drop support"]);
});

it("says that a part isn't whole if there is a secret in it", () => {
  const { copied } = findCopies({ inARow: 8, texts: [PLAN], sources: [{ path: null, text: PLAN }] });
  const redact = (words: string) => words.replaceAll("Globex", "[secret]");
  const [shown] = showCopies({ texts: [PLAN], found: [{ inARow: 8, runs: copied }] }, redact);
  expect(shown?.parts.flat()).toMatchObject([
    { isWhole: false, words: expect.not.stringContaining("Globex") },
  ]);
});

it("reads text that is made to be slow in a time that grows with its length alone", () => {
  const texts = [
    "ก x ",
    "<",
    "<!--",
    "](",
    "[^",
    "&",
    "%41",
    "a*",
    ":a",
    "link:",
    "|1",
    "{{",
    "a\u0301",
    "<a ",
  ].map((piece) => piece.repeat(40_000));
  const startedAt = performance.now();
  expect(findCopies({ inARow: 8, texts, sources: [{ path: null, text: PLAN }] }).copied).toHaveLength(0);
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});
