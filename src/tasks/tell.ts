import { z } from "zod";
import { newDelivery } from "../core/delivery.ts";
import type { Delivery } from "../core/delivery.ts";
import type { Write } from "../core/records.ts";
import { storedObject } from "../core/stored-object.ts";
import type { NewTask, Step, Task, TaskEnd } from "../core/task-queue.ts";
import type { TaskDeps } from "./deps.ts";
import { Whose, readPayload } from "./payload.ts";
import { afterFault, postOnce } from "./post.ts";

const TellPayload = storedObject({
  taskId: z.string(),
  taskType: z.string(),
  whose: Whose,
  slotMs: z.number().optional(),
  lookMs: z.number().optional(),
});
type TellPayload = z.infer<typeof TellPayload>;

const NOTICE_SLOT = "notice";

export function tellTask(dead: Task, whose: Whose): NewTask {
  const payload = { taskId: dead.id, taskType: dead.type, whose } satisfies TellPayload;
  return { id: `tell:${dead.id}`, type: "tell", payload };
}

/** Tells the requester in a direct message that a task of theirs was given up; privately where they asked if that fails. */
export async function tell(deps: TaskDeps, task: Task): Promise<Step> {
  const payload = readPayload(TellPayload, task);
  const { taskId, taskType, whose } = payload;
  const { teamId, channelId, userId, responseUrl } = whose;
  const message = {
    kind: "gave-up",
    taskId,
    // Where the status message was given up, the job may have begun all the same.
    taskType: taskType === "open" && (await hasBegun(deps, taskId)) ? "begun" : taskType,
    channelId,
  } as const;
  const dm = await deps.notifier.openDirectMessage(teamId, userId);
  if (!dm.ok && dm.fault.kind !== "place") return afterFault(deps, { ...task, payload }, dm.fault);
  if (dm.ok) {
    const known = await deps.records.notice.get(task.id);
    const delivery = known?.delivery ?? newDelivery({ channelId: dm.value.channelId, threadTs: null });
    const attempt = await postOnce(
      deps,
      { ...task, payload },
      {
        teamId,
        delivery,
        slot: NOTICE_SLOT,
        label: { turnId: task.id, post: NOTICE_SLOT },
        message,
        saveIntent: (change) =>
          deps.commit((read) => {
            const current = read("notice", task.id)?.delivery ?? delivery;
            return { writes: [note(deps, task.id, change(current))], value: undefined };
          }),
      },
    );
    if (attempt.kind === "posted") return over(task.id, { kind: "done" });
    if (attempt.kind === "later") {
      const { change, end } = attempt;
      return (read) => {
        const current = read("notice", task.id)?.delivery ?? delivery;
        return { writes: [note(deps, task.id, change(current))], value: end };
      };
    }
  }
  const told = await deps.notifier.replyPrivately(
    { place: { teamId, channelId, threadTs: null }, userId, responseUrl },
    message,
  );
  if (told.ok) return over(task.id, { kind: "done" });
  if (told.fault.kind !== "place") return afterFault(deps, { ...task, payload }, told.fault);
  return over(task.id, {
    kind: "dead",
    reason: "neither a direct message nor a private answer reached the person",
  });
}

async function hasBegun(deps: Pick<TaskDeps, "records">, openTaskId: string): Promise<boolean> {
  const turn = await deps.records.turn.get(openTaskId.slice("open:".length));
  return turn !== undefined && turn.stage.name !== "accepted";
}

function note(deps: Pick<TaskDeps, "retentionMs">, id: string, delivery: Delivery): Write {
  return { kind: "notice", id, record: { version: 1, delivery }, ttlMs: deps.retentionMs };
}

function over(id: string, end: TaskEnd): Step {
  return () => ({ writes: [{ kind: "notice", id, record: null }], value: end });
}
