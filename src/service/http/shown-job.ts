import type { FullJob } from "../../shared/contract/job.ts";
import type { Sent } from "../../shared/contract/reading.ts";
import type { Level } from "../../shared/contract/level.ts";
import type { JobRow } from "../jobs/rows.ts";
import { toSentJob, toSentPullRequest, toSentQuestion, toSentTurn } from "../jobs/sent-job.ts";
import type { ServiceAppDeps } from "./service-app-deps.ts";
import { HttpFault } from "./http-fault.ts";

type Store = ServiceAppDeps["store"];

/** What an answer says if the project has no such job. */
export const NO_SUCH_JOB = "There is no such job in this project.";

/** Reads the project's job. Throws an {@link HttpFault} if there is none. */
export function jobOf(store: Store, projectId: string, id: string): JobRow {
  const job = store.job(id);
  if (job === null || job.projectId !== projectId) throw new HttpFault(404, NO_SUCH_JOB);
  return job;
}

/** The fields beyond the contract, if the client reads them. `upTo` is the newest turn to show. */
export function reportOf(store: Store, job: JobRow, level: Level, upTo?: number) {
  if (level === 0) return {};
  const turns = store.shownTurns(job.id, upTo).map(toSentTurn);
  const questions = store.questions.shown(job.id).map(toSentQuestion);
  return { pullRequest: toSentPullRequest(job), turns, questions };
}

/** A job's record with the fields that the client reads. */
export function shownJob(store: Store, job: JobRow, level: Level): Sent<typeof FullJob> {
  return { ...toSentJob(job), ...reportOf(store, job, level) };
}

/** A job as the list shows it: without turns and questions. */
export function listedJob(job: JobRow, level: Level): Sent<typeof FullJob> {
  return { ...toSentJob(job), ...(level >= 1 && { pullRequest: toSentPullRequest(job) }) };
}

/** The project's job with all fields beyond the contract. */
export function fullJob(store: Store, projectId: string, id: string): Sent<typeof FullJob> {
  return shownJob(store, jobOf(store, projectId, id), 1);
}
