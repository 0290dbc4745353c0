// @module-tag all

import { expect, it } from "vitest";
import { comparisonText, differenceOf } from "../../eval/compare.ts";
import type { Report } from "../../eval/report-schema.ts";
import { without } from "../../eval/run-task.ts";

/** For each task, which of its runs passed. */
function reportOf(tasks: Record<string, readonly boolean[]>, hashes: Record<string, string> = {}): Report {
  const names = Object.keys(tasks);
  const hashOf = (name: string) => [name, hashes[name] ?? "same"] as const;
  return {
    version: 1,
    ranWith: {
      preset: "claude",
      model: null,
      brief: "abc",
      tasks: Object.fromEntries(names.map(hashOf)),
      repository: null,
      runs: tasks[names[0] ?? ""]?.length ?? 1,
      maxUsd: 1,
      maxTokens: null,
      eachAtMost: 1,
      timeLimitMinutes: 1,
    },
    startedAt: "2026-11-23T10:00:00Z",
    endedAt: null,
    tests: Object.fromEntries(names.map((name) => [name, "It tests."])),
    runs: names.flatMap((name) =>
      (tasks[name] ?? []).map((passes, index) => ({
        ...without({ name }, index + 1, null),
        outcome: passes ? ("pull-request" as const) : ("failed" as const),
      })),
    ),
  };
}

const all = (passes: boolean, count: number) => Array<boolean>(count).fill(passes);

it("says which tasks changed, and that few runs tell little", () => {
  const text = comparisonText(
    reportOf({ one: [true], two: [false], three: [true] }),
    reportOf({ one: [true], two: [true], three: [false] }),
  );
  expect(text).toContain("3 tasks in both. Passed runs: 67 % → 67 %.");
  expect(text).toContain("With fewer than 5 runs of each task, too few to tell.");
  expect(text).toContain("| two | 0 of 1 | 1 of 1 | too few to tell |");
  expect(text).not.toContain("| one |");
});

it("says that one is better only where chance would hardly do it", () => {
  const before = reportOf({ one: all(false, 6), two: all(false, 6), three: all(true, 6) });
  const after = reportOf({ one: all(true, 6), two: all(true, 6), three: all(true, 6) });
  const often = { one: all(false, 6), two: all(false, 6), three: all(false, 6), four: all(false, 6) };
  const better = { one: all(true, 6), two: all(true, 6), three: all(true, 6), four: all(true, 6) };
  expect(comparisonText(before, after)).toContain("Chance explains it as well.");
  expect(comparisonText(reportOf(often), reportOf(better))).toContain("The second one is better.");
  expect(comparisonText(reportOf(better), reportOf(often))).toContain("The first one is better.");
  expect(comparisonText(before, before)).toContain("0 points (95 % interval 0 points to 0 points)");
});

it("leaves out a task that isn't the same in both", () => {
  const text = comparisonText(
    reportOf({ one: [true], two: [true], gone: [true] }),
    reportOf({ one: [true], two: [false] }, { two: "changed" }),
  );
  expect(text).toContain("One task in both.");
  expect(text).toContain("Left out, because they aren't the same in both: gone, two.");
});

it("has an interval that a known case confirms", () => {
  // Half of twenty tasks change: the standard error of their mean is 0.5 / √20 = 0.112.
  const pairs = Array.from({ length: 20 }, (_, index) => ({
    name: String(index),
    before: [false],
    after: [index % 2 === 0],
  }));
  const { mean, low, high } = differenceOf(pairs);
  expect(mean).toBe(0.5);
  expect(low).toBeCloseTo(0.5 - 1.96 * 0.112, 1);
  expect(high).toBeCloseTo(0.5 + 1.96 * 0.112, 1);
});
