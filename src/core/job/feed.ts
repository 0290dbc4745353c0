import type { JobServiceAnswer } from "../ports/job-service.ts";
import type { FeedRecord } from "../ports/records.ts";
import type { Append } from "../ports/task-queue.ts";
import { projectKey, type ProjectRef } from "./project.ts";

/** A feed that was silent for longer tells nothing, milliseconds. A request ends sooner. */
const FRESH_MS = 2 * 60_000;
/** How many of a project's jobs are read when its feed breaks off. */
const KNOWN_JOBS_MAX = 1000;
const GAP_MS = 500;
const IDLE_GAP_MS = 1_000;
const IDLE_GAP_MAX_MS = 30_000;

/**
 * True if the service has a feed that we can use. Without `turns`, an entry couldn't be told from
 * one that was made before its turn began.
 */
export function offersFeed({ capabilities = [] }: Pick<JobServiceAnswer, "capabilities">): boolean {
  return capabilities.includes("changes") && capabilities.includes("turns");
}

/** True if the project's feed tells what changes. */
export function isFresh(feed: FeedRecord | undefined, now: number): boolean {
  // The clock may have been set back since.
  return feed !== undefined && feed.faults === 0 && Math.abs(now - feed.heardAt) < FRESH_MS;
}

/** The series of a project's newest jobs that have been sent something, by id. */
export function sentJobsOf(project: ProjectRef): string {
  return `jobs:${projectKey(project)}`;
}

export function sentJobAppend(project: ProjectRef, jobId: string, ttlMs: number): Append {
  return { series: sentJobsOf(project), entry: jobId, keep: KNOWN_JOBS_MAX, ttlMs };
}

/**
 * The shortest time between two requests, milliseconds, whatever the service answers. `quick` is
 * how often in a row it answered at once that nothing has changed.
 */
export function gapMs({ isNew, quick }: { isNew: boolean; quick: number }): number {
  return isNew ? GAP_MS : Math.min(IDLE_GAP_MAX_MS, IDLE_GAP_MS * 2 ** Math.min(quick, 10));
}
