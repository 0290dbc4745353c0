import { OVERDUE_SLOT } from "../core/turn/delivery.ts";
import { isNoticeDue, overdueKey } from "../core/turn/overdue.ts";
import type { Step, Task } from "../core/ports/task-queue.ts";
import type { TaskDeps } from "../decisions/deps.ts";
import { showPart } from "./post-for-turn.ts";
import { TurnPayload } from "../decisions/payload.ts";
import { readTurnTask } from "../decisions/turn-writes.ts";

/**
 * Posts, once, that the turn takes longer than usual, and later removes the button. Safe to repeat:
 * it shows the state when it runs.
 */
export async function overdue(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn } = await readTurnTask(deps, TurnPayload, given);
  if (turn.overdue === undefined || !isNoticeDue(turn)) return { kind: "done" };
  const message = { kind: "overdue", turn, overdue: turn.overdue, movedBecause: null } as const;
  return showPart(
    deps,
    task,
    turn,
    { slot: OVERDUE_SLOT, message, key: overdueKey(turn) },
    (now, shown) => (now.overdue === undefined ? now : { ...now, overdue: { ...now.overdue, shown } }),
    isNoticeDue,
  );
}
