import type { Request } from "../core/request.ts";
import type { Limit, NewTask, Plan } from "../core/task-queue.ts";
import type { Read } from "../core/records.ts";
import { newTurn } from "../core/turn.ts";
import type { Turn } from "../core/turn.ts";
import { openTask } from "./open.ts";
import { submitTask } from "./submit.ts";
import { turnWrites } from "./turn-writes.ts";
import type { TaskDeps } from "./deps.ts";

/**
 * Accepts a request: its turn is written down, and the create and the status message are under way, neither waiting for the other. The
 * turn's id is made of what Slack sent, so a redelivery or a second press finds it, changes nothing and counts against no limit. `value`: whether
 * it is new.
 */
export function acceptance(
  deps: Pick<TaskDeps, "clock" | "polling" | "retentionMs">,
  read: Read,
  request: Request,
  within: readonly Limit[],
): Plan<boolean> {
  if (read("turn", request.id) !== undefined) return { value: false };
  const turn = newTurn(request);
  return { writes: turnWrites(deps, read, turn), adds: acceptedTasks(turn), within, value: true };
}

function acceptedTasks(turn: Turn): NewTask[] {
  return [submitTask(turn), openTask(turn)];
}
