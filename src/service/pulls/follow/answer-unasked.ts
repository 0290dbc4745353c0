import type { NewTask } from "../../../shared/queue/task-queue.ts";
import type { ServiceProject } from "../../config/config.ts";
import type { FollowedJob } from "../../jobs/followed-store.ts";
import type { JobStore } from "../../jobs/job-store.ts";
import type { AfterLook } from "./judge.ts";
import { addUnaskedTurn } from "./unasked-turn.ts";

/** People write the comments of a review one after the other, and often more than one review. */
const PASS_MS = 60_000;

/**
 * Call this inside a transaction, once a look is stored. Adds the turn that answers the newest
 * review in which a person asks for changes, if the project's settings want that unasked. Each
 * review has one such turn at most, within the rounds and limits of others.
 */
export function answerUnasked(
  { store, projects }: { store: JobStore; projects: ReadonlyMap<string, ServiceProject> },
  { jobId, link }: FollowedJob,
  after: AfterLook,
  nowMs: number,
): NewTask[] {
  const review = reviewToAnswer(after);
  const project = projects.get(store.job(jobId)?.projectId ?? "");
  if (review === null || project?.addressReviews !== "always" || nowMs < passEnd(after)) return [];
  // No client's key has a space.
  const key = `review ${review} of ${link}`;
  return addUnaskedTurn(store, { project, jobId, act: "address", key }, nowMs);
}

/** The look with its next one soon enough, if a review may have to be answered unasked. */
export function untilPassEnds(after: AfterLook, nowMs: number): AfterLook {
  const { lookAt } = after;
  const end = passEnd(after);
  if (reviewToAnswer(after) === null || lookAt === null || end <= nowMs) return after;
  return { ...after, lookAt: Math.min(lookAt, end) };
}

function passEnd({ memory }: AfterLook): number {
  return memory.changedAt + PASS_MS;
}

function reviewToAnswer({ record }: AfterLook): string | null {
  if (record?.state !== "open" || !record.isVisible || record.review !== "changes-requested") return null;
  return record.reviews.findLast(({ state }) => state === "changes-requested")?.id ?? null;
}
