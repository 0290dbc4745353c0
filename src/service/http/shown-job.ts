import type { WireJob } from "../../shared/contract/schema.ts";
import { type StoredJob, toRecord } from "../jobs/job.ts";
import { toSentPullRequest, toSentQuestion, toSentTurn } from "../jobs/report.ts";
import type { ServiceAppDeps } from "./service-app-deps.ts";
import { HttpFault } from "./http-fault.ts";

type Store = ServiceAppDeps["store"];

/** The header with which a client says which fields beyond the contract it reads. */
export const READS_HEADER = "docs-agent-capabilities";

/** What an answer says if the project has no such job. */
export const NO_SUCH_JOB = "There is no such job in this project.";

/** Reads the project's job. Throws an {@link HttpFault} if there is none. */
export function jobOf(store: Store, projectId: string, id: string): StoredJob {
  const job = store.job(id);
  if (job === null || job.projectId !== projectId) throw new HttpFault(404, NO_SUCH_JOB);
  return job;
}

/** The fields beyond the contract that the client reads. `upTo` is the newest turn to show. */
export function reportOf(
  store: Store,
  { id, pullRequest }: StoredJob,
  wanted: readonly string[],
  upTo?: number,
) {
  return {
    ...(wanted.includes("pull-request") && { pullRequest: toSentPullRequest(pullRequest) }),
    ...(wanted.includes("turns") && { turns: store.shownTurns(id, upTo).map(toSentTurn) }),
    ...(wanted.includes("questions") && { questions: store.questions.shown(id).map(toSentQuestion) }),
  };
}

/** A job's record with the fields that the client reads. */
export function shownJob(store: Store, job: StoredJob, wanted: readonly string[]): WireJob {
  return { ...toRecord(job), ...reportOf(store, job, wanted) };
}

/** The project's job with all fields beyond the contract. */
export function fullJob(store: Store, projectId: string, id: string): WireJob {
  return shownJob(store, jobOf(store, projectId, id), ["turns", "questions", "pull-request"]);
}
