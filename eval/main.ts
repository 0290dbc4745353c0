import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { DocsAgentError } from "../src/core/errors.ts";
import { checkTasks, writePatch } from "./authoring.ts";

const TASKS = fileURLToPath(new URL("tasks", import.meta.url));

const program = new Command("npm run eval --")
  .description(
    "Evaluates how well an agent fixes documentation, with tasks whose results are checked by rules.",
  )
  .showHelpAfterError();

program
  .command("check")
  .description("judges each task's reference and wrong solutions, without an agent")
  .argument("[task...]", "these tasks only")
  .option("--tasks <folder>", "the folder with the tasks", TASKS)
  .option("--verbose", "show what each check says")
  .action(async (names: string[], { tasks, verbose }: { tasks: string; verbose?: boolean }) => {
    const { lines, isGood } = await checkTasks(tasks, names, verbose === true);
    process.stdout.write(`${lines.join("\n")}\n`);
    if (!isGood) process.exitCode = 1;
  });

program
  .command("patch")
  .description("writes a solution's patch: what differs between the task's repository and an edited copy")
  .argument("<task>")
  .argument("<solution>", "reference, or the name of a wrong solution")
  .argument("<folder>", "the edited copy of the task's repository")
  .option("--tasks <folder>", "the folder with the tasks", TASKS)
  .action(async (task: string, solution: string, folder: string, { tasks }: { tasks: string }) => {
    process.stdout.write(`${await writePatch(tasks, task, solution, folder)}\n`);
  });

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof DocsAgentError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
