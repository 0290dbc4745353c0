import type { NewTask } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";
import { hasStatusMessage } from "../core/delivery.ts";
import { deliverTasks } from "./deliver.ts";
import { openTask } from "./open.ts";
import { overdueTasks } from "./overdue.ts";
import { questionTasks } from "./question.ts";
import { reactTasks } from "./react.ts";
import { refreshTasks } from "./refresh.ts";

/**
 * What is to be added when a turn has changed. While it goes on: its messages. Where it has ended: its outcome, a reaction, and its questions
 * and a notice end. If the status message that comes before the outcome is not there, that one brings the outcome with it; it is added again,
 * in case it was given up before there was an outcome to tell.
 */
export function tasksAfterChange(turn: Turn): NewTask[] {
  const messages = [...questionTasks(turn), ...overdueTasks(turn), ...refreshTasks(turn)];
  if (turn.stage.name !== "ended") return messages;
  if (!hasStatusMessage(turn.delivery)) return [openTask(turn), ...reactTasks(turn)];
  return [...deliverTasks(turn), ...messages, ...reactTasks(turn)];
}
