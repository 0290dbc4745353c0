import { describe, expect, it } from "vitest";
import { agreementProblem } from "../../eval/rules/agreement.ts";
import { zoneProblem } from "../../eval/rules/zone.ts";
import { solvedOf } from "./solved-of.ts";

const PAGE = `# Limits

A key can make 100 calls a minute. Wait for \`Retry-After\` before you try again.

| what | limit |
|---|---|
| calls | 100/min |
| keys | 10 |

- Ask for more.
- Or take two keys.

Keys don't expire.
`;
const RIGHT = PAGE.replaceAll("100 calls a minute", "250 calls a minute").replace("100/min", "250/min");

const nothing = () => false;
const solved = (after: string, more = {}) =>
  solvedOf({
    before: { "docs/limits.md": PAGE },
    reference: { "docs/limits.md": RIGHT },
    after: { "docs/limits.md": after, ...more },
    told: "it's 250 a minute now",
  });

function zoneOf(after: string, more = {}, isFree: (text: string) => boolean = nothing, adds = 0) {
  return zoneProblem(solved(after, more), { isFree, adds });
}

describe("what the reference leaves alone", () => {
  it.each([
    ["another line break", RIGHT.replace("minute. Wait", "minute.\nWait")],
    ["another mark of a list", RIGHT.replaceAll("\n- ", "\n* ")],
    ["another width of a table", RIGHT.replace("| keys | 10 |", "| keys     | 10    |")],
    ["a sentence more where the change is", RIGHT.replace("again.", "again. All keys count apart.")],
  ])("stands with %s", (_what, after) => {
    expect(zoneOf(after)).toBeNull();
  });

  it.each([
    ["a paragraph is gone", RIGHT.replace("Keys don't expire.\n", ""), "Keys don't expire."],
    ["a word turns it", RIGHT.replace("Keys don't", "Keys"), "Keys don't expire."],
    ["a row is gone", RIGHT.replace("| keys | 10 |\n", ""), "keys | 10"],
    ["a fence is open", RIGHT.replace("- Ask", "```\n- Ask"), "Ask for more."],
    [
      "items change places",
      RIGHT.replace("- Ask for more.\n- Or take two keys.", "- Or take two keys.\n- Ask for more."),
      "Ask for more.",
    ],
  ])("doesn't stand if %s", (_what, after, named) => {
    expect(zoneOf(after)).toContain(named);
  });

  it("doesn't stand if the title of a tab is cut", () => {
    const titled = (page: string) => `${page}\n\`\`\`sh [Linux]\nlimits show\n\`\`\`\n`;
    const page = {
      before: { "docs/limits.md": titled(PAGE) },
      reference: { "docs/limits.md": titled(RIGHT) },
      after: { "docs/limits.md": titled(RIGHT).replace("[Linux]", "[Linux") },
    };
    expect(zoneProblem(solvedOf(page), { isFree: nothing, adds: 0 })).toContain("sh [Linux]");
  });

  it("has no room for a new paragraph, unless the task says so", () => {
    const after = RIGHT.replace("Keys don't", "Certainly! Here is the page.\n\nKeys don't");
    expect(zoneOf(after)).toContain("Added, where nothing has to change: docs/limits.md: Certainly!");
    expect(zoneOf(after, {}, nothing, 1)).toContain("Certainly!");
    expect(zoneOf(after, {}, (text) => text.startsWith("Certainly"))).toBeNull();
  });

  it("has no room for more where the reference changes something, unless the task says so", () => {
    const after = RIGHT.replace("\n\n| what", "\n\nAll keys count apart.\n\n| what");
    expect(zoneOf(after)).toContain("Added, where the task allows 0: docs/limits.md: All keys");
    expect(zoneOf(after, {}, nothing, 1)).toBeNull();
  });

  it.each([
    ["a flag", "`--window-size`", "`--window`"],
    ["a file", "`limits.json`", "`limits.js`"],
    ["an address", "https://api.example.com/limits", "https://api.example.co/limits"],
  ])("knows %s as a whole alone", (_what, known, cut) => {
    const each = (word: string) => ({ "a.md": `The limit is in ${known}.\n\nSee ${word} for 20 of them.\n` });
    const zone = (word: string) =>
      zoneProblem(
        solvedOf({
          before: each("the page"),
          reference: { "a.md": each("the page")["a.md"].replace("20", "30") },
          after: { "a.md": each(word)["a.md"].replace("20", "30") },
        }),
        { isFree: nothing, adds: 0 },
      );
    expect(zone(cut)).toContain("It stands in no source: a.md: ");
    expect(zone(known)).toBeNull();
  });

  it("has no room for a line of AsciiDoc where nothing has to change", () => {
    const page = "= Limits\n\nA key can make 100 calls.\n\n== More\n\nAsk us.\n";
    const right = page.replace("100", "250");
    const zone = (after: string) =>
      zoneProblem(
        solvedOf({ before: { "a.adoc": page }, reference: { "a.adoc": right }, after: { "a.adoc": after } }),
        { isFree: nothing, adds: 0 },
      );
    expect(zone(`${right}\nOr don't.\n`)).toContain("Added, where nothing has to change: a.adoc: Or don't.");
    expect(zone(right.replace("can make 250", "can\nmake 250"))).toBeNull();
  });

  it("has no room for another file", () => {
    expect(zoneOf(RIGHT, { "notes.md": "# Notes\n" })).toContain("notes.md");
  });

  it("gets no names and numbers that stand in no source", () => {
    const with_ = (words: string) => zoneOf(RIGHT.replace("try again.", `try again. ${words}`));
    expect(with_("Set `AUTO_RETRY_MODE` for it.")).toContain("AUTO_RETRY_MODE");
    expect(with_("Or pass --retry-all.")).toContain("--retry-all");
    expect(with_("See https://elsewhere.example/limits for it.")).toContain(
      "https://elsewhere.example/limits",
    );
    expect(with_("It takes 77 seconds.")).toContain("77 seconds");
    expect(with_("That is about 15,000 an hour, with `Retry-After`.")).toBeNull();
  });
});

describe("where the reference changes something", () => {
  const agreementOf = (after: string) => agreementProblem(solved(after), nothing);

  it.each([
    [
      "other words",
      RIGHT.replace("A key can make 250 calls a minute.", "You get 250 calls per minute with a key."),
    ],
    ["numbers in words", RIGHT.replace("make 250 calls", "make two hundred and fifty calls")],
    ["another unit", RIGHT.replace("250/min", "15,000 per hour")],
    ["the version from which on", RIGHT.replace("a minute. Wait", "a minute since 4.2. Wait")],
    [
      "another column, with yes and no",
      RIGHT.replace(
        "| what | limit |\n|---|---|\n| calls | 250/min |\n| keys | 10 |",
        "| what | fixed | limit |\n|---|---|---|\n| calls | no | 250/min |\n| keys | yes | 10 |",
      ),
    ],
    ["the past", RIGHT.replace("a minute. Wait", "a minute; before, it was 100 calls a minute. Wait")],
  ])("the solution may have %s", (_what, after) => {
    expect(agreementOf(after)).toBeNull();
  });

  it.each([
    ["another unit with the same number", RIGHT.replace("250 calls a minute", "250 calls an hour")],
    ["the old value", RIGHT.replace("250/min", "100/min")],
    [
      "the old value beside the new one",
      RIGHT.replace("again.", "again. More than 100 calls a minute fail."),
    ],
    ["another number", RIGHT.replace("a minute. Wait", "a minute with 4.2 keys. Wait")],
    ["the opposite", RIGHT.replace("A key can make", "A key can't make")],
    ["a lost sentence", RIGHT.replace(" Wait for `Retry-After` before you try again.", "")],
    ["an opposite word", RIGHT.replace("before you try", "after you try")],
  ])("the solution may not have %s", (_what, after) => {
    expect(agreementOf(after)).not.toBeNull();
  });

  it("two values don't change places", () => {
    const before = "It waits 10 seconds, and ends after 30 seconds.\n";
    const reference = before.replace("30", "40");
    const after = "It waits 40 seconds, and ends after 10 seconds.\n";
    const files = (text: string) => ({ "a.md": text });
    const each = solvedOf({ before: files(before), reference: files(reference), after: files(after) });
    expect(agreementProblem(each, nothing)).toContain(after.trim());
  });

  describe("in a sample", () => {
    const LINES = ["app:", "  image: quay:6.2.1", "worker:", "  image: quay:6.2.1", "db:", "  image: pg:13"];
    const fenced = (lines: readonly string[]) => `\`\`\`yaml\n${lines.join("\n")}\n\`\`\`\n`;
    const right = fenced(LINES).replace("pg:13", "pg:15");
    const sampleOf = (after: string) =>
      agreementProblem(
        solvedOf({
          before: { "a.md": fenced(LINES) },
          reference: { "a.md": right },
          after: { "a.md": after },
        }),
        nothing,
      );

    it.each([
      ["indented otherwise", right.replaceAll("  image", "    image")],
      ["joined to another one", right.replace("db:\n  image: pg:15", "db: { image: pg:15 }")],
    ])("a line may be %s", (_how, after) => {
      expect(sampleOf(after)).toBeNull();
    });

    it.each([
      ["gone", right.replace("worker:\n  image: quay:6.2.1", "worker:")],
      ["changed", right.replace("quay:6.2.1\ndb", "quay:6.2.15\ndb")],
    ])("a line may not be %s where the same one stands elsewhere", (_how, after) => {
      expect(sampleOf(after)).toContain("image: quay:6.2.1");
    });
  });

  it.each([
    ["A file stays for 180 days in the bin.", null],
    ["A file stays for six days in the bin.", "six days"],
    ["A file never stays for 180 days in the bin.", "opposite"],
  ])("a time may be in another unit: %j", (after, says) => {
    const [before, reference] = [3, 6].map((months) => `A file stays for ${months} months in the bin.\n`);
    const files = (text = "") => ({ "a.md": text });
    const each = solvedOf({ before: files(before), reference: files(reference), after: files(after) });
    if (says === null) expect(agreementProblem(each, nothing)).toBeNull();
    else expect(agreementProblem(each, nothing)).toContain(says);
  });

  it("a page that moves keeps its blocks", () => {
    const text = "# Feed\n\nIt is read each minute.\n\nThen it waits.\n";
    const moved = (after: string) =>
      zoneProblem(
        solvedOf({
          before: { "a/feed.md": text },
          reference: { "b/feed.md": text },
          after: { "b/feed.md": after },
        }),
        { isFree: nothing, adds: 0 },
      );
    expect(moved(text)).toBeNull();
    expect(moved(text.replace("Then it waits.", "Then it ends."))).toContain("Then it waits.");
  });
});
