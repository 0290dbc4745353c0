import type { NewTask } from "../../../shared/queue/task-queue.ts";
import type { FollowedPullRequest } from "../../../shared/contract/pull-request.ts";
import type { FollowedJob } from "../../jobs/followed-store.ts";
import type { ServiceTaskDeps } from "../../jobs/service-task-deps.ts";
import { addUnaskedTurn } from "./unasked-turn.ts";

const DAY_MS = 86_400_000;

/**
 * Brings the branch of a pull request up to date by itself, if its project wants that. Call it
 * inside a transaction, after a look. Returns the task that runs the turn which it has added, if
 * any: at most one a day, whoever asked for the last one, none while a turn waits or runs, and none
 * beyond the limits of messages.
 */
export function keepFresh(
  { store, projects }: Pick<ServiceTaskDeps, "store" | "projects">,
  { jobId }: Pick<FollowedJob, "jobId">,
  record: FollowedPullRequest | null,
  nowMs: number,
): NewTask[] {
  if (record === null || !wantsUpdate(record)) return [];
  const project = projects.get(store.job(jobId)?.projectId ?? "");
  if (project?.keepFresh !== true || store.oldestUnfinished(jobId) !== null) return [];
  if (store.hasTurnSince(jobId, "update", nowMs - DAY_MS)) return [];
  return addUnaskedTurn(store, { project, jobId, act: "update", key: null }, nowMs);
}

/** A push would dismiss approvals, or make people look once more. */
function wantsUpdate({ state, isVisible, blockedBy, review, reviews }: FollowedPullRequest): boolean {
  const isApproved = review === "approved" || reviews.some((each) => each.state === "approved");
  return state === "open" && isVisible && blockedBy === "behind" && !isApproved;
}
