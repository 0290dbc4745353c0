import { setTimeout as sleep } from "node:timers/promises";
import { type Command, Option } from "commander";
import type { Clock } from "../../src/core/ports/clock.ts";
import { JobStatus } from "../../src/core/ports/job-service.ts";
import { doCommand } from "./command-socket.ts";
import { type CommandResult, MAX_LISTED, type StateCommand } from "./run-command.ts";
import type { ServiceConfig } from "../config/config.ts";

/** What the commands work with. */
export type CommandContext = {
  /**
   * The settings. `needsSecrets`: the variables that they name must be set. Throws a
   * `ServiceConfigError`.
   */
  settings: (options: { needsSecrets: boolean }) => ServiceConfig;
  clock: Clock;
  /** Writes to the standard output. */
  write: (text: string) => void;
  /** True if a person looks at the output. */
  isTerminal: boolean;
};

const WATCH_EVERY_MS = 1000;
/** Clears the terminal and goes to its top. */
const CLEAR = "\u001b[2J\u001b[H";

/**
 * Adds `keys …` and `jobs …`. They work while the server runs, which knows the change at once, and
 * while it doesn't.
 */
export function addStateCommands(program: Command, context: CommandContext): void {
  const ask = (command: StateCommand): Promise<CommandResult> =>
    doCommand(context.settings({ needsSecrets: false }), context.clock, command);
  const show = async (command: StateCommand) => context.write((await ask(command)).text);

  const keys = program.command("keys").description("admin keys of projects");
  keys
    .command("create")
    .description("create an admin key (shown only once)")
    .requiredOption("--project <id>", "the project that the key is for")
    .action(({ project }: { project: string }) => show({ name: "create-key", project }));
  keys
    .command("list")
    .description("list the keys: id, project, last characters, when created and revoked")
    .action(() => show({ name: "list-keys" }));
  keys
    .command("revoke")
    .description("revoke a key; the next request with it is refused")
    .argument("<id>", "the key's id, from keys list")
    .action((id: string) => show({ name: "revoke-key", id }));

  const jobs = program.command("jobs").description("jobs and how they went");
  jobs
    .command("list")
    .description(`list jobs, the newest first, at most ${MAX_LISTED}`)
    .option("--project <id>", "only this project's")
    .addOption(new Option("--status <status>", "only those with this status").choices(JobStatus.options))
    .action(({ project = null, status = null }: { project?: string | null; status?: JobStatus | null }) =>
      show({ name: "list-jobs", project, status }),
    );
  jobs
    .command("show")
    .description("show a job: its turns, progress, why it failed, its pull request")
    .argument("<id>", "the job's id")
    .option("--watch", "show it again every second while it is active")
    .option("--brief", "show what its agent was told in the newest turn that ran")
    .action(async (id: string, { watch = false, brief = false }: { watch?: boolean; brief?: boolean }) => {
      if (brief) return show({ name: "show-brief", id });
      for (let last = ""; ; await sleep(WATCH_EVERY_MS)) {
        const { text, isActive } = await ask({ name: "show-job", id, isRepeated: last !== "" });
        if (text !== last) context.write(watch && context.isTerminal ? `${CLEAR}${text}` : text);
        last = text;
        if (!watch || !isActive) return;
      }
    });
  jobs
    .command("answer")
    .description("answer a question of a job's agent; jobs show lists those that are open")
    .argument("<job>", "the job's id")
    .argument("<question>", "the question's id")
    .argument("<answer>", "the number of a choice, or words where the question allows them")
    .action((job: string, question: string, words: string) => show({ name: "answer", job, question, words }));
  jobs
    .command("cancel")
    .description("cancel a job's turns that wait or run; its agent is stopped")
    .argument("<id>", "the job's id")
    .action((id: string) => show({ name: "cancel-job", id }));
  jobs
    .command("archive")
    .description("archive a job; a turn that runs is stopped")
    .argument("<id>", "the job's id")
    .action((id: string) => show({ name: "archive-job", id }));
}
