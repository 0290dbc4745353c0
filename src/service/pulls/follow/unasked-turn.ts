import type { NewTask } from "../../../shared/queue/task-queue.ts";
import type { TurnAct } from "../../../shared/contract/turn.ts";
import type { ServiceProject } from "../../config/config.ts";
import { ACT_PROMPTS } from "../../jobs/acts.ts";
import type { JobStore } from "../../jobs/job-store.ts";
import { runJobTask } from "../../jobs/run-job.ts";

/**
 * Adds a turn that nobody asked for, within the limits of others. Call it inside a transaction.
 * Returns the task that runs the turn, or none if it wasn't accepted or was added before under this
 * key.
 */
export function addUnaskedTurn(
  store: JobStore,
  { project, jobId, act, key }: { project: ServiceProject; jobId: string; act: TurnAct; key: string | null },
  nowMs: number,
): NewTask[] {
  const nobody = { words: null, requester: null, authors: null, attachments: [] };
  const what = { project, jobId, kind: act, prompt: ACT_PROMPTS[act], isUnasked: true };
  const accepted = store.accept({ ...what, ...nobody, idempotencyKey: key }, nowMs);
  return accepted.kind === "accepted" ? [runJobTask(jobId, project.id)] : [];
}
