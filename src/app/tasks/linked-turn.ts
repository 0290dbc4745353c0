import type { TaskDeps } from "../rules/ports/deps.ts";
import { jobKey } from "../rules/project.ts";
import type { Turn } from "../rules/turn/turn.ts";

/**
 * Reads the turn that left the pull request of a turn's job, at which its state is kept. Undefined
 * if there is none.
 */
export async function linkedTurn(
  { records }: Pick<TaskDeps, "records">,
  { request, job }: Turn,
): Promise<Turn | undefined> {
  const record = job === null ? undefined : await records.get("job", jobKey(request.project, job.id));
  const left = record?.pullRequest;
  return left === undefined ? undefined : records.get("turn", left.turnId);
}
