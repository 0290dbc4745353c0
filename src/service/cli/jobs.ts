import { setTimeout as sleep } from "node:timers/promises";
import { type Command, Option } from "commander";
import { JobStatus } from "../../core/job.ts";
import { StartError } from "../../start-error.ts";
import type { ServiceConfig } from "../config.ts";
import { JobStore } from "../jobs/job-store.ts";
import { readState, withState } from "../state-file.ts";
import { addAnswerCommand } from "./answer.ts";
import type { CommandContext } from "./context.ts";
import { noSuchProject } from "./no-such-project.ts";
import { jobDetails, jobTable } from "./show.ts";

const MAX_LISTED = 1000;
const WATCH_EVERY_MS = 1000;
/** Clears the terminal and goes to its top. */
const CLEAR = "\u001b[2J\u001b[H";

/** Adds `jobs list | show | answer | cancel | archive`. They work while the server runs. */
export function addJobsCommands(program: Command, context: CommandContext): void {
  const jobs = program.command("jobs").description("jobs and how they went");
  const { clock, write } = context;

  jobs
    .command("list")
    .description(`list jobs, the newest first, at most ${MAX_LISTED}`)
    .option("--project <id>", "only this project's")
    .addOption(new Option("--status <status>", "only those with this status").choices(JobStatus.options))
    .action(({ project, status }: { project?: string; status?: JobStatus }) => {
      const filter = { projectId: project ?? null, status: status ?? null, limit: MAX_LISTED };
      const config = context.settings({ needsSecrets: false });
      const jobs = readState(config, (db) => new JobStore(db).jobs(filter)) ?? [];
      // One that was taken out of the settings may still have jobs.
      if (project !== undefined && jobs.length === 0 && !config.projects.some(({ id }) => id === project)) {
        throw noSuchProject(project, config);
      }
      write(jobTable(jobs));
    });

  jobs
    .command("show")
    .description("show a job: its turns, progress, why it failed, its pull request")
    .argument("<id>", "the job's id")
    .option("--watch", "show it again every second while it is active")
    .action(async (id: string, { watch = false }: { watch?: boolean }) => {
      const config = context.settings({ needsSecrets: false });
      let last = "";
      for (;;) {
        const { text, isActive } = details(config, id);
        if (text !== last) write(watch && context.isTerminal ? `${CLEAR}${text}` : text);
        last = text;
        if (!watch || !isActive) return;
        await sleep(WATCH_EVERY_MS);
      }
    });

  jobs
    .command("cancel")
    .description("cancel a job's turns that wait or run; its agent is stopped")
    .argument("<id>", "the job's id")
    .action(async (id: string) => {
      const config = context.settings({ needsSecrets: false });
      const canceled = await withState(config, clock, (db) => {
        const store = new JobStore(db);
        if (store.job(id) === null) return null;
        const unfinished = store.turns(id).filter(({ state }) => state !== "ended");
        return unfinished.filter(({ number }) => store.cancel({ jobId: id, number }, clock.now())).length;
      });
      if (canceled === null) throw noSuchJob(id);
      write(
        canceled === 0
          ? `Job ${id} has no turn that waits or runs.\n`
          : `Canceled ${canceled} ${canceled === 1 ? "turn" : "turns"} of job ${id}.\n`,
      );
    });

  addAnswerCommand(jobs, context);

  jobs
    .command("archive")
    .description("archive a job; a turn that runs is stopped")
    .argument("<id>", "the job's id")
    .action(async (id: string) => {
      const config = context.settings({ needsSecrets: false });
      const before = await withState(config, clock, (db) => {
        const store = new JobStore(db);
        const job = store.job(id);
        store.archive(id, clock.now());
        return job;
      });
      if (before === null) throw noSuchJob(id);
      write(before.status === "archived" ? `Job ${id} was already archived.\n` : `Archived job ${id}.\n`);
    });
}

function details(config: ServiceConfig, id: string): { text: string; isActive: boolean } {
  const found = readState(config, (db) => {
    const store = new JobStore(db);
    const job = store.job(id);
    if (job === null) return null;
    const turns = store.turns(id).map((turn) => ({ ...turn, attachments: store.attachments(turn) }));
    const text = jobDetails(job, turns, store.questions.shown(id));
    return { text, isActive: job.status === "active" };
  });
  if (found === null) throw noSuchJob(id);
  return found;
}

function noSuchJob(id: string): StartError {
  return new StartError(`There is no job ${JSON.stringify(id)}. See jobs list.`);
}
