import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { homedir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { Budget } from "./budget.ts";
import { RanWith, Report, TaskRun } from "./report-schema.ts";
import { reportText } from "./report-text.ts";
import type { ProjectSettings } from "./project-options.ts";
import { type RanTask, runTask, withoutResult } from "./run-task.ts";
import { EvalOptionError, type EvalSettings } from "./settings.ts";
import { aboutOf, type Task } from "./task.ts";
import { makeState, openWorld, type World } from "./world.ts";

/** The file `evaluation.json`, with which a killed evaluation goes on. */
const Started = z.object({ ranWith: RanWith, startedAt: z.string(), port: z.int() });

export type Evaluation = {
  tasks: readonly Task[];
  settings: EvalSettings;
  project: ProjectSettings;
  /** The repository for tasks that bring none of their own. */
  repository: string | null;
  /** The day from which on mined tasks are fresh. */
  freshSince?: string | undefined;
  /** The folder for the report, and for what has been done so far. */
  out: string;
  /** The folder for the services' state while it runs. It must not be below a git work tree. */
  stateRoot: string;
  /** Called at each step, with one line of text. */
  onLine: (line: string) => void;
  /** Starts no more runs, and leaves running ones. The same command goes on with them later. */
  signal: AbortSignal;
};

/**
 * Takes the tasks through the job service and writes `report.md` and `report.json` into `out`. It
 * goes on where an earlier evaluation with the same settings was stopped or killed. Resolves to the
 * report. Rejects with an {@link EvalOptionError} if `out` has an evaluation with other settings.
 */
export async function evaluate(evaluation: Evaluation): Promise<Report> {
  const { tasks, settings, project, out, onLine, signal } = evaluation;
  const ranWith = ranWithOf(evaluation);
  await mkdir(join(out, "runs"), { recursive: true });
  const { startedAt, port } = await startIn(out, ranWith);
  const wanted = Array.from({ length: settings.runs }, (_, index) => index + 1).flatMap((run) =>
    tasks.map((task) => ({ task, run })),
  );
  const done = new Map<string, TaskRun>();
  for (const { task, run } of wanted) {
    const file = join(out, "runs", `${task.name}-${run}.json`);
    if (existsSync(file))
      done.set(`${task.name}-${run}`, TaskRun.parse(JSON.parse(await readFile(file, "utf8"))));
  }
  const report = (endedAt: string | null): Report => ({
    version: 1,
    ranWith,
    startedAt,
    endedAt,
    tests: Object.fromEntries(tasks.map(({ name, tests }) => [name, tests])),
    about: aboutOf(tasks),
    freshSince: evaluation.freshSince,
    runs: wanted.map(
      ({ task, run }) =>
        done.get(`${task.name}-${run}`) ?? withoutResult(task, run, "It hasn't run yet.", "not-run"),
    ),
  });
  const left = wanted.filter(({ task, run }) => !done.has(`${task.name}-${run}`));
  const saved = join(out, "report.json");
  if (left.length === 0 && existsSync(saved)) {
    return Report.parse(JSON.parse(await readFile(saved, "utf8")));
  }
  if (done.size > 0) onLine(`Going on: ${done.size} of ${wanted.length} runs are done.`);

  const state = stateOf(evaluation);
  await makeState(state);
  const budget = new Budget(settings, [...done.values()]);
  {
    onLine(`Starting the job service with ${tasks.length} repositories…`);
    const logFile = join(out, "service.log");
    await using world = await openWorld(tasks, settings, project, { state, port, logFile });
    const failing = new AbortController();
    const until = AbortSignal.any([signal, failing.signal]);
    const workers = Array.from({ length: settings.atOnce }, () =>
      work(world, until).catch((error: unknown) => {
        failing.abort();
        throw error;
      }),
    );
    // All workers end before an error is thrown, because they need the world, which ends with it.
    for (const worker of await Promise.allSettled(workers)) {
      if (worker.status === "rejected") throw worker.reason;
    }
  }
  const isWhole = wanted.every(({ task, run }) => done.has(`${task.name}-${run}`));
  if (isWhole) await rm(state, { recursive: true, force: true, maxRetries: 5 });
  const whole = report(signal.aborted ? null : new Date().toISOString());
  save(out, whole);
  return whole;

  async function work(world: World, until: AbortSignal): Promise<void> {
    for (;;) {
      const next = until.aborted ? undefined : left.shift();
      if (next === undefined) return;
      const { task, run } = next;
      if (!(await budget.reserve())) {
        onLine(`${task.name}, run ${run}: not run, the budget is used up`);
        const reason = "The evaluation's budget was used up before.";
        done.set(`${task.name}-${run}`, withoutResult(task, run, reason, "not-run"));
        continue;
      }
      let ran: RanTask | null = null;
      try {
        ran = await runTask(world, task, run, until);
      } finally {
        budget.settle(ran?.run ?? null);
      }
      if (ran === null) return;
      keep(out, ran);
      done.set(`${task.name}-${run}`, ran.run);
      onLine(`${lineOf(ran.run)} (${done.size} of ${wanted.length})`);
      save(out, report(null));
    }
  }
}

/** The result of a run in one line. */
function lineOf({ task, run, outcome, verdicts, reason, seconds }: TaskRun): string {
  const failed = verdicts.filter(({ problem }) => problem !== null).map(({ check }) => check);
  const result =
    outcome === "failed" || outcome === "not-run"
      ? `no result: ${reason ?? outcome}`
      : failed.length === 0
        ? "passed"
        : `failed ${failed.join(", ")}`;
  return `${task}, run ${run}: ${result}${seconds === null ? "" : `, ${Math.round(seconds)} s`}`;
}

function ranWithOf({ tasks, settings, project, repository }: Evaluation): RanWith {
  const { preset, model, runs, maxUsd, maxTokens, budget, timeLimitMinutes } = settings;
  return {
    preset,
    model,
    brief: hashOf(readFileSync(project.briefFile)),
    project: {
      instructions: project.instructions === null ? null : hashOf(project.instructions),
      styleGuide: project.styleGuide,
      verify: project.verify.length === 0 ? null : hashOf(JSON.stringify(project.verify)),
      asks: project.asks,
    },
    tasks: Object.fromEntries(tasks.map((task) => [task.name, taskHash(task)])),
    repository,
    runs,
    maxUsd,
    maxTokens,
    eachAtMost: "usd" in budget ? budget.usd : budget.tokens,
    timeLimitMinutes,
  };
}

function taskHash(task: Task): string {
  const { request, answer, followUps, quoted, docs, expects, checks, zone, base, right, contexts } = task;
  const files = [...base, ...(right ?? []), ...[...contexts].flatMap(([, inside]) => [...inside])];
  const parts = files.map(([path, content]) => `${path}\n${content.toString("base64")}`);
  const asked = [
    request,
    ...(answer === undefined ? [] : [answer]),
    ...(followUps.length === 0 ? [] : [{ followUps }]),
  ];
  return hashOf(JSON.stringify([...asked, quoted, docs, expects, checks, zone, ...parts]));
}

function hashOf(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex").slice(0, 12);
}

/** Reads what an earlier evaluation in this folder began with. Without one, this one begins. */
async function startIn(out: string, ranWith: RanWith): Promise<z.infer<typeof Started>> {
  const file = join(out, "evaluation.json");
  let started = { startedAt: new Date().toISOString(), port: 0 };
  if (existsSync(file)) {
    const { ranWith: before, ...kept } = Started.parse(JSON.parse(await readFile(file, "utf8")));
    started = kept;
    if (!isDeepStrictEqual(withoutBudget(before), withoutBudget(ranWith))) {
      throw new EvalOptionError(
        `${out} has an evaluation that ran with other settings, tasks or another brief. Name another ` +
          "folder with --out, or remove this one.",
      );
    }
  } else started.port = await freePort();
  writeJson(file, { ...started, ranWith });
  return { ...started, ranWith };
}

/** The settings without the budget, because an evaluation may go on with a larger one. */
function withoutBudget({ maxUsd: _usd, maxTokens: _tokens, eachAtMost: _each, ...rest }: RanWith) {
  return rest;
}

function stateOf({ stateRoot, out }: Evaluation): string {
  return join(stateRoot, hashOf(out));
}

/** The default folder for state. */
export function defaultStateRoot(env: Readonly<Record<string, string | undefined>>): string {
  return join(env["XDG_STATE_HOME"] ?? join(homedir(), ".local", "state"), "docs-agent-eval");
}

function keep(out: string, { run, patch }: RanTask): void {
  if (patch !== null && run.diff !== null) writeFileSync(join(out, run.diff), patch);
  writeJson(join(out, "runs", `${run.task}-${run.run}.json`), run);
}

/** Writes `report.json` and `report.md` into a folder. */
export function save(out: string, report: Report): void {
  writeJson(join(out, "report.json"), report);
  writeFileSync(join(out, "report.md"), reportText(report));
}

/**
 * Writes the file whole or not at all, even if the process is killed. It is synchronous, so that no
 * other write can come in between.
 */
function writeJson(file: string, value: unknown): void {
  writeFileSync(`${file}.new`, `${JSON.stringify(value, null, 2)}\n`);
  renameSync(`${file}.new`, file);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}
