import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { openTempDir } from "./support/temp-dir.ts";

const RESULTS = fileURLToPath(new URL("../.ci/results.mjs", import.meta.url));

/** What became of tests, by file and name. */
type Files = Record<string, Record<string, "passed" | "failed" | "skipped">>;

it("counts what passed in all runs", async () => {
  const { lines, code } = await result({
    test: { "a.test.ts": { one: "passed", two: "skipped" } },
    all: { "b.test.ts": { one: "passed" } },
  });

  expect(lines).toEqual(["1 skipped or to do", "2 passed, 0 failed"]);
  expect(code).toBe(0);
});

it("names a test that failed and then passed by itself as flaky, and counts it as passed", async () => {
  const { lines, code } = await result({
    test: { "a.test.ts": { one: "passed", two: "failed" } },
    all: { "b.test.ts": { one: "passed" } },
    again: { "a.test.ts": { one: "passed", two: "passed" } },
  });

  expect(lines).toEqual(["flaky: a.test.ts > two", "3 passed, 0 failed"]);
  expect(code).toBe(0);
});

it("fails with a test that failed twice", async () => {
  const { lines, code } = await result({
    test: { "a.test.ts": { one: "failed", two: "failed" } },
    all: { "b.test.ts": { one: "passed" } },
    again: { "a.test.ts": { one: "failed", two: "passed" } },
  });

  expect(lines).toEqual(["failed: a.test.ts > one", "flaky: a.test.ts > two", "2 passed, 1 failed"]);
  expect(code).toBe(1);
});

it("passes with three flaky tests, and fails with four", async () => {
  const reports = (flaky: string[]): Record<string, Files> => ({
    // A run in which no test passed would fail for that.
    test: { "a.test.ts": { ...outcomes(flaky, "failed"), sound: "passed" } },
    all: { "b.test.ts": { one: "passed" } },
    again: { "a.test.ts": outcomes(flaky, "passed") },
  });
  const three = await result(reports(["one", "two", "three"]));
  const four = await result(reports(["one", "two", "three", "four"]));

  expect(three.lines.at(-1)).toBe("5 passed, 0 failed");
  expect(three.code).toBe(0);
  expect(four).toEqual({
    lines: [
      "flaky: a.test.ts > one",
      "flaky: a.test.ts > two",
      "flaky: a.test.ts > three",
      "flaky: a.test.ts > four",
      "4 tests are flaky, at most 3 may be: all count as failed",
      "2 passed, 4 failed",
    ],
    code: 1,
  });
});

it("fails where a report is missing", async () => {
  const { lines, code } = await result({ test: { "a.test.ts": { one: "passed" } } });

  expect(lines).toEqual(["test-results/all.json failed, but none of its tests did", "1 passed, 0 failed"]);
  expect(code).toBe(1);
});

it("names the files to run once more, each once, with or without the tools as they failed", async () => {
  const reports: Record<string, Files> = {
    test: { "a.test.ts": { one: "failed", two: "failed" }, "b.test.ts": { one: "passed" } },
    kill: { "a.test.ts": { one: "failed" } },
    "bare-2": { "c.test.ts": { one: "failed" } },
  };
  const runs = ["test", "kill", "bare-2"];

  expect((await results(reports, ["failed", "again", ...runs])).lines).toEqual(["a.test.ts"]);
  expect((await results(reports, ["failed", "again-bare", ...runs])).lines).toEqual(["c.test.ts"]);
});

function outcomes(names: string[], outcome: "passed" | "failed"): Files[string] {
  return Object.fromEntries(names.map((name) => [name, outcome]));
}

/** Returns what `.ci/run tests` would write of these reports, and its exit code. */
async function result(reports: Record<string, Files>): Promise<{ lines: string[]; code: number }> {
  return results(reports, ["result", "test", "all"]);
}

async function results(
  reports: Record<string, Files>,
  args: string[],
): Promise<{ lines: string[]; code: number }> {
  await using folder = await openTempDir();
  await mkdir(folder.file("test-results"));
  for (const [run, files] of Object.entries(reports)) {
    await writeFile(folder.file(`test-results/${run}.json`), JSON.stringify(reportOf(files)));
  }
  return await new Promise((resolve) => {
    execFile(process.execPath, [RESULTS, ...args], { cwd: folder.path }, (error, stdout) => {
      const lines = stdout.split("\n").filter((line) => line !== "");
      resolve({ lines, code: error === null ? 0 : Number(error.code) });
    });
  });
}

/** Returns a report as Vitest writes it. */
function reportOf(files: Files): object {
  const testResults = Object.entries(files).map(([name, tests]) => ({
    name,
    status: Object.values(tests).includes("failed") ? "failed" : "passed",
    assertionResults: Object.entries(tests).map(([fullName, status]) => ({ fullName, status })),
  }));
  const all = testResults.flatMap((file) => file.assertionResults);
  const count = (status: string) => all.filter((test) => test.status === status).length;
  return {
    numTotalTests: all.length,
    numPassedTests: count("passed"),
    numFailedTests: count("failed"),
    success: count("failed") === 0,
    testResults,
  };
}
