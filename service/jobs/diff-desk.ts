import type { JobDiff } from "../../src/core/ports/job-report.ts";
import { operatorText } from "../base/run-error.ts";
import type { DiffReader } from "../runner/turn-runner.ts";
import type { StoredJob } from "./job.ts";
import type { ServiceTaskDeps } from "./run-job.ts";

/**
 * Each reading fetches and runs git, beside the turns. One project's git server that hangs leaves
 * room for the others.
 */
const MAX_AT_ONCE = { project: 4, all: 16 };
/** Our app waits 15 s for an answer. */
const WITHIN_MS = 10_000;

type DiffDeps = Pick<ServiceTaskDeps, "projects" | "store" | "logger"> & { runner: { readDiff: DiffReader } };

/**
 * Reads what a job changes. Resolves to null if nothing is known of it anymore, and to "busy" if it
 * can't be read now.
 */
export type DiffDesk = (job: StoredJob) => Promise<JobDiff | null | "busy">;

/** Limits how many changes are read at once, per project and in total, and for how long. */
export function createDiffDesk({ projects, store, runner, logger }: DiffDeps): DiffDesk {
  const running = new Set<{ projectId: string }>();
  return async ({ id: jobId, projectId, pullRequest }) => {
    const project = projects.get(projectId);
    if (project === undefined) return null;
    const sameProject = [...running].filter((reading) => reading.projectId === projectId);
    if (running.size >= MAX_AT_ONCE.all || sameProject.length >= MAX_AT_ONCE.project) return "busy";
    const reading = { projectId };
    running.add(reading);
    try {
      const signal = AbortSignal.timeout(WITHIN_MS);
      const head = pullRequest?.headSha ?? store.headOf(jobId);
      return await runner.readDiff({ project, jobId, head, signal });
    } catch (thrown) {
      const problem = operatorText(thrown);
      logger.warn({ project: projectId, job_id: jobId, problem }, "a job's change can't be read");
      return "busy";
    } finally {
      running.delete(reading);
    }
  };
}
