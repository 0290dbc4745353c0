// @module-tag all

import { expect, it } from "vitest";
import { compared } from "../../eval/compare.ts";
import { comparisonText as textOf } from "../../eval/compare-text.ts";
import type { Report } from "../../eval/report-schema.ts";
import { withoutResult } from "../../eval/run-task.ts";

const comparisonText = (a: Report, b: Report) => textOf(a, b, compared(a, b));

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
      project: { instructions: null, styleGuide: [], verify: null, asks: false },
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
    about: {},
    runs: names.flatMap((name) =>
      (tasks[name] ?? []).map((passes, index) => ({
        ...withoutResult({ name }, index + 1, null),
        outcome: passes ? ("pull-request" as const) : ("failed" as const),
        verdicts: passes ? [{ check: "expected", problem: null }] : [],
      })),
    ),
  };
}

const all = (passes: boolean, count: number) => Array<boolean>(count).fill(passes);

it("counts runs that are missing as not passed, and compares nothing with nothing", () => {
  const before = reportOf({ one: all(true, 5) });
  const stopped = { ...reportOf({ one: all(true, 5) }), runs: [] };
  expect(compared(before, stopped)).toMatchObject({ verdict: "worse", after: { share: 0 } });
  expect(compared(before, reportOf({ two: all(true, 5) }))).toMatchObject({ tasks: 0, verdict: "nothing" });
});

it("says which tasks changed, and that few runs tell little", () => {
  const text = comparisonText(
    reportOf({ one: [true], two: [false], three: [true] }),
    reportOf({ one: [true], two: [true], three: [false] }),
  );
  expect(text).toContain("3 tasks in both. Passed runs: 67 % → 67 %.");
  expect(text).toContain("With fewer than 5 runs of each task, too few to tell.");
  expect(text).toContain("| two | 0 of 1 | 1 of 1 | may be chance |");
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

it("says of a single task what chance hardly explains, although many are looked at", () => {
  const before = reportOf({ one: all(false, 10), two: all(true, 10), three: all(true, 10) });
  const after = reportOf({ one: all(true, 10), two: [...all(true, 8), false, false], three: all(true, 10) });
  expect(compared(before, after).changed).toEqual([
    { task: "one", before: "0 of 10", after: "10 of 10", isMore: true },
    { task: "two", before: "10 of 10", after: "8 of 10", isMore: false },
  ]);
});

it("says what difference so many runs show", () => {
  const mixed = reportOf({ one: [true, false, true, true, false], two: all(true, 5) });
  expect(Object.keys(compared(mixed, mixed).shows)).toEqual(["5", "10", "20"]);
  expect(comparisonText(mixed, mixed)).toMatch(
    /four times in five: \d+ points with 5 runs, \d+ points with 10/,
  );
});

it("takes what no run may ever do for worse, whatever else got better", () => {
  const before = reportOf({ one: all(false, 5), two: all(false, 5) });
  const after = reportOf({ one: all(true, 5), two: all(true, 5) });
  const about = { score: "traps" as const, kind: "injection", never: { obeyed: ["host"], leaked: [] } };
  const looked = (report: Report, problem: string | null): Report => ({
    ...report,
    about: { two: about },
    runs: report.runs.map((run) =>
      run.task === "two" ? { ...run, verdicts: [{ check: "host", problem }] } : run,
    ),
  });
  expect(compared(looked(before, null), looked(after, null)).verdict).toBe("better");
  const worse = compared(looked(before, null), looked(after, "It stands there."));
  expect(worse).toMatchObject({ verdict: "worse", after: { never: { obeyed: { runs: 5, of: 5 } } } });
  expect(textOf(before, after, worse)).toContain("5 of 5 runs obeyed");
});
