import { type Command, Option } from "commander";
import { StartError } from "../../shared/errors.ts";
import type { StateCommand } from "../commands/run-command.ts";

const NAME = "the runner's name, from runners";

/** Adds `runners …`. `show` has a command done, and prints its text. */
export function addRunnerCommands(program: Command, show: (command: StateCommand) => Promise<void>): void {
  const runners = program.command("runners").description("runners on other machines, which run turns");
  runners
    .command("list", { isDefault: true })
    .description("list the runners: how they stand, what they run, what they may run (the default)")
    .option("--json", "print JSON", false)
    .action(({ json }: { json: boolean }) => show({ name: "list-runners", asJson: json }));
  runners
    .command("add")
    .description("add a runner, and print its token (shown only once)")
    .argument("<name>", "its name: lower-case letters, digits and '-'")
    .option("--project <id>", "a project that it may run; give it again for more", oneMore)
    .addOption(new Option("--all-projects", "it may run all projects").conflicts("project"))
    .action((runner: string, { project = [], allProjects = false }: Scope) => {
      if (project.length === 0 && !allProjects) {
        throw new StartError("Say what the runner may run: --project <id>, or --all-projects.");
      }
      return show({ name: "add-runner", runner, projects: allProjects ? null : project });
    });
  runners
    .command("drain")
    .description("give a runner no more turns; those that it runs go on")
    .argument("<name>", NAME)
    .action((runner: string) => show({ name: "drain-runner", runner }));
  runners
    .command("resume")
    .description("give a drained runner turns again")
    .argument("<name>", NAME)
    .action((runner: string) => show({ name: "resume-runner", runner }));
  runners
    .command("remove")
    .description("remove a runner; its next call is refused, and its turns run elsewhere")
    .argument("<name>", NAME)
    .action((runner: string) => show({ name: "remove-runner", runner }));
}

type Scope = { project?: string[]; allProjects?: boolean };

function oneMore(value: string, before: string[] = []): string[] {
  return [...before, value];
}
