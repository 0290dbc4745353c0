// @module-tag all

import { expect, it } from "vitest";
import { Check } from "../../eval/checks.ts";
import { judgeApart } from "../../eval/judge-apart.ts";

const base = new Map([["docs/a.md", Buffer.from("one\n")]]);
const matches = (pattern: string) =>
  Check.parse({ name: "says-it", kind: "stands", in: ["docs/**"], matches: pattern });

it("judges in a thread of its own as it would here", async () => {
  const result = new Map([["docs/a.md", Buffer.from("two\n")]]);
  const checks = [matches("two"), { ...matches("one"), name: "says-one" }];
  const judged = await judgeApart({
    base,
    result,
    words: "",
    checks,
    expects: "change",
    request: "",
    quoted: [],
  });
  expect(judged?.verdicts).toEqual([
    { check: "expected", problem: null },
    { check: "hygiene", problem: null },
    { check: "says-it", problem: null },
    { check: "says-one", problem: "It doesn't stand in docs/a.md" },
  ]);
  expect(judged?.patch).toContain("-one\n+two\n");
});

it("ends a pattern that a text was made for to never end", async () => {
  const result = new Map([["docs/a.md", Buffer.from(`${"a".repeat(60)}!`)]]);
  const checks = [matches("^(a+)+$")];
  expect(
    await judgeApart({ base, result, words: "", checks, expects: "change", request: "", quoted: [] }, 2000),
  ).toBeNull();
});
