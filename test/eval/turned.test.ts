import { describe, expect, it } from "vitest";
import { agreementProblem } from "../../eval/rules/agreement.ts";
import { solvedOf } from "./solved-of.ts";

const problem = (before: string, reference: string, after: string) =>
  agreementProblem(
    solvedOf({ before: { "a.md": before }, reference: { "a.md": reference }, after: { "a.md": after } }),
    () => false,
  );

describe("a sentence that the reference changes", () => {
  const OLD = "Your app must sign in again after 3 days if it only reads pages.\n";
  const RIGHT = OLD.replace("3 days", "7 days");

  it.each([
    ["must", "may"],
    ["if it", "unless it"],
    ["after 7", "before 7"],
    ["only reads", "reads"],
    ["must sign", "must not sign"],
  ])("may not have another condition: %s, %s", (from, to) => {
    expect(problem(OLD, RIGHT, RIGHT.replace(from, to))).not.toBeNull();
  });

  it.each([
    ["must sign in", "has to sign in"],
    ["if it only reads pages", "if it just reads pages"],
    ["if it only", "when it only"],
  ])("may have other words for it: %s, %s", (from, to) => {
    expect(problem(OLD, RIGHT, RIGHT.replace(from, to))).toBeNull();
  });

  it("may tell two cases in either order, and not mix them up", () => {
    const right = "Without `--follow`, it ends at the end of the file. With it, it waits for more.\n";
    const before = right.replace("--follow", "--watch");
    const turned = "With `--follow`, it waits for more at the end of the file. Without it, it ends there.\n";
    expect(problem(before, right, turned)).toBeNull();
    expect(problem(before, right, right.replace("Without", "With"))).toContain("says the opposite");
  });
});

describe("a row that the reference brings", () => {
  const page = (row: string) =>
    `| setting | default | meaning |\n|---|---|---|\n| \`a\` | 1 | first |\n${row}`;
  const right = page("| `delay` | 5 | the longest time between two tries |\n");

  it.each([
    ["the maximum delay", true],
    ["how long it waits at most", true],
    ["the shortest time between two tries", false],
    ["the minimum delay", false],
  ])("has a cell with the same meaning: %s, %s", (cell, isRight) => {
    const found = problem(page(""), right, page(`| \`delay\` | 5 | ${cell} |\n`));
    expect(found === null).toBe(isRight);
  });
});

describe("a sample", () => {
  const fenced = (line: string, language: string) => `\`\`\`${language}\n${line}\n\`\`\`\n`;

  it.each([
    ["sh", "acme copy old.txt new.txt", "acme copy new.txt old.txt"],
    ["js", "move(from, to);", "move(to, from);"],
  ])("in %s may not have two arguments swapped", (language, right, after) => {
    const before = fenced(right.replace(/copy|move/, "put"), language);
    expect(problem(before, fenced(right, language), fenced(after, language))).toContain("arguments swapped");
  });

  it.each([
    ["sh", "acme run --all --fast x", "acme run --fast --all x"],
    ["sh", "npm install acme tools", "npm install tools acme"],
    ["python", "move(a=1, b=2)", "move(b=2, a=1)"],
    ["js", "const names = [one, two];", "const names = [two, one];"],
  ])("in %s may have another order where it means nothing: %s", (language, right, after) => {
    const before = fenced(right.replace(/run|install|move|names/, "put"), language);
    expect(problem(before, fenced(right, language), fenced(after, language)) ?? "").not.toContain("swapped");
  });
});
