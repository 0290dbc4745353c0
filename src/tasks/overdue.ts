import { OVERDUE_SLOT, hasStatusMessage } from "../core/delivery.ts";
import { isNoticeDue, overdueKey } from "../core/overdue.ts";
import type { NewTask, Step, Task } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";
import { showPart } from "./post-for-turn.ts";
import { TurnPayload, turnPayload } from "./payload.ts";
import { readTurnTask } from "./turn-writes.ts";

/** What is to be added whenever a turn may have become overdue, or what its notice says untrue. One notice for each turn. */
export function overdueTasks(turn: Turn): NewTask[] {
  // In a thread of its own, that is the root.
  if (!hasStatusMessage(turn.delivery) || !isNoticeDue(turn)) return [];
  return [{ id: `overdue:${turn.id}`, type: "overdue", known: "latest", payload: turnPayload(turn) }];
}

/** Says in the thread, once, that the turn takes longer than usual; later takes the button away. Safe to repeat: it shows what is true when it runs. */
export async function overdue(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn } = await readTurnTask(deps, TurnPayload, given);
  if (turn.overdue === undefined || !isNoticeDue(turn)) return { kind: "done" };
  const message = { kind: "overdue", turn, overdue: turn.overdue, away: null } as const;
  return showPart(
    deps,
    task,
    turn,
    { slot: OVERDUE_SLOT, message, key: overdueKey(turn) },
    (now, shown) => (now.overdue === undefined ? now : { ...now, overdue: { ...now.overdue, shown } }),
    isNoticeDue,
  );
}
