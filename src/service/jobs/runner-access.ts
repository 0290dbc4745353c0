import type { JobDiff } from "../../shared/contract/diff.ts";
import { operatorText } from "../base/run-error.ts";
import type { ServiceProject } from "../config/config.ts";
import type { CloseResult, JobNotes, Runner } from "../runner/runner.ts";
import { projectOfJob, type JobRow } from "./rows.ts";
import type { ServiceTaskDeps } from "./service-task-deps.ts";

/**
 * Each request fetches and runs git, beside the turns. One project's git server that hangs leaves
 * room for the others.
 */
const MAX_AT_ONCE = { project: 4, all: 16 };
/** Our app waits 15 s for an answer. */
const WITHIN_MS = 10_000;

type RunnerAccessDeps = Pick<ServiceTaskDeps, "projects" | "store" | "notes" | "pool" | "logger">;

/** What HTTP has the runner do at once. Both resolve to "busy" if it can't be done now. */
export type RunnerAccess = {
  /** Reads what a job changes. Resolves to null if nothing is known of it anymore. */
  readDiff: (job: JobRow) => Promise<JobDiff | null | "busy">;
  /**
   * Closes a job's pull request if it changes nothing. Resolves to "working" if a turn of the job
   * has yet to end, because that may change something.
   */
  closePull: (job: JobRow) => Promise<CloseResult | "working" | "busy">;
};

/** Limits how much is done at once, per project and in total, and for how long. */
export function createRunnerAccess({ projects, store, notes, pool, logger }: RunnerAccessDeps): RunnerAccess {
  const running = new Set<{ projectId: string }>();

  async function bounded<Result>(
    { id: jobId, projectId, branchPrefix }: JobRow,
    problemWith: string,
    act: (
      runner: Runner,
      of: { project: ServiceProject; jobId: string; notes: JobNotes; signal: AbortSignal },
    ) => Promise<Result>,
  ): Promise<Result | null | "busy"> {
    const project = projects.get(projectId);
    if (project === undefined) return null;
    const runner = pool.runnerFor(project);
    if (runner === null) return "busy";
    const sameProject = [...running].filter((each) => each.projectId === projectId);
    if (running.size >= MAX_AT_ONCE.all || sameProject.length >= MAX_AT_ONCE.project) return "busy";
    const request = { projectId };
    running.add(request);
    try {
      const signal = AbortSignal.timeout(WITHIN_MS);
      const its = projectOfJob(project, { branchPrefix });
      return await act(runner, { project: its, jobId, notes: notes.of(jobId), signal });
    } catch (thrown) {
      logger.warn({ project: projectId, job_id: jobId, problem: operatorText(thrown) }, problemWith);
      return "busy";
    } finally {
      running.delete(request);
    }
  }

  return {
    readDiff: (job) =>
      bounded(job, "a job's change can't be read", (runner, of) =>
        runner.readDiff({ ...of, head: job.pullRequest?.headSha ?? store.headOf(job.id) }),
      ),
    async closePull(job) {
      const number = store.pullRequestOf(job.id);
      if (number === null) return "missing";
      if (job.status === "active") return "working";
      const became = await bounded(job, "a pull request can't be closed", (runner, of) =>
        runner.closePull({ ...of, number }),
      );
      return became ?? "missing";
    },
  };
}
