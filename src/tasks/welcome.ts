import { z } from "zod";
import { newDelivery } from "../core/delivery.ts";
import type { Delivery } from "../core/delivery.ts";
import type { Write } from "../core/records.ts";
import { requestListOf } from "../core/request-list.ts";
import { storedObject } from "../core/stored-object.ts";
import type { NewTask, Step, Task } from "../core/task-queue.ts";
import type { TaskDeps } from "./deps.ts";
import { readPayload } from "./payload.ts";
import { afterFault, postOnce } from "./post.ts";

const WelcomePayload = storedObject({
  teamId: z.string(),
  channelId: z.string(),
  userId: z.string(),
  slotMs: z.number().optional(),
  lookMs: z.number().optional(),
});
type WelcomePayload = z.infer<typeof WelcomePayload>;

const WELCOME_SLOT = "welcome";

/** One for each person, whenever they open their direct messages with the app. */
export function welcomeTask(payload: WelcomePayload): NewTask {
  return { id: `welcome:${payload.teamId}:${payload.userId}`, type: "welcome", payload };
}

/** Welcomes a newcomer, once: somebody who has asked for nothing, and in whose direct messages nothing stands. */
export async function welcome(deps: TaskDeps, task: Task): Promise<Step> {
  const payload = readPayload(WelcomePayload, task);
  const { teamId, channelId } = payload;
  const known = (await deps.records.notice.get(task.id))?.delivery;
  if (known === undefined) {
    const asked = await deps.series.of(requestListOf("person", payload));
    if (asked.length > 0) return { kind: "done" };
    const place = { teamId, channelId, threadTs: null };
    const isEmpty = await deps.notifier.isEmpty(place);
    if (!isEmpty.ok) {
      const { kind } = isEmpty.fault;
      const isFinal = kind === "place" || kind === "credentials";
      return isFinal ? { kind: "done" } : afterFault(deps, { ...task, payload }, isEmpty.fault);
    }
    if (!isEmpty.value) return { kind: "done" };
  }
  const delivery = known ?? newDelivery({ channelId, threadTs: null });
  const note = (current: Delivery): Write => ({
    kind: "notice",
    id: task.id,
    record: { version: 1, delivery: current },
    ttlMs: deps.retentionMs,
  });
  const attempt = await postOnce(
    deps,
    { ...task, payload },
    {
      teamId,
      delivery,
      slot: WELCOME_SLOT,
      label: { turnId: task.id, post: WELCOME_SLOT },
      message: { kind: "welcome" },
      saveIntent: (change) =>
        deps.commit((read) => {
          const current = read("notice", task.id)?.delivery ?? delivery;
          return { writes: [note(change(current))], value: undefined };
        }),
    },
  );
  const { change } = attempt;
  const end = attempt.kind === "later" ? attempt.end : ({ kind: "done" } as const);
  return (read) => {
    const current = read("notice", task.id)?.delivery;
    // Nothing was to be sent yet: it is still to be seen whether they are a newcomer.
    if (current === undefined) return { value: end };
    return { writes: [note(change(current))], value: end };
  };
}
