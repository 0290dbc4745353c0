import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { resolve, sep } from "node:path";
import { changedData, type Files, patched } from "./files.ts";
import { judgeApart } from "./judge-apart.ts";
import { isPassed, type Report, type TaskRun } from "./report-schema.ts";
import { aboutOf, type Task } from "./task.ts";

/**
 * A report with the runs judged again, and a line for each run that is judged otherwise, or can't
 * be.
 */
export type Rejudged = { report: Report; lines: string[] };

/**
 * Judges the stored runs of a report again, by their patches, words and sources. `folder` has the
 * patches. A run whose task is gone, or whose patch doesn't fit anymore, stays as it was.
 */
export async function rejudged(
  report: Report,
  folder: string,
  tasks: ReadonlyMap<string, Task>,
): Promise<Rejudged> {
  const lines: string[] = [];
  const runs: TaskRun[] = [];
  for (const run of report.runs) {
    const { again, why } = await judgedAgain(run, folder, tasks.get(run.task));
    runs.push(again ?? run);
    if (why !== null) lines.push(`${run.task}, run ${run.run}: ${why}`);
    if (again !== null && isPassed(again) !== isPassed(run)) {
      lines.push(
        `${run.task}, run ${run.run}: ${isPassed(again) ? "passes now" : `fails now: ${failedOf(again)}`}`,
      );
    }
  }
  // Of a report from before there were scores, or of a task that counts for something else now.
  const about = { ...report.about, ...aboutOf(tasks.values()) };
  return { report: { ...report, about, runs }, lines };
}

async function judgedAgain(
  run: TaskRun,
  folder: string,
  task: Task | undefined,
): Promise<{ again: TaskRun | null; why: string | null }> {
  const kept = (why: string | null) => ({ again: null, why });
  if (run.outcome !== "pull-request" && run.outcome !== "no-changes") return kept(null);
  if (task === undefined) return kept("its task is gone, so it stays as it was");
  const result = await resultOf(run, folder, task);
  if (typeof result === "string") return kept(result);
  const judged = await judgeApart(task, { result, words: run.words, claims: run.claims });
  if (judged === null) return kept("its checks took longer than two minutes, so it stays as it was");
  return { again: { ...run, verdicts: judged.verdicts }, why: null };
}

async function resultOf({ diff }: TaskRun, folder: string, { base }: Task): Promise<Files | string> {
  if (diff === null) return base;
  const file = resolve(folder, diff);
  if (!file.startsWith(resolve(folder, ".") + sep) || !existsSync(file))
    return `there is no ${diff}, so it stays as it was`;
  const patch = await readFile(file, "utf8");
  try {
    return new Map([...patched(base, patch), ...changedData(patch)]);
  } catch (error) {
    return `${error instanceof Error ? error.message : "The patch can't be read."} It stays as it was.`;
  }
}

function failedOf({ verdicts }: TaskRun): string {
  return verdicts
    .filter(({ problem }) => problem !== null)
    .map(({ check }) => check)
    .join(", ");
}
