import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { Task, TaskEnd } from "../core/task-queue.ts";
import { messageOf } from "../errors.ts";

const throwDelayMs = 60_000;

/** How a run ends whose handler threw: logged, and tried again in a minute. */
export function surprise(
  { clock, logger }: { clock: Clock; logger: Logger },
  task: Task,
  thrown: unknown,
): TaskEnd {
  const reason = messageOf(thrown);
  logger.warn(
    { task: task.id, type: task.type, attempt: task.attempt, error: reason },
    "task queue: a handler threw; trying again",
  );
  return { kind: "retry", dueAt: clock.now() + throwDelayMs, reason, isSurprise: true };
}
