import { readFile, rm, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { evaluate } from "../../eval/evaluate.ts";
import { readProjectSettings } from "../../eval/project-options.ts";
import { isPassed } from "../../eval/report-schema.ts";
import { readSettings } from "../../eval/settings.ts";
import { readTask, referenceOf, taskNames, wrongOnesOf } from "../../eval/task.ts";
import { openTempDir } from "../support/temp-dir.ts";
import type { RealAgent } from "./agents.ts";
import type { Drive } from "./drive.ts";
import type { InstalledAgent } from "./install.ts";
import { type Play, playSolutions } from "./model/play-solutions.ts";
import { startScriptedModel } from "./model/server.ts";

const TASKS = fileURLToPath(new URL("../../eval/tasks", import.meta.url));
/** Every third task is played with its first wrong solution, to see that the report notices it. */
const WRONG_EVERY = 3;

/**
 * Takes the evaluation's tasks through the job service and a real agent. A scripted model plays
 * their reference solutions, and a wrong solution for every third task. The report must say which
 * ones are wrong. `out` is the place to keep the report, or null.
 */
export async function driveEvaluation(
  agent: RealAgent,
  installed: InstalledAgent,
  out: string | null,
): Promise<Drive> {
  const startedAt = performance.now();
  await using resources = new AsyncDisposableStack();
  const dir = resources.use(await openTempDir());
  const names = await taskNames(TASKS);
  const tasks = await Promise.all(names.map((name) => readTask(TASKS, name)));
  const wrongTasks = new Set<string>();
  const plays: Play[] = [];
  for (const [index, task] of tasks.entries()) {
    const wrong = (await wrongOnesOf(task)).find(({ name }) => name !== "does-nothing");
    const isWrong = index % WRONG_EVERY === WRONG_EVERY - 1 && wrong !== undefined;
    if (isWrong) wrongTasks.add(task.name);
    const { result, words } = isWrong ? wrong : referenceOf(task);
    plays.push({ request: task.request, base: task.base, result, words });
  }
  const model = resources.use(await startScriptedModel(playSolutions(plays)));
  const models = dir.file("models.yml");
  const baseUrl = agent.kind === "openai" ? `${model.url}/v1` : model.url;
  const prices = { "*": { input: 3, output: 15 } };
  await writeFile(
    models,
    stringify({ models: [{ name: "scripted", kind: agent.kind, baseUrl, keyEnv: "MODEL_KEY", prices }] }),
  );
  const options = { preset: agent.preset, model: agent.model, models, maxUsd: "20", runs: "1", atOnce: "4" };
  const settings = readSettings(options, tasks.length, {
    ...process.env,
    PATH: [installed.bin, dirname(process.execPath), process.env["PATH"]].join(delimiter),
    MODEL_KEY: "sk-of-the-scripted-model",
  });
  const folder = out ?? dir.file("out");
  await rm(folder, { recursive: true, force: true });
  const report = await evaluate({
    tasks,
    settings,
    project: readProjectSettings({}),
    repository: null,
    out: folder,
    stateRoot: dir.file("state"),
    onLine: (line) => process.stdout.write(`  ${line}\n`),
    signal: new AbortController().signal,
  });
  const mistaken = report.runs.filter((run) => isPassed(run) === wrongTasks.has(run.task));
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const what = `evaluation: ${tasks.length} tasks, ${wrongTasks.size} of them played wrong`;
  return {
    ok: mistaken.length === 0,
    reason:
      mistaken.length === 0 ? what : `${what}; misjudged: ${mistaken.map(({ task }) => task).join(", ")}`,
    detail: await readFile(join(folder, "report.md"), "utf8"),
    seconds,
  };
}
