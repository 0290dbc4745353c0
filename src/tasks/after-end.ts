import type { NewTask } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";
import { hasStatusMessage } from "../core/delivery.ts";
import { deliverTasks } from "./deliver.ts";
import { openTask } from "./open.ts";
<<<<<<< HEAD
import { reactTasks } from "./react.ts";

/**
 * What is to be added when a turn may have ended: its outcome, and a reaction. Where the status message that comes before it is not there, that one
=======
import { questionTasks } from "./question.ts";

/**
 * What is to be added when a turn may have ended: its outcome, and its questions end. Where the status message that comes before it is not there, that one
>>>>>>> main
 * brings the outcome with it; it is added again, in case it was given up before there was an outcome to tell.
 */
export function tasksAfterEnd(turn: Turn): NewTask[] {
  if (turn.stage.name !== "ended") return [];
<<<<<<< HEAD
  const outcome = hasStatusMessage(turn.delivery) ? deliverTasks(turn) : [openTask(turn)];
  return [...outcome, ...reactTasks(turn)];
=======
  if (!hasStatusMessage(turn.delivery)) return [openTask(turn)];
  return [...deliverTasks(turn), ...questionTasks(turn)];
>>>>>>> main
}
