import { z } from "zod";
import { newDelivery, type Delivery } from "../rules/turn/delivery.ts";
import type { Message, Recipient } from "../rules/ports/notifier.ts";
import type { Read, Step, Write } from "../rules/records.ts";
import { requestListOf } from "../rules/thread/request-list.ts";
import type { NewTask, Task, TaskEnd } from "../../shared/queue/task-queue.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { RateLimited, TaskOwner, readTask, type RateLimitedTask } from "../rules/decisions/payload.ts";
import { afterFault, postOnce } from "./post.ts";
import { QuestionPayload, WelcomePayload } from "../rules/decisions/new-tasks.ts";
import { readTurnTask } from "../rules/decisions/turn-writes.ts";
import { questionOf } from "../rules/turn/turn.ts";

const TellPayload = RateLimited.extend({ taskId: z.string(), taskType: z.string(), whose: TaskOwner });

export function tellTask(dead: Task, whose: TaskOwner): NewTask {
  const payload = { taskId: dead.id, taskType: dead.type, whose } satisfies z.infer<typeof TellPayload>;
  return { id: `tell:${dead.id}`, type: "tell", payload };
}

/** Tells the requester that one of their tasks was given up. */
export async function tell(deps: TaskDeps, given: Task): Promise<Step> {
  const task = readTask(TellPayload, given);
  const { taskId, taskType, whose } = task.payload;
  const { teamId, channelId, userId, responseUrl } = whose;
  const message = {
    kind: "gave-up",
    taskId,
    // Although the status message was given up, the job may have begun.
    taskType: taskType === "open" && (await hasBegun(deps, taskId)) ? "begun" : taskType,
    channelId,
  } as const;
  const place = { teamId, channelId, threadTs: null };
  return tellPerson(deps, task, { place, userId, responseUrl }, message);
}

/**
 * Tells whoever answered the agent's question that it didn't get the answer, or may not have: an
 * edit of the question's message notifies nobody.
 */
export async function unheard(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn } = await readTurnTask(deps, QuestionPayload, given);
  const { whose, question: number } = task.payload;
  const question = questionOf(turn, number);
  if (question === undefined) return { kind: "done" };
  const { channelId, threadTs } = turn.delivery;
  const to = {
    place: { teamId: whose.teamId, channelId, threadTs },
    userId: whose.userId,
    responseUrl: null,
  };
  return tellPerson(deps, task, to, { kind: "unheard", turn, question });
}

/** Tells a person something in a direct message, once, or privately there if that fails. */
async function tellPerson(
  deps: TaskDeps,
  task: RateLimitedTask,
  to: Recipient,
  message: Message,
): Promise<Step> {
  const dm = await deps.notifier.openDirectMessage(to.userId);
  if (!dm.ok && dm.fault.kind !== "place") return afterFault(deps, task, dm.fault);
  const { teamId } = to.place;
  const step = dm.ok ? await postNotice(deps, task, { teamId, ...dm.value }, message) : null;
  if (step !== null) return step;
  const reply = await deps.notifier.replyPrivately(to, message);
  if (reply.ok) return over(task, { kind: "done" });
  if (reply.fault.kind !== "place") return afterFault(deps, task, reply.fault);
  const reason = "neither a direct message nor a private answer reached the person";
  return over(task, { kind: "dead", reason });
}

async function hasBegun(deps: Pick<TaskDeps, "records">, openTaskId: string): Promise<boolean> {
  const turn = await deps.records.get("turn", openTaskId.slice("open:".length));
  return turn !== undefined && turn.stage.name !== "accepted";
}

/**
 * Welcomes a newcomer, once: a person who has asked for nothing and has no messages with the app
 * yet.
 */
export async function welcome(deps: TaskDeps, given: Task): Promise<Step> {
  const task = readTask(WelcomePayload, given);
  const { payload } = task;
  const { teamId, channelId } = payload;
  // Only an attempt that hasn't begun to send checks if they are a newcomer.
  if ((await deps.records.get("notice", task.id)) === undefined) {
    const asked = await deps.series.of(requestListOf("person", payload));
    if (asked.length > 0) return { kind: "done" };
    const isEmpty = await deps.notifier.isEmpty({ teamId, channelId, threadTs: null });
    if (!isEmpty.ok) {
      const { kind } = isEmpty.fault;
      const isFinal = kind === "place" || kind === "credentials";
      return isFinal ? { kind: "done" } : afterFault(deps, task, isEmpty.fault);
    }
    if (!isEmpty.value) return { kind: "done" };
  }
  const step = await postNotice(deps, task, { teamId, channelId }, { kind: "welcome" });
  return step ?? over(task, { kind: "done" });
}

/**
 * Posts a message that belongs to no turn, once. Its record has the task's id and exists from the
 * intent to the end. Null means that the place can't take it.
 */
async function postNotice(
  deps: TaskDeps,
  task: RateLimitedTask,
  { teamId, channelId }: { teamId: string; channelId: string },
  message: Message,
): Promise<Step | null> {
  const { id, type } = task;
  const delivery =
    (await deps.records.get("notice", id))?.delivery ?? newDelivery({ channelId, threadTs: null });
  const noted = (read: Read, change: (delivery: Delivery) => Delivery): Write => {
    const record = { version: 1, delivery: change(read("notice", id)?.delivery ?? delivery) } as const;
    return { kind: "notice", id, record, ttlMs: deps.retentionMs };
  };
  const attempt = await postOnce(deps, task, {
    teamId,
    delivery,
    slot: type,
    label: { turnId: id, post: type },
    message,
    saveIntent: (change) => deps.commit((read) => ({ writes: [noted(read, change)], value: undefined })),
  });
  if (attempt.kind === "posted") return over(task, { kind: "done" });
  if (attempt.kind === "refused") return null;
  return (read) => ({
    writes: read("notice", id) === undefined ? [] : [noted(read, attempt.change)],
    value: attempt.end,
  });
}

function over({ id }: Task, end: TaskEnd): Step {
  return () => ({ writes: [{ kind: "notice", id, record: null }], value: end });
}
