import { OVERDUE_SLOT, hasStatusMessage } from "../core/delivery.ts";
import { isNoticeDue, overdueKey } from "../core/overdue.ts";
import type { NewTask, Step, Task } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";
import { mutedIn, awayOfPost, postOrUpdate } from "./post-for-turn.ts";
import { TurnPayload, readPayload, turnPayload } from "./payload.ts";
import { requireTurn, turnWrites } from "./turn-writes.ts";

/** What is to be added whenever a turn may have become overdue, or what its notice says untrue. One notice for each turn. */
export function overdueTasks(turn: Turn): NewTask[] {
  // In a thread of its own, that is the root.
  if (!hasStatusMessage(turn.delivery) || !isNoticeDue(turn)) return [];
  return [{ id: `overdue:${turn.id}`, type: "overdue", known: "latest", payload: turnPayload(turn) }];
}

/** Says in the thread, once, that the turn takes longer than usual; later takes the button away. Safe to repeat: it shows what is true when it runs. */
export async function overdue(deps: TaskDeps, task: Task): Promise<Step> {
  const known = readPayload(TurnPayload, task);
  const { turnId } = known;
  const turn = requireTurn(await deps.records.turn.get(turnId), turnId);
  if (turn.overdue === undefined || !isNoticeDue(turn)) return { kind: "done" };
  const attempt = await postOrUpdate(deps, { ...task, payload: known }, turn, OVERDUE_SLOT, {
    kind: "overdue",
    turn,
    overdue: turn.overdue,
    away: awayOfPost(turn, OVERDUE_SLOT),
    muted: await mutedIn(deps, turn),
  });
  if (attempt.kind !== "posted") return attempt.step;
  // A post that an earlier attempt left shows what was true then.
  const shown = attempt.isFound ? "" : overdueKey(turn);
  const { slotMs: _, lookMs: __, ...payload } = known;
  return (read) => {
    const now = requireTurn(read("turn", turnId), turnId);
    const overdueNow = now.overdue === undefined ? {} : { overdue: { ...now.overdue, shown } };
    const noted: Turn = { ...now, ...overdueNow, delivery: attempt.change(now.delivery) };
    return {
      writes: turnWrites(deps, read, noted),
      value: isNoticeDue(noted) ? { kind: "again", dueAt: deps.clock.now(), payload } : { kind: "done" },
    };
  };
}
