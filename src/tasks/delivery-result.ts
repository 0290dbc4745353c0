import type { NotifierFault } from "../core/notifier.ts";
import { GIVE_UP_AFTER_MS, retryDelayMs } from "../core/retry.ts";
import type { Task, TaskResult } from "../core/task-queue.ts";
import type { TaskDeps } from "./deps.ts";

/** Slack takes about one message a second and channel; the lane keeps that distance. */
export const LANE_GAP_MS = 1000;

/** What becomes of a delivery that met a fault: postponed with its lane, or given up. */
export function deliveryResult(
  deps: Pick<TaskDeps, "clock" | "random">,
  task: Task,
  fault: NotifierFault,
): TaskResult {
  const now = deps.clock.now();
  if (fault.kind === "place") return { kind: "dead", reason: fault.error };
  if (now - task.addedAt > GIVE_UP_AFTER_MS) {
    return { kind: "dead", reason: `given up after a day of faults, the last: ${fault.error}` };
  }
  const delay = retryDelayMs({
    attempt: task.attempt,
    retryAfterMs: fault.retryAfterMs ?? 0,
    random: deps.random(),
  });
  return { kind: "retry", dueAt: now + delay, reason: fault.error };
}
