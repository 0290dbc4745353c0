import type { Job } from "../core/ports/job-service.ts";
import type { Turn } from "../core/turn/turn.ts";
import type { TaskDeps } from "../decisions/deps.ts";

/**
 * The turn whose job a follow-up goes to: the one it follows, or, where that never got to its job,
 * the one which that one follows. `pending`: it hasn't been sent yet. `none`: there is no such job.
 * Undefined: this is no follow-up.
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
