import { hasStatusMessage } from "../core/turn/delivery.ts";
import { withPrBefore } from "../core/turn/follow-up.ts";
import { jobKey } from "../core/job/project.ts";
import { keyOfWrite, readAfter, type Read, type Write } from "../core/ports/records.ts";
import type { NewTask } from "../core/ports/task-queue.ts";
import { isUnsent, type Turn } from "../core/turn/turn.ts";
import type { TaskDeps } from "./deps.ts";
import {
  deliverTasks,
  openTask,
  overdueTasks,
  questionTasks,
  reactTasks,
  refreshTasks,
  submitTask,
} from "./new-tasks.ts";
import { endedForLog, turnWrites } from "./turn-writes.ts";

type Changes = { next: Turn[]; writes: Write[]; adds: NewTask[] };

/**
 * What to write and add when turns have changed or ended. `next` are the turns as written. A
 * follow-up that waits for one of them is sent once that one has been sent or has ended.
 */
export function changesOf(
  deps: Pick<TaskDeps, "clock" | "polling" | "retentionMs" | "logger">,
  read: Read,
  changed: readonly Turn[],
): Changes {
  const written = new Map<string, Write>();
  const readNow = readAfter(read, written);
  const changes: Changes = { next: [], writes: [], adds: [] };
  for (const turn of changed) {
    const before = readNow("turn", turn.id);
    const isEnding = turn.stage.name === "ended" && before?.stage.name !== "ended";
    const job = turn.job === null ? undefined : readNow("job", jobKey(turn.request.project, turn.job.id));
    const next = isEnding ? withPrBefore(turn, job?.pullRequest) : turn;
    if (isEnding && next.stage.name === "ended") {
      deps.logger.info(endedForLog(next.stage.outcome), "turn ended");
    }
    for (const write of turnWrites(deps, readNow, next)) written.set(keyOfWrite(write), write);
    changes.next.push(next);
    changes.adds.push(...tasksAfterChange(next), ...tasksInLine(readNow, before, next));
  }
  return { ...changes, writes: [...written.values()] };
}

/** The task for the follow-up that waited for this turn, once it needn't wait anymore. */
function tasksInLine(read: Read, before: Turn | undefined, { nextId, ...turn }: Turn): NewTask[] {
  if (nextId === undefined || before === undefined || !isUnsent(before) || isUnsent(turn)) return [];
  const waiting = read("turn", nextId);
  return waiting !== undefined && isUnsent(waiting) ? [submitTask(waiting)] : [];
}

/**
 * The tasks to add when a turn has changed: updates of its messages while it goes on, and its
 * outcome and reaction once it has ended. If the status message isn't posted yet, its task brings
 * the outcome along; it is added again in case it was given up before there was an outcome.
 */
function tasksAfterChange(turn: Turn): NewTask[] {
  const messages = [...questionTasks(turn), ...overdueTasks(turn), ...refreshTasks(turn)];
  if (turn.stage.name !== "ended") return messages;
  if (!hasStatusMessage(turn.delivery)) return [openTask(turn), ...reactTasks(turn)];
  return [...deliverTasks(turn), ...messages, ...reactTasks(turn)];
}
