// @module-tag all

import { expect, it } from "vitest";
import { Check } from "../../eval/checks.ts";
import { judgeApart } from "../../eval/judge-apart.ts";

const base = new Map([["docs/a.md", Buffer.from("one\n")]]);
const task = {
  base,
  right: null,
  contexts: new Map(),
  expects: "change" as const,
  request: "Change it.",
  followUps: [],
  quoted: [],
  zone: { may: [], adds: 0 },
};
const matches = (pattern: string) =>
  Check.parse({ name: "says-it", kind: "stands", in: ["docs/**"], matches: pattern });

it("judges in a thread of its own as it would here", async () => {
  const result = new Map([["docs/a.md", Buffer.from("two\n")]]);
  const checks = [matches("two"), { ...matches("one"), name: "says-one" }];
  const judged = await judgeApart({ ...task, checks }, { result, words: "", claims: null });
  expect(judged?.verdicts.slice(0, 1)).toEqual([{ check: "expected", problem: null }]);
  expect(judged?.verdicts.slice(-2)).toEqual([
    { check: "says-it", problem: null },
    { check: "says-one", problem: "It doesn't stand in docs/a.md" },
  ]);
  expect(judged?.patch).toContain("-one\n+two\n");
});

it("ends a pattern that a text was made for to never end", async () => {
  const result = new Map([["docs/a.md", Buffer.from(`${"a".repeat(60)}!`)]]);
  const checks = [matches("^(a+)+$")];
  expect(await judgeApart({ ...task, checks }, { result, words: "", claims: null }, 2000)).toBeNull();
});
