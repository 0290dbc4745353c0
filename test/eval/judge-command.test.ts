// @module-tag all

import { execFile } from "node:child_process";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { z } from "zod";
import { patchOf, writeFiles } from "../../eval/files.ts";
import { Report } from "../../eval/report-schema.ts";
import { withoutResult } from "../../eval/run-task.ts";
import { readTask } from "../../eval/task.ts";
import { openTempDir } from "../support/temp-dir.ts";

const MAIN = fileURLToPath(new URL("../../eval/main.ts", import.meta.url));
const TASKS = fileURLToPath(new URL("../../eval/tasks", import.meta.url));
const PAGE = "docs/configuration.md";
const Judged = z.strictObject({
  passed: z.boolean(),
  checks: z.array(z.strictObject({ name: z.string(), passed: z.boolean(), why: z.string().nullable() })),
});

async function evalCommand(...args: string[]): Promise<string> {
  return (await promisify(execFile)(process.execPath, [MAIN, ...args])).stdout;
}

it("judges a folder with words and sources, and says why it fails", async () => {
  await using dir = await openTempDir();
  const task = await readTask(TASKS, "wrong-default");
  const right = task.right ?? new Map<string, Buffer>();
  await writeFiles(dir.file("right"), right);
  const wrong = right.get(PAGE)?.toString().replace("| 45      |", "| 45 min  |") ?? "";
  await writeFiles(dir.file("wrong"), new Map(right).set(PAGE, Buffer.from(wrong)));
  await writeFile(dir.file("words.txt"), "It is 45 seconds in config/schema.py.");
  const quote = '"request_timeout": Milliseconds(default=45_000';
  const source = { repository: "relay", path: "config/schema.py", quote };
  const claim = { page: PAGE, statement: "request_timeout is 45 by default", source };
  await writeFile(dir.file("claims.json"), JSON.stringify([claim]));
  const judged = async (folder: string, ...more: string[]) => {
    const words = ["--words", dir.file("words.txt"), "--json", ...more];
    return Judged.parse(
      JSON.parse(await evalCommand("judge", task.name, "--repository", dir.file(folder), ...words)),
    );
  };
  expect(await judged("right")).toMatchObject({ passed: true });
  const failed = (await judged("wrong", "--claims", dir.file("claims.json"))).checks.filter(
    (check) => !check.passed,
  );
  expect(failed.map(({ name }) => name)).toEqual(expect.arrayContaining(["agreement", "sources"]));
  expect(failed.find(({ name }) => name === "sources")?.why).toContain("doesn't have 45");
});

it("judges the runs of a report again, and says which are judged otherwise", async () => {
  await using dir = await openTempDir();
  const task = await readTask(TASKS, "wrong-default");
  const patch = patchOf(task.base, task.right ?? task.base);
  await writeFiles(dir.path, new Map([["runs/wrong-default-1.patch", Buffer.from(patch)]]));
  const run = (number: number, over: object) => ({
    ...withoutResult(task, number, null),
    outcome: "pull-request" as const,
    ...over,
  });
  const stale = [{ check: "expected", problem: "It was refused." }];
  const words = "It is 45 seconds in config/schema.py.";
  const report: Report = {
    version: 1,
    ranWith: {
      preset: "opencode",
      model: null,
      brief: "0",
      project: { instructions: null, styleGuide: [], verify: null, asks: false },
      tasks: {},
      repository: null,
      runs: 2,
      maxUsd: null,
      maxTokens: null,
      eachAtMost: 1,
      timeLimitMinutes: 1,
    },
    startedAt: "2031-01-01",
    endedAt: null,
    tests: { "wrong-default": task.tests },
    about: {},
    runs: [
      run(1, { verdicts: stale, words, diff: "runs/wrong-default-1.patch" }),
      run(2, { verdicts: [{ check: "expected", problem: null }], words, diff: null }),
      run(3, { verdicts: stale, diff: "runs/gone.patch" }),
    ],
  };
  await writeFile(dir.file("report.json"), JSON.stringify(report));
  const said = await evalCommand("rejudge", dir.file("report.json"));
  expect(said).toContain("wrong-default, run 1: passes now\n");
  expect(said).toContain("wrong-default, run 2: fails now: expected");
  expect(said).toContain("wrong-default, run 3: there is no runs/gone.patch, so it stays as it was\n");
  expect(said).toContain("1 of 3 runs pass, 1 before.");
  const again = Report.parse(JSON.parse(await readFile(dir.file("rejudged/report.json"), "utf8")));
  // What its tasks count for wasn't known yet.
  expect(again.about).toMatchObject({ "wrong-default": { score: "traps", kind: "fact" } });
  expect(again.runs.map(({ verdicts }) => verdicts.length > 1)).toEqual([true, true, false]);
});

it("says what is wrong with a task: other line breaks than the reference's would be too many", async () => {
  await using dir = await openTempDir();
  await cp(join(TASKS, "date-wanted"), dir.file("date-wanted"), { recursive: true });
  const file = dir.file("date-wanted/task.yml");
  await writeFile(
    file,
    (await readFile(file, "utf8")).replace("kind: size, lines: 14", "kind: size, lines: 13"),
  );
  const said = await evalCommand("check", "--tasks", dir.path).catch(({ stdout }) => String(stdout));
  expect(said).toBe(
    "FAULT  date-wanted\n  small allows 13 lines. With other line breaks, 14 may be right.\n",
  );
});

it.each<[what: string, args: string[], says: RegExp]>([
  ["an unknown task", ["judge", "no-such-task", "--repository", "."], /^There is no task no-such-task in /],
  ["a path", ["judge", "../tasks/date-wanted", "--repository", "."], /^There is no task \.\.\/tasks\//],
  ["no folder", ["judge", "date-wanted", "--repository", "gone"], /^There is no folder gone\./],
  ["a file", ["judge", "date-wanted", "--repository", "FILE"], /FILE is a file, and a folder is needed\./],
  [
    "no words",
    ["judge", "date-wanted", "--repository", ".", "--words", "gone"],
    /^There is no file or folder gone\./,
  ],
  [
    "broken sources",
    ["judge", "date-wanted", "--repository", ".", "--claims", "FILE"],
    /FILE isn't a list of sources in JSON\./,
  ],
  [
    "an unknown half",
    ["reach", "date-wanted", "--half", "first"],
    /Allowed choices are tuned, held-out, both/,
  ],
  ["no tasks", ["check", "--tasks", "."], /^There are no tasks in \.\./],
  ["a broken report", ["rejudge", "FILE"], /FILE isn't a report\.json of an evaluation\./],
  ["broken reports", ["compare", "FILE", "FILE"], /FILE isn't a report\.json of an evaluation\./],
])("says in a sentence what it can't use: %s", async (_, args, says) => {
  await using dir = await openTempDir();
  await writeFile(dir.file("FILE"), "{broken");
  const isJson = args[0] === "judge" || args[0] === "compare";
  const asked = promisify(execFile)(process.execPath, [MAIN, ...args, ...(isJson ? ["--json"] : [])], {
    cwd: dir.path,
  });
  const { stdout, stderr, code } = await asked.then(
    () => ({ stdout: "", stderr: "", code: 0 }),
    (error: { stdout: string; stderr: string; code: number }) => error,
  );
  const said = isJson ? JSON.parse(stdout).error : stderr;
  expect([code, said]).toEqual([1, expect.stringMatching(says)]);
});
