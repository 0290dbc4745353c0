import { describe, expect, it } from "vitest";
import { saidOfProblem } from "../../eval/rules/said-of.ts";

const LIFE = {
  under: /^## Keys$/u,
  matches: null,
  value: "30 minutes",
  of: /setup key/iu,
  not: /site key/iu,
};

function problemOf(section: string, said = {}): string | null {
  const page = `# Enroll\n\nA setup key lives for 30 minutes.\n\n## Keys\n\n${section}\n\n## Later\n\nA site key.\n`;
  return saidOfProblem([["enroll.md", page]], { ...LIFE, ...said });
}

describe("what is said of one of two things", () => {
  it.each([
    ["in its clause", "The setup key lives for half an hour, and the site key for a year."],
    ["in its sentence", "The setup key comes from the console, works once and lives for 30 minutes."],
    ["in the sentence before", "Take the setup key. It lives for 30 minutes. The site key stays."],
    ["before the thing is named", "A site key stays. For 30 minutes, you can use the setup key."],
    ["after what is denied", "Use the setup key, not the site key: it lives for 30 minutes."],
    ["in the item of its name", "- **Site key**: it stays.\n- **Setup key**\n\n  Lives for 30 minutes."],
    ["in its column", "| | setup key | site key |\n|---|---|---|\n| lives | 30 minutes | a year |"],
    ["in its row", "| key | lives |\n|---|---|\n| setup key | 30 minutes |\n| site key | a year |"],
  ])("is found %s", (_where, section) => {
    expect(problemOf(section)).toBeNull();
  });

  it.each([
    ["in the clause of the other one", "The setup key lives for a year, and the site key for 30 minutes."],
    ["in the sentence after the other one", "Then take the site key. It lives for 30 minutes."],
    [
      "in the other one's column",
      "| | setup key | site key |\n|---|---|---|\n| lives | a year | 30 minutes |",
    ],
    [
      "in the other one's row",
      "| key | lives |\n|---|---|\n| site key | 30 minutes |\n| setup key | a year |",
    ],
    ["of neither", "The key from the console lives for 30 minutes."],
  ])("is refused %s", (_where, section) => {
    expect(problemOf(section)).toContain("30 minutes");
  });

  it("has to stand under its heading", () => {
    expect(problemOf("The setup key comes from the console.")).toContain("enroll.md doesn't say it");
    expect(problemOf("Once.", { under: /^## Elsewhere$/u })).toContain("enroll.md doesn't say it");
  });

  it("may be words in place of a value", () => {
    const once = { matches: /\bonce\b/u, value: null };
    expect(problemOf("The setup key works once. The site key stays.", once)).toBeNull();
    expect(problemOf("The setup key is new. The site key works once.", once)).toContain("works once");
  });
});
