import { hasStatusMessage } from "../core/delivery.ts";
import { withPrBefore } from "../core/follow-up.ts";
import type { Read, Write } from "../core/records.ts";
import type { NewTask } from "../core/task-queue.ts";
import { isFollowUp } from "../core/turn.ts";
import type { Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";
import { deliverTasks } from "./deliver.ts";
import { openTask } from "./open.ts";
import { overdueTasks } from "./overdue.ts";
import { questionTasks } from "./question.ts";
import { reactTasks } from "./react.ts";
import { refreshTasks } from "./refresh.ts";
import { earlierTurns, endedForLog, turnWrites } from "./turn-writes.ts";

/** What to write and to add when a turn has changed, and may have ended. `next`: it, as it is written. */
export function changeOf(
  deps: Pick<TaskDeps, "clock" | "polling" | "retentionMs" | "logger">,
  read: Read,
  before: Turn,
  after: Turn,
): { next: Turn; writes: Write[]; adds: NewTask[] } {
  const next = isFollowUp(after) ? withPrBefore(after, earlierTurns(read, after)) : after;
  const { stage } = next;
  if (stage.name === "ended" && before.stage.name !== "ended") {
    deps.logger.info(endedForLog(stage.outcome), "turn ended");
  }
  return { next, writes: turnWrites(deps, read, next), adds: tasksAfterChange(next) };
}

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
