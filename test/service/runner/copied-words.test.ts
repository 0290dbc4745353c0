import { describe, expect, it } from "vitest";
import {
  findCopies,
  forgetKnown,
  showCopies,
  type Source,
} from "../../../src/service/runner/publish/copied-words.ts";
import { atNight } from "../../support/nightly.ts";
import { ALL_PRIVATE_SENTENCES, PRIVATE_SENTENCES } from "../../support/private-sentences.ts";

/** The parts of a text that stand in these sources, as a person would be shown them. */
function copiesIn(text: string, sources: readonly Source[], inARow: number, known: string[] = []): string[] {
  const { copied, meant } = findCopies({ inARow, texts: [text], sources });
  const runs = copied.filter((run) => !meant.includes(run));
  const found = forgetKnown({ found: [{ inARow, runs }], known, texts: [text] });
  const [shown] = showCopies({ texts: [text], found }, (words) => words);
  return shown?.parts.flat().map(({ words }) => words) ?? [];
}

describe("a private sentence", () => {
  it.each(atNight(ALL_PRIVATE_SENTENCES, PRIVATE_SENTENCES))(
    "is found: $name",
    ({ origin, sentence, written }) => {
      const source = {
        path: origin === "context" ? "src/plan.ts" : null,
        text: `Before it. ${sentence} After it.`,
      };
      const page = `# Our page\n\nSomething else that we wrote.\n\n${written}\n\nAnd more of ours.\n`;
      const [first = "", ...others] = copiesIn(page, [source], origin === "context" ? 12 : 8);
      expect(others).toEqual([]);
      expect(first.length).toBeGreaterThan(sentence.length * 0.7);
    },
  );
});

const PLAN = "We will quietly drop support for the Globex appliance before the next summer release goes out.";

const GERMAN =
  "Für große Kunden löschen wir künftig täglich überzählige Einträge, während häufig benötigte Schlüssel zunächst gültig bleiben.";
const POLISH = "W przyszłym tygodniu wyłączymy stary serwer płatności, bo już nikt nie chce dłużej płacić";
const RUSSIAN = "Мы тихо отключим старый сервер оплаты в следующем месяце потому что никто больше не платит";
const JAPANESE = "来月には古い決済サーバーを静かに停止する予定です誰もその費用を払わなくなったためです";

/** Bytes of a text by what each byte means. */
function encoded(text: string, encoding: string): Uint8Array {
  const letters = new Map<string, number[]>();
  const decoder = new TextDecoder(encoding);
  for (let code = 0; code < 0x1_0000; code += 1) {
    const bytes = code < 256 ? [code] : [code >> 8, code & 255];
    const letter = decoder.decode(Uint8Array.from(bytes));
    if (letter.length === 1 && !letters.has(letter)) letters.set(letter, bytes);
  }
  return Uint8Array.from(Array.from(text).flatMap((letter) => letters.get(letter) ?? []));
}

describe("a text that isn't UTF-8", () => {
  const swapped = (text: string) => Buffer.from(text, "utf16le").swap16();
  it.each<[string, string, Uint8Array]>([
    ["UTF-16 with a mark", GERMAN, Buffer.from(`\ufeff${GERMAN}`, "utf16le")],
    ["UTF-16 without", GERMAN, Buffer.from(GERMAN, "utf16le")],
    ["UTF-16 in the other order", GERMAN, swapped(GERMAN)],
    ["UTF-16 of another script with a mark", RUSSIAN, swapped(`\ufeff${RUSSIAN}`)],
    ["Latin-1", GERMAN, Buffer.from(GERMAN, "latin1")],
    ["Windows-1250", POLISH, encoded(POLISH, "windows-1250")],
    ["Windows-1251", RUSSIAN, encoded(RUSSIAN, "windows-1251")],
    ["Shift JIS", JAPANESE, encoded(JAPANESE, "shift_jis")],
  ])("is read as %s, on each side", (_what, text, bytes) => {
    for (const [page, source] of [
      [bytes, text],
      [text, bytes],
    ] as const) {
      const sources = [{ path: null, text: source }];
      const { copied } = findCopies({ inARow: 12, texts: [page], sources });
      expect(copied.length).toBeGreaterThan(0);
      const found = [{ inARow: 12, runs: copied }];
      const [shown] = showCopies({ texts: [page], found }, (words) => words);
      expect(shown?.parts.flat()[0]?.words).toBe(text.replace(/\.$/, ""));
    }
    const both = findCopies({ inARow: 12, texts: [bytes], sources: [{ path: null, text: bytes }] });
    expect(both.copied.length).toBeGreaterThan(0);
  });
});

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
    ["an option of a string", "src/cli.ts", `"--drop=NAME ${PLAN}"\n`],
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

  it.each([`// Usage: ${PLAN}\n`, `# --drop=${PLAN}\n`, `/* usage: ${PLAN} */`, `  * -d, --drop  ${PLAN}`])(
    "count from a comment: %s",
    (text) => {
      expect(copiesIn(PLAN, [{ path: "src/cli.ts", text }], 12)).not.toEqual([]);
    },
  );

  it("don't count if the text was known before it became a table", () => {
    const rows = PLAN.match(/(?:\S+ ?){4}/g)?.map((row) => `| ${row} | yes |`) ?? [];
    const sources = [{ path: null, text: PLAN }];
    expect(copiesIn(rows.join("\n"), sources, 8)).not.toEqual([]);
    expect(copiesIn(rows.join("\n"), sources, 8, [PLAN])).toEqual([]);
    expect(copiesIn(rows.join("\n"), sources, 8, [rows.join("\n")])).toEqual([]);
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
  expect(shown?.rests).toEqual(["Title\n\n\nOurs."]);
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
    "<a b='",
    '="',
    "](b",
    "](b(",
    "[x] 1.",
    "1.1 ",
    "|1.1",
    "\\u",
    "&#0",
    "a-\n",
    "a a a b ",
    `${PLAN.slice(0, 30)} x `,
  ].map((piece) => piece.repeat(40_000));
  const startedAt = performance.now();
  expect(findCopies({ inARow: 8, texts, sources: [{ path: null, text: PLAN }] }).copied).toHaveLength(0);
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});
