import { z } from "zod";
import type { NewTask, Task, TaskResult } from "../core/task-queue.ts";
import type { Posts } from "../core/records.ts";
import { LANE_GAP_MS, deliveryResult } from "./delivery-result.ts";
import type { TaskDeps } from "./deps.ts";
import { Whose } from "./payload.ts";
import { postOnce } from "./post-once.ts";

const TellPayload = z.object({ taskId: z.string(), taskType: z.string(), whose: Whose });
type TellPayload = z.infer<typeof TellPayload>;

export function tellTask(dead: Task, whose: Whose): NewTask {
  return {
    id: `tell:${dead.id}`,
    type: "tell",
    lane: `dm:${whose.teamId}:${whose.userId}`,
    payload: { taskId: dead.id, taskType: dead.type, whose } satisfies TellPayload,
  };
}

/** Tells the requester in a direct message that a task of theirs was given up; privately in the channel if that fails. */
export async function tell(deps: TaskDeps, task: Task): Promise<TaskResult> {
  const { taskId, taskType, whose } = TellPayload.parse(task.payload);
  const message = { kind: "gave-up", taskId, taskType, channelId: whose.channelId } as const;
  const dm = await deps.notifier.openDirectMessage(whose.teamId, whose.userId);
  if (dm.ok) {
    const posts = (await deps.records.posts.get(task.id)) ?? newPosts(task.id, dm.value.channelId);
    const posted = await postOnce(deps, whose.teamId, posts, "notice", message);
    if (posted.ok) {
      await deps.records.posts.delete(task.id);
      return { kind: "done", laneGapMs: LANE_GAP_MS };
    }
    if (posted.fault.kind !== "place") return deliveryResult(deps, task, posted.fault);
  } else if (dm.fault.kind !== "place") {
    return deliveryResult(deps, task, dm.fault);
  }
  if (whose.responseUrl !== null) {
    const place = { teamId: whose.teamId, channelId: whose.channelId, threadTs: null };
    const told = await deps.notifier.replyPrivately({ ...whose, place }, message);
    if (told.ok) return { kind: "done" };
  }
  return { kind: "dead", reason: "neither a direct message nor a private answer reached the person" };
}

function newPosts(id: string, channelId: string): Posts {
  return {
    version: 1,
    turnId: id,
    place: { channelId, threadTs: null },
    away: null,
    slots: {},
    shown: null,
  };
}
