import { questionSlot, OVERDUE_SLOT } from "../rules/turn/delivery.ts";
import { questionKey } from "../rules/thread/question.ts";
import type { Task } from "../../shared/queue/task-queue.ts";
import type { Step } from "../rules/records.ts";
import { questionOf, withQuestion } from "../rules/turn/turn.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { showPart } from "./post-for-turn.ts";
import { readTurnTask } from "../rules/decisions/turn-writes.ts";
import { QuestionPayload, isToBeShown } from "../rules/decisions/new-tasks.ts";
import { isNoticeDue, overdueKey } from "../rules/turn/overdue.ts";
import { TurnPayload } from "../rules/decisions/payload.ts";

/**
 * Posts the question in the thread, once, and later updates the post. Safe to repeat: it shows the
 * state when it runs.
 */
export async function question(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn } = await readTurnTask(deps, QuestionPayload, given);
  const { question: number } = task.payload;
  const asked = questionOf(turn, number);
  if (!isToBeShown(turn, asked)) return { kind: "done" };
  const message = { kind: "question", turn, question: asked, movedBecause: null } as const;
  return showPart(
    deps,
    task,
    turn,
    { slot: questionSlot(number), message, key: questionKey(asked) },
    (now, shown) => withQuestion(now, number, { shown }),
    (noted) => isToBeShown(noted, questionOf(noted, number)),
  );
}

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
