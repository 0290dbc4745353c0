import type { Message, Recipient } from "../core/notifier.ts";
import type { TaskEnd, Task } from "../core/task-queue.ts";
import type { TaskDeps } from "./deps.ts";
import { afterFault } from "./post.ts";

type PrivateTask = Task & { payload: { slotMs?: number | undefined; lookMs?: number | undefined } };

/**
 * Shows a message to one person alone, where they are or, where that place takes no private answer, in a direct message; twice, if the answer
 * to that is lost.
 */
export async function answerPrivately(
  deps: TaskDeps,
  task: PrivateTask,
  to: Recipient,
  message: Message,
): Promise<TaskEnd> {
  const answer = await deps.notifier.replyPrivately(to, message);
  if (answer.ok) return { kind: "done" };
  if (answer.fault.kind !== "place") return afterFault(deps, task, answer.fault);
  const { teamId } = to.place;
  const dm = await deps.notifier.openDirectMessage(teamId, to.userId);
  const posted = dm.ok
    ? await deps.notifier.post({ teamId, channelId: dm.value.channelId, threadTs: null }, message, {
        turnId: task.id,
        post: "reply",
      })
    : dm;
  if (posted.ok) return { kind: "done" };
  const { fault } = posted;
  if (fault.kind === "place") return { kind: "dead", reason: `${answer.fault.error}; ${fault.error}` };
  return afterFault(deps, task, fault);
}
