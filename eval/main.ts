import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Command, Option } from "commander";
import { checkTasks, writePatch } from "./authoring.ts";
import { compared } from "./compare.ts";
import { comparisonText } from "./compare-text.ts";
import { defaultStateRoot, evaluate } from "./evaluate.ts";
import { errorText, filesOf, readReport } from "./given.ts";
import { type ProjectOptions, readProjectSettings } from "./project-options.ts";
import { mineHistory, type MineOptions } from "./mine/command.ts";
import { checkHistory } from "./mine/hygiene-of-history.ts";
import { HALVES, judgeKnown, reachText } from "./reach/reach.ts";
import { scoreOf } from "./score.ts";
import { checkDay, EvalOptionError, type EvalOptions, readSettings, shareFrom } from "./settings.ts";
import { judgeFolder, rejudge } from "./judge-commands.ts";
import { readTask, taskNames } from "./task.ts";

const TASKS = fileURLToPath(new URL("tasks", import.meta.url));
const MODELS = fileURLToPath(new URL("models.yml", import.meta.url));

type RunOptions = EvalOptions &
  ProjectOptions & {
    tasks: string;
    repository?: string;
    out?: string;
    failBelow?: string;
    freshSince?: string;
    json?: boolean;
  };

const program = new Command("npm run eval --")
  .description(
    "Evaluates how well an agent fixes docs: tasks go through the real job service, and rules decide.",
  )
  .showHelpAfterError("(--help shows the options)");

const runCommand = program
  .command("run", { isDefault: true })
  .description("run the tasks and write a report (the default)")
  .requiredOption("--preset <agent>", "the agent: opencode, gemini, claude, codex or copilot")
  .option("--model <name>", "the model, as its provider calls it; otherwise the agent's own choice")
  .option("--max-usd <amount>", "what the whole evaluation may cost; this or --max-tokens has to be given")
  .option("--max-tokens <number>", "how many tokens the whole evaluation may use")
  .option("--runs <number>", "how often each task runs", "1")
  .option("--at-once <number>", "how many run side by side", "4")
  .option(
    "--tasks <folder or names>",
    "the folder with the tasks, or names of tasks with commas between",
    TASKS,
  )
  .option("--repository <url or path>", "the docs that your own tasks are about; needs --tasks <folder>")
  .option("--models <file>", "the models and their prices, in the form of the job service's settings", MODELS)
  .option("--brief <file>", "a brief in place of the job service's own, as agent.briefFile")
  .option("--instructions <file>", "what the agent should know besides, as agent.instructions")
  .option("--style-guide <paths>", "files of the repository to read first, as agent.styleGuide")
  .option("--verify <names or file>", "checks of the agent's work, or a YAML file of them, as verify")
  .option("--ask", "the agent may ask, as with agent.permissions: ask")
  .option("--fail-below <share>", "end with exit code 1 if a smaller share of runs passes, such as 0.8")
  .option("--fresh-since <day>", "tell mined tasks since this day apart, such as the end of a model's data")
  .option("--json", "print the score as JSON, and what happens to standard error")
  .option("--out <folder>", "where the report goes (eval-results/<agent>)")
  .action(run);
program.addHelpText("after", () => `\n${runCommand.helpInformation()}`);

program
  .command("compare")
  .description("say which tasks changed between two reports, and how sure that is")
  .argument("<a.json>")
  .argument("<b.json>")
  .option(
    "--fail-if-worse",
    "exit code 1 if the second one is worse by more than chance, or can't be compared",
  )
  .option("--json", "print the comparison as JSON")
  .action(async (a: string, b: string, options: { failIfWorse?: boolean; json?: boolean }) => {
    const [before, after] = [await readReport(a), await readReport(b)];
    const comparison = compared(before, after);
    const json = `${JSON.stringify(comparison, null, 2)}\n`;
    process.stdout.write(options.json === true ? json : comparisonText(before, after, comparison));
    const isBad = comparison.verdict === "worse" || comparison.verdict === "nothing";
    if (options.failIfWorse === true && isBad) process.exitCode = 1;
  });

program
  .command("check")
  .description("judge each task's reference and wrong solutions, without an agent")
  .argument("[task...]", "these tasks only")
  .option("--tasks <folder>", "the folder with the tasks", TASKS)
  .option("--verbose", "show what each check says")
  .action(async (names: string[], { tasks, verbose }: { tasks: string; verbose?: boolean }) => {
    const onLine = (line: string) => process.stdout.write(`${line}\n`);
    if (!(await checkTasks(tasks, names, { isVerbose: verbose === true, onLine }))) process.exitCode = 1;
  });

program
  .command("reach")
  .description("judge solutions that are known to be right or wrong, and say how many pass by their kind")
  .argument("[task...]", "these tasks only")
  .addOption(
    new Option("--half <half>", "those that the judge was tuned on, or the others")
      .choices([...HALVES, "both"])
      .default("both"),
  )
  .option("--seed <word>", "do the same damage in other places, where nobody looked before", "")
  .option("--verbose", "show those that are judged wrong")
  .action(async (names: string[], options: { half: string; seed: string; verbose?: boolean }) => {
    const { half, seed, verbose } = options;
    const halves = HALVES.filter((each) => half === "both" || each === half);
    const judged = [];
    for (const name of names.length > 0 ? names : await taskNames(TASKS))
      judged.push(...(await judgeKnown(await readTask(TASKS, name), halves, seed)));
    process.stdout.write(reachText(judged, verbose === true));
  });

program
  .command("judge")
  .description("judge a folder as a solution of a task, with what an agent said")
  .argument("<task>")
  .requiredOption("--repository <folder>", "the task's repository after the change")
  .option("--words <file>", "the agent's last words")
  .option("--claims <file>", "the sources that the agent named, as JSON")
  .option("--tasks <folder>", "the folder with the tasks", TASKS)
  .option("--json", "print { passed, checks: [{ name, passed, why }] }")
  .action(judgeFolder);

program
  .command("rejudge")
  .description("judge the stored runs of a report again, without an agent")
  .argument("<report.json>")
  .option("--tasks <folder>", "the folder with the tasks", TASKS)
  .option("--repository <url or path>", "the docs that your own tasks are about")
  .option("--out <folder>", "where the new report goes (beside the report, in rejudged)")
  .action(rejudge);

program
  .command("mine")
  .description("make tasks of the commits that fixed a repository's documentation")
  .requiredOption("--repository <url or path>", "the repository with the documentation")
  .requiredOption("--since <day>", "the first day, such as 2021-01-01, or the day a model's knowledge ends")
  .option("--issues <file or owner/name>", "issues as GitHub lists them: a JSON file, or from GitHub's API")
  .option("--docs <patterns>", "the files that are documentation, with commas between")
  .option("--limit <number>", "how many tasks are enough", "100")
  .option("--out <folder>", "where the tasks go", "eval-mined")
  .option("--json", "print the numbers as JSON")
  .action((options: MineOptions) => mineHistory(options, process.env));

program
  .command("hygiene")
  .description("show what the rules of hygiene find in commits that people merged")
  .requiredOption("--repository <url or path>", "the repository with the documentation")
  .requiredOption("--since <day>", "the first day, such as 2024-01-01")
  .option("--limit <number>", "how many of the newest commits", "300")
  .option("--out <folder>", "where a copy of its history is kept", "eval-mined")
  .option("--json", "print { commits, commitsWithFindings, findings }")
  .action(checkHistory);

program
  .command("patch")
  .description("write a solution's patch: what differs between the task's repository and an edited copy")
  .argument("<task>")
  .argument("<solution>", "reference, or the name of a wrong solution")
  .argument("<folder>", "the edited copy of the task's repository")
  .option("--tasks <folder>", "the folder with the tasks", TASKS)
  .action(async (task: string, solution: string, folder: string, { tasks }: { tasks: string }) => {
    process.stdout.write(`${await writePatch(tasks, task, solution, folder)}\n`);
  });

async function run(given: RunOptions): Promise<void> {
  const { tasks: wanted, repository, out, failBelow, freshSince, ...options } = given;
  if (freshSince !== undefined) checkDay("--fresh-since", freshSince);
  const least = failBelow === undefined ? null : shareFrom("--fail-below", failBelow);
  const say = (text: string) => (options.json === true ? process.stderr : process.stdout).write(text);
  const isFolder = existsSync(wanted);
  const folder = resolve(isFolder ? wanted : TASKS);
  const all = await taskNames(folder);
  const names = isFolder ? all : wanted.split(",").map((name) => name.trim());
  const unknown = names.filter((name) => !all.includes(name));
  if (unknown.length > 0) throw new EvalOptionError(`There is no task ${unknown.join(", ")} in ${folder}.`);
  if (names.length === 0) throw new EvalOptionError(`There are no tasks in ${folder}.`);
  const settings = readSettings(options, names.length, process.env);
  const project = readProjectSettings(options);
  const docs = repository === undefined ? null : await filesOf(repository);
  const tasks = await Promise.all(names.map((name) => readTask(folder, name, docs)));
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (stopping.signal.aborted) process.exit(1);
      say("Stopping. The same command goes on from here.\n");
      stopping.abort();
    });
  }
  const to = resolve(out ?? join("eval-results", options.preset ?? ""));
  const report = await evaluate({
    tasks,
    settings,
    project,
    repository: repository ?? null,
    freshSince,
    out: to,
    stateRoot: defaultStateRoot(process.env),
    onLine: (line) => say(`${line}\n`),
    signal: stopping.signal,
  });
  const score = scoreOf(report);
  say(`\n${score.passed} of ${score.runs} runs passed every check.\n` + `Report: ${join(to, "report.md")}\n`);
  if (options.json === true) process.stdout.write(`${JSON.stringify(score, null, 2)}\n`);
  if (least === null || score.share >= least) return;
  say(`That is less than --fail-below ${failBelow}.\n`);
  process.exitCode = 1;
}

try {
  await program.parseAsync();
} catch (error) {
  const text = errorText(error);
  if (text === null) throw error;
  process.stderr.write(`${text}\n`);
  // Whoever reads JSON gets JSON.
  if (process.argv.includes("--json")) process.stdout.write(`${JSON.stringify({ error: text })}\n`);
  process.exitCode = 1;
}
