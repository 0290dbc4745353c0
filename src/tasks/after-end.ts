import type { NewTask } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";
import { hasStatusMessage } from "../core/delivery.ts";
import { deliverTasks } from "./deliver.ts";
import { openTask } from "./open.ts";
import { overdueTasks } from "./overdue.ts";
import { questionTasks } from "./question.ts";
import { reactTasks } from "./react.ts";

/**
 * What is to be added when a turn may have ended: its outcome, a reaction, and its questions and a notice end. Where the status message that comes before it is not there, that one
 * brings the outcome with it; it is added again, in case it was given up before there was an outcome to tell.
 */
export function tasksAfterEnd(turn: Turn): NewTask[] {
  if (turn.stage.name !== "ended") return [];
  if (!hasStatusMessage(turn.delivery)) return [openTask(turn), ...reactTasks(turn)];
  return [...deliverTasks(turn), ...questionTasks(turn), ...overdueTasks(turn), ...reactTasks(turn)];
}
