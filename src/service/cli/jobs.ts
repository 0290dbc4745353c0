import { setTimeout as sleep } from "node:timers/promises";
import { type Command, Option } from "commander";
import { JobStatus } from "../../core/job-service.ts";
import { MAX_LISTED } from "../commands/run-command.ts";
import { jobTable } from "../commands/show.ts";
import type { CommandContext } from "./context.ts";
import { doCommand } from "./do-command.ts";
import { noSuchProject } from "./no-such-project.ts";

const WATCH_EVERY_MS = 1000;
/** Clears the terminal and goes to its top. */
const CLEAR = "\u001b[2J\u001b[H";

/** Adds `jobs list | show | answer | cancel | archive`. They work while the server runs, and while it doesn't. */
export function addJobsCommands(program: Command, context: CommandContext): void {
  const jobs = program.command("jobs").description("jobs and how they went");
  const { write } = context;

  jobs
    .command("list")
    .description(`list jobs, the newest first, at most ${MAX_LISTED}`)
    .option("--project <id>", "only this project's")
    .addOption(new Option("--status <status>", "only those with this status").choices(JobStatus.options))
    .action(async ({ project, status }: { project?: string; status?: JobStatus }) => {
      const filter = { project: project ?? null, status: status ?? null };
      const { text } = await doCommand(context, { name: "list-jobs", ...filter });
      const config = context.settings({ needsSecrets: false });
      // One that was taken out of the settings may still have jobs.
      const isKnown = project === undefined || config.projects.some(({ id }) => id === project);
      if (!isKnown && text === jobTable([])) throw noSuchProject(project, config);
      write(text);
    });

  jobs
    .command("show")
    .description("show a job: its turns, progress, why it failed, its pull request")
    .argument("<id>", "the job's id")
    .option("--watch", "show it again every second while it is active")
    .action(async (id: string, { watch = false }: { watch?: boolean }) => {
      let last = "";
      for (;;) {
        const { text, isActive } = await doCommand(context, { name: "show-job", id });
        if (text !== last) write(watch && context.isTerminal ? `${CLEAR}${text}` : text);
        last = text;
        if (!watch || !isActive) return;
        await sleep(WATCH_EVERY_MS);
      }
    });

  jobs
    .command("answer")
    .description("answer a question of a job's agent; jobs show lists those that are open")
    .argument("<job>", "the job's id")
    .argument("<question>", "the question's id")
    .argument("<answer>", "the number of a choice, or words where the question allows them")
    .action(async (job: string, question: string, words: string) =>
      write((await doCommand(context, { name: "answer", job, question, words })).text),
    );

  jobs
    .command("cancel")
    .description("cancel a job's turns that wait or run; its agent is stopped")
    .argument("<id>", "the job's id")
    .action(async (id: string) => write((await doCommand(context, { name: "cancel-job", id })).text));

  jobs
    .command("archive")
    .description("archive a job; a turn that runs is stopped")
    .argument("<id>", "the job's id")
    .action(async (id: string) => write((await doCommand(context, { name: "archive-job", id })).text));
}
