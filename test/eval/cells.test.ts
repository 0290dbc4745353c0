import { describe, expect, it } from "vitest";
import { agreementProblem } from "../../eval/rules/agreement.ts";
import { solvedOf } from "./solved-of.ts";

const page = (row: string) => `| setting | default | meaning |\n|---|---|---|\n${row}\n`;

describe("a row of which the reference changes one cell", () => {
  const before = { "a.md": page("| `keep` | `14` | how long a snapshot is kept |") };
  const reference = { "a.md": page("| `keep` | `30` | how long a snapshot is kept |") };
  const problem = (row: string) =>
    agreementProblem(solvedOf({ before, reference, after: { "a.md": page(row) } }), () => false);

  it.each([
    "| `keep` | 30 | how long a snapshot is kept |",
    "| `keep` | `30` | how long a snapshot is kept, in days |",
    "| **`keep`** | `30` | _how long_ a snapshot is kept. |",
  ])("may be %j", (row) => {
    expect(problem(row)).toBeNull();
  });

  it.each([
    "| `keep` | `30` | how many weeks a snapshot is kept |",
    "| `keep` | `30` | how long a snapshot is made |",
  ])("may not be %j", (row) => {
    expect(problem(row)).toContain('"how long a snapshot is kept" is gone');
  });
});
