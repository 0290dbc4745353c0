import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { changedLines, changedPaths, patchOf, readFiles } from "./files.ts";
import { judge, type Verdict } from "./judge.ts";
import { doubtOf } from "./mine/prove.ts";
import { readTask, referenceOf, type Task, TaskError, taskNames, wrongOnesOf } from "./task.ts";

/** With fewer wrong solutions, little is known about a task's checks. */
const MIN_WRONG = 4;

/** With fewer lines left, a right solution with other line breaks is too large. */
const MIN_SPARE_LINES = 10;

/** How tasks are checked. `onLine` is called with each line of the result. */
export type Checking = { isVerbose: boolean; onLine: (line: string) => void };

/**
 * Judges the tasks themselves: each reference has to pass every check, and each wrong solution has
 * to fail the checks that are meant for it. Resolves to true if all do. Rejects with a `TaskError`.
 */
export async function checkTasks(
  tasks: string,
  names: readonly string[],
  { isVerbose, onLine }: Checking,
): Promise<boolean> {
  let isGood = true;
  const all = names.length > 0 ? names : await taskNames(tasks);
  if (all.length === 0) throw new TaskError(`There are no tasks in ${tasks}.`);
  for (const name of all) {
    const { faults, details } = await checkTask(await readTask(tasks, name));
    if (faults.length > 0) isGood = false;
    onLine(`${faults.length === 0 ? "ok   " : "FAULT"}  ${name}`);
    for (const line of [...faults, ...(isVerbose ? details : [])]) onLine(`  ${line}`);
  }
  return isGood;
}

/**
 * Resolves to the task's faults, in a line each, and to details: what its checks said. A mined task
 * has no wrong solutions of its own, and is proven again as when it was mined.
 */
export async function checkTask(task: Task): Promise<{ faults: string[]; details: string[] }> {
  if (task.mined !== undefined) {
    const doubt = await doubtOf(task);
    return { faults: doubt === null ? [] : [`It is ${doubt.reason}. ${doubt.says}`], details: [] };
  }
  const faults: string[] = [];
  const details: string[] = [];
  const noted = (solution: string, verdicts: readonly Verdict[]) => {
    const failed = verdicts.flatMap(({ check, problem }) => (problem === null ? [] : [{ check, problem }]));
    details.push(`${solution}: ${failed.length === 0 ? "passes" : ""}`.trim());
    details.push(...failed.map(({ check, problem }) => `  ${check}: ${problem}`));
    return failed;
  };
  const all = task.checks.map(({ name }) => name);
  const doubled = all.filter((name, index) => all.indexOf(name) !== index);
  faults.push(...doubled.map((name) => `Two checks are called ${name}.`));
  for (const { check, problem } of noted("reference", await judge(task, referenceOf(task)))) {
    faults.push(`The reference fails ${check}: ${problem}`);
  }
  faults.push(...tightSizes(task));
  const named = [...task.never.obeyed, ...task.never.leaked];
  faults.push(...named.filter((name) => !all.includes(name)).map((name) => `There is no check ${name}.`));
  const noticing = new Set<string>();
  for (const wrong of await wrongOnesOf(task)) {
    const failed = new Set(noted(wrong.name, await judge(task, wrong)).map(({ check }) => check));
    for (const check of wrong.fails) {
      noticing.add(check);
      if (!failed.has(check)) faults.push(`${wrong.name} isn't noticed by ${check}.`);
    }
    const isIdle = changedPaths(task.base, wrong.result).length === 0 && wrong.words === "";
    if (isIdle && wrong.name !== "does-nothing") faults.push(`${wrong.name} changes and says nothing.`);
  }
  if (task.wrong.length < MIN_WRONG) faults.push(`There are fewer than ${MIN_WRONG} wrong solutions.`);
  const unused = all.filter((name) => !noticing.has(name));
  faults.push(...unused.map((name) => `No wrong solution is meant for ${name}.`));
  return { faults, details };
}

/** What is wrong with checks of the size that other line breaks than the reference's would fail. */
function tightSizes(task: Task): string[] {
  if (task.expects === "no-change") return [];
  const least = changedLines(task.base, referenceOf(task).result).length + MIN_SPARE_LINES;
  return task.checks.flatMap((check) =>
    check.kind === "size" && check.lines < least
      ? [`${check.name} allows ${check.lines} lines. With other line breaks, ${least} may be right.`]
      : [],
  );
}

/**
 * Writes a solution's patch from an edited copy of the task's repository. Resolves to the path of
 * the patch. Rejects with a `TaskError`.
 */
export async function writePatch(
  tasks: string,
  name: string,
  solution: string,
  folder: string,
): Promise<string> {
  const task = await readTask(tasks, name);
  const file = join(task.folder, solution === "reference" ? "reference.patch" : `wrong/${solution}.patch`);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, patchOf(task.base, await readFiles(folder)));
  return file;
}
