import type { Job } from "../core/job-service.ts";
import type { NewTask } from "../core/task-queue.ts";
import { isFollowUp, type Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";
import { turnPayload } from "./payload.ts";

/** Sends a turn: as a create, or, of a follow-up, as a message to its job. Adding it again brings it forward. */
export function submitTask(turn: Turn): NewTask {
  const { service } = turn.request.project;
  const type = isFollowUp(turn) ? "message" : "submit";
  return {
    id: `${type}:${turn.id}`,
    type,
    share: service,
    known: "latest",
    payload: turnPayload(turn),
  };
}

/**
 * The turn whose job a follow-up goes to: the one it follows, or, where that never got to its job, the one which that one follows.
 * `pending`: it hasn't been sent yet. `none`: there is no such job. Undefined: this is no follow-up.
 */
export async function followedTurn(
  { records }: Pick<TaskDeps, "records">,
  turn: Turn,
): Promise<{ job: Job } | "pending" | "none" | undefined> {
  let { follows } = turn.request;
  if (follows === undefined) return undefined;
  while (follows !== undefined) {
    const followed = await records.turn.get(follows.turnId);
    if (followed === undefined) return "none";
    if (followed.job !== null) return { job: followed.job };
    if (followed.stage.name !== "ended") return "pending";
    follows = followed.request.follows;
  }
  return "none";
}
