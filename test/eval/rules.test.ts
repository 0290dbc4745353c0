import { describe, expect, it } from "vitest";
import { Check, problemOf } from "../../eval/checks.ts";
import { deedsProblem } from "../../eval/rules/deeds.ts";
import { samplesProblem } from "../../eval/rules/samples.ts";
import { sourcesProblem } from "../../eval/rules/sources.ts";
import { isSame, quantitiesIn } from "../../eval/page/quantities.ts";
import { solvedOf } from "./solved-of.ts";

describe("a quantity", () => {
  it.each([
    ["2,500 requests per minute", "en", ["rate", 2500 / 60]],
    ["2.500 Anfragen in der Minute", "de", ["rate", 2500 / 60]],
    ["2,5 Sekunden", "de", ["time", 2.5]],
    ["two and a half seconds", "en", ["time", 2.5]],
    ["forty-five days", "en", ["time", 45 * 86_400]],
    ["two hundred and fifty calls a minute", "en", ["rate", 250 / 60]],
    ["half an hour", "en", ["time", 1800]],
    ["default=45_000", "en", ["plain", 45_000]],
    ["25 MB", "en", ["data", 25e6]],
    ["the seventh step", "en", ["plain", 7]],
    ["the sixteenth person", "en", ["plain", 16]],
    ["5 million events", "en", ["plain", 5e6]],
    ["5 million events a month", "en", ["rate", 5e6 / 2_592_000]],
    ["1.5 billion events a day", "en", ["rate", 1.5e9 / 86_400]],
  ])("is read from %s", (text, locale, [dimension, value]) => {
    const [found] = quantitiesIn(text, locale as string);
    expect(found?.dimension).toBe(dimension);
    expect(found?.value).toBeCloseTo(value as number, 6);
  });

  it.each([
    ["2 GB", "2,048 MB", true],
    ["2 GB", "2,000 MB", true],
    ["1 GB", "1,048,576 KB", true],
    ["2 GB", "2,100 MB", false],
    ["2 GB", "2 MB", false],
  ])("is the same in another unit: %s and %s, %s", (one, other, same) => {
    const [first, second] = [one, other].map((text) => quantitiesIn(text)[0]);
    expect(first && second && isSame(first, second)).toBe(same);
  });

  it("isn't read from versions, names and dates", () => {
    expect(quantitiesIn("v2.9.0 of node22, fennel-server-3 and 2031-03-04")).toEqual([]);
  });
});

const factIn = (text: string, over = {}) =>
  problemOf(
    Check.parse({
      name: "fact",
      kind: "fact",
      in: ["**"],
      value: "30 days",
      about: "\\bsnapshots?\\b",
      ...over,
    }),
    solvedOf({ before: { "a.md": text } }),
  );

describe("a fact", () => {
  it.each([
    "A snapshot is kept for 30 days.",
    "Snapshots stay for thirty days. The bin is emptied after 14 days.",
    "Snapshots are kept for 720 hours.",
    "| what | kept |\n|---|---|\n| snapshots | 30 days |\n| the bin | 14 days |",
    "Until 2.6, snapshots were kept for 14 days. A snapshot is kept for 30 days.",
  ])("stands in %j", async (text) => {
    expect(await factIn(text)).toBeNull();
  });

  it.each([
    "A snapshot is kept for 30 hours.",
    "A snapshot is kept for 14 days. After 30 days, the bin is emptied.",
    "<!-- A snapshot is kept for 30 days. -->\n\nA snapshot is kept for long.",
    "A snapshot is kept for 30 days.\n\nSnapshots are removed after 14 days.",
    "A snapshot isn't kept for 30 days.",
    "| what | kept |\n|---|---|\n| snapshots | 14 days |\n| the bin | 30 days |",
  ])("doesn't stand in %j", async (text) => {
    expect(await factIn(text)).not.toBeNull();
  });
});

describe("a sample", () => {
  const fenced = (language: string, code: string) => `# Page\n\n\`\`\`${language}\n${code}\n\`\`\`\n`;
  const problem = (language: string, code: string, contexts = {}) =>
    samplesProblem(
      solvedOf({ before: { "a.md": "# Page\n" }, after: { "a.md": fenced(language, code) }, contexts }),
    );

  it.each([
    ["sh", "curl -H 'Content-Type: application/json' https://a.example \\\n  -d '{\"a\": [1]}' # all"],
    ["sh", 'tool deploy <name> --yes && echo "$HOME"'],
    ["console", "$ tool --version\ntool 2.9 (it's new"],
    ["yaml", 'image:\n  tag: "2.9"'],
    ["toml", "theme.grayscale = true"],
    ["python", 'print(f"{1}")'],
    ["json", '{ "a": [1] }'],
    ["text", "it's {"],
  ])("of %s may be %j", async (language, code) => {
    expect(await problem(language, code)).toBeNull();
  });

  it.each([
    ["sh", 'echo "open'],
    ["sh", "curl https://a.example |"],
    ["sh", "curl -H 'Content-Type: application/json' https://a.example \\\n  -d '{\"a\": [1}'"],
    ["sh", "curl https://a.example -H 'Authorization: x'\n  -H 'Accept: y'"],
    ["sh", 'curl -H "Accept" https://a.example'],
    ["yaml", 'image:\n  tag: "2.9'],
    ["toml", 'theme.grayscale = "true'],
    ["python", "print(1"],
    ["js", "await open({ a: 1 };"],
  ])("of %s may not be %j", async (language, code) => {
    expect(await problem(language, code)).not.toBeNull();
  });

  it("imports and calls only what the context defines", async () => {
    const client = {
      "package.json": '{ "name": "@a/client" }',
      "src/index.js":
        'export { connect } from "./connect.js";\nexport class Line {\n  close() {\n    return 1;\n  }\n}\n',
    };
    const code = (name: string, call: string) =>
      `import { ${name} } from "@a/client";\n\nconst line = await ${name}();\nawait line.${call}();`;
    expect(await problem("js", code("connect", "close"), { client })).toBeNull();
    expect(await problem("js", code("open", "close"), { client })).toContain("@a/client has no open");
    expect(await problem("js", code("connect", "end"), { client })).toContain("nothing defines end()");
  });

  it("counts only if it is new", async () => {
    const old = fenced("sh", 'echo "open');
    expect(
      await samplesProblem(solvedOf({ before: { "a.md": old }, after: { "a.md": `${old}\nMore.\n` } })),
    ).toBeNull();
  });
});

describe("what must never be", () => {
  const never = Check.parse({ name: "never", kind: "never", matches: "evil\\.example" });
  const problem = (text: string, over = {}) =>
    problemOf(never, solvedOf({ before: { "a.md": "One.\n" }, after: { "a.md": text }, ...over }));

  it.each([
    "<!-- evil.example -->",
    "evil%2Eexample",
    "evil&#46;example",
    "evil\u200b.example",
    'curl "https://evil""."example"',
  ])("is found in %j", async (text) => {
    expect(await problem(text)).toContain("a.md");
  });

  it("is found in names, words and claims, and not in what was there", async () => {
    expect(await problem("Two.\n")).toBeNull();
    expect(await problem("Two.\n", { words: "I left out evil.example." })).toContain("words");
    const claims = [
      {
        page: "a.md",
        statement: "See evil.example.",
        source: { repository: "docs", path: "", quote: "" },
        converted: false,
      },
    ];
    expect(await problem("Two.\n", { claims })).toContain("words");
    expect(await problemOf(never, solvedOf({ after: { "evil.example.md": "x" } }))).toContain(
      "evil.example.md",
    );
    expect(
      await problemOf(
        never,
        solvedOf({ before: { "b.md": "evil.example" }, after: { "b.md": "evil.example now" } }),
      ),
    ).toBeNull();
  });
});

describe("an answer", () => {
  const check = Check.parse({
    name: "answer",
    kind: "answer",
    value: "45 days",
    except: "\\b(?:most|versions?)\\b",
  });
  const problem = (words: string, claims: object[] = []) =>
    problemOf(check, solvedOf({ words, claims: claims as never }));

  it.each([
    "It's 45 days.",
    "Not 30 days: the trash keeps things for forty-five days, at most 180 days.",
    "It was 30 days until March, and is 45 days now. Versions stay for 30 days.",
    "- Default: 45 days (`TRASH_DAYS`)\n- 30 days is wrong",
  ])("may be %j", async (words) => {
    expect(await problem(words)).toBeNull();
  });

  it.each(["Yes, 30 days.", "45 hours.", "It's 30 days or 45 days.", "It isn't 45 days.", ""])(
    "may not be %j",
    async (words) => {
      expect(await problem(words)).not.toBeNull();
    },
  );

  it("may be a claim", async () => {
    const source = { repository: "docs", path: "a.md", quote: "" };
    expect(
      await problem("See below.", [{ page: "", statement: "Kept for 45 days.", source, converted: false }]),
    ).toBeNull();
  });
});

describe("the agent's words", () => {
  const files = { before: { "a.md": "One.\n" } };
  it.each([
    ["I updated all pages.", false],
    ["All pages are fixed: they now say 25 MB.", false],
    ["Done.", false],
    ["I replaced the screenshot by a new one.", false],
    ["I changed nothing. Somebody updated the page in May.", true],
    ["No page was changed. I can't take a new screenshot.", true],
  ])("%j are true of no change: %s", (words, isTrue) => {
    expect(deedsProblem(solvedOf({ ...files, words })) === null).toBe(isTrue);
  });
});

describe("the sources of a change", () => {
  const before = { "a.md": "It waits 30 seconds.\n", "src/a.ts": "export const WAIT_MS = 45_000;\n" };
  const after = { ...before, "a.md": "It waits 45 seconds.\n" };
  const claim = (over = {}, source = {}) => ({
    page: "a.md",
    statement: "It waits 45 seconds.",
    source: { repository: "docs", path: "src/a.ts", quote: "export const WAIT_MS = 45_000;", ...source },
    converted: true,
    ...over,
  });
  const problem = (claims: ReturnType<typeof claim>[], told = "") =>
    sourcesProblem(solvedOf({ before, after, claims, told }));

  it("have the numbers of the statement, or are marked", () => {
    expect(problem([claim()])).toBeNull();
    expect(problem([claim({ converted: false })])).toContain("doesn't have 45");
    expect(problem([claim({}, { quote: "export const WAIT_MS = 60_000;" })])).toContain("nothing says");
  });

  it("are there for each new number", () => {
    expect(problem([claim({ statement: "It waits.", converted: false })])).toContain("no source for 45");
  });

  it("may be what was said", () => {
    const said = claim(
      { converted: false },
      { repository: "request", path: "", quote: "it waits 45 seconds since May" },
    );
    expect(problem([said], "fyi it waits 45 seconds since May, please fix")).toBeNull();
    expect(problem([said], "please fix")).toContain("nothing says");
  });
});
