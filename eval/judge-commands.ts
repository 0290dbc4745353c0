import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { save } from "./evaluate.ts";
import { readFiles } from "./files.ts";
import { filesOf, jsonIn, readReport } from "./given.ts";
import { judgeApart } from "./judge-apart.ts";
import { rejudged } from "./rejudge.ts";
import { isPassed, type Report } from "./report-schema.ts";
import { NamedClaim } from "./rules/solved.ts";
import { EvalOptionError } from "./settings.ts";
import { readTask, taskNames } from "./task.ts";

type JudgeOptions = { repository: string; words?: string; claims?: string; tasks: string; json?: boolean };

/** Judges a folder as a solution of a task, and prints the result. */
export async function judgeFolder(name: string, options: JudgeOptions): Promise<void> {
  const { repository, words, claims, tasks } = options;
  const task = await readTask(tasks, name);
  const textIn = (file: string | undefined) => (file === undefined ? null : readFile(file, "utf8"));
  const [said, named] = await Promise.all([textIn(words), textIn(claims)]);
  if (!existsSync(repository)) throw new EvalOptionError(`There is no folder ${repository}.`);
  const result = await readFiles(repository);
  const judged = await judgeApart(task, {
    result,
    words: said ?? "",
    claims: named === null ? null : claimsIn(named, claims ?? ""),
  });
  if (judged === null)
    throw new EvalOptionError(
      `Judging ${repository} takes longer than two minutes. Look for a very large file in it.`,
    );
  const checks = judged.verdicts.map(({ check, problem }) => ({
    name: check,
    passed: problem === null,
    why: problem,
  }));
  const passed = checks.every((check) => check.passed);
  const lines = checks.map(
    (check) => `${check.passed ? "ok    " : "FAILED"}  ${check.name}${check.passed ? "" : `: ${check.why}`}`,
  );
  process.stdout.write(
    options.json === true ? `${JSON.stringify({ passed, checks })}\n` : `${lines.join("\n")}\n`,
  );
}

/** The entries of a file of sources that can be read. Throws an {@link EvalOptionError}. */
function claimsIn(text: string, file: string): NamedClaim[] {
  const list = z.array(z.unknown()).safeParse(jsonIn(text));
  if (!list.success) throw new EvalOptionError(`${file} isn't a list of sources in JSON.`);
  return list.data.flatMap((entry) => NamedClaim.safeParse(entry).data ?? []);
}

type RejudgeOptions = { tasks: string; repository?: string; out?: string };

/** Judges the runs of a report again, and writes the new report. */
export async function rejudge(
  file: string,
  { tasks: folder, repository, out }: RejudgeOptions,
): Promise<void> {
  const before = await readReport(file);
  const docs = repository === undefined ? null : await filesOf(repository);
  const there = new Set(await taskNames(folder));
  const names = Object.keys(before.tests).filter((name) => there.has(name));
  const tasks = new Map(
    await Promise.all(names.map(async (name) => [name, await readTask(folder, name, docs)] as const)),
  );
  const { report, lines } = await rejudged(before, dirname(resolve(file)), tasks);
  const to = resolve(out ?? join(dirname(file), "rejudged"));
  await mkdir(to, { recursive: true });
  save(to, report);
  const passed = (runs: Report["runs"]) => runs.filter(isPassed).length;
  process.stdout.write(
    `${lines.map((line) => `${line}\n`).join("")}` +
      `${passed(report.runs)} of ${report.runs.length} runs pass, ${passed(before.runs)} before.\n` +
      `Report: ${join(to, "report.md")}\n`,
  );
}
