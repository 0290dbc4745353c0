import { describe, expect, it } from "vitest";
import { allowedBy } from "../../eval/allowed.ts";
import { Check, matcher } from "../../eval/checks.ts";
import { agreementProblem } from "../../eval/rules/agreement.ts";
import { zoneProblem } from "../../eval/rules/zone.ts";
import { solvedOf } from "./solved-of.ts";

const sample = (limit: number, left: string) =>
  `# Limits\n\n\`\`\`http\nLimit: ${limit}\nLeft: ${left}\n\`\`\`\n`;

describe("another form that a check of the task takes", () => {
  const solved = (left: string) =>
    solvedOf({
      before: { "a.md": sample(100, "42") },
      reference: { "a.md": sample(250, "42") },
      after: { "a.md": sample(250, left) },
    });
  const problems = (left: string, matches: string) => {
    const check = Check.parse({ name: "left", kind: "stands", in: ["a.md"], matches });
    const isFree = allowedBy([check], matcher, solved(left));
    return [zoneProblem(solved(left), { isFree, adds: 0 }), agreementProblem(solved(left), isFree)];
  };

  it("is known, and what it stands for may be gone", () => {
    expect(problems("192", String.raw`^Left: (?:\d\d|1\d\d)$`)).toEqual([null, null]);
  });

  it.each([
    ["333", String.raw`^Left: (?:\d\d|1\d\d)$`],
    ["192", String.raw`^Left: .*$`],
    ["192", "^Limit: 250$"],
  ])("isn't %s by the pattern %s", (left, matches) => {
    expect(problems(left, matches)).not.toContain(null);
  });
});
