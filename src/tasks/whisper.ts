import { z } from "zod";
import type { Refusal } from "../core/notifier.ts";
import type { NewTask, Task, TaskResult } from "../core/task-queue.ts";
import { LANE_GAP_MS, deliveryResult } from "./delivery-result.ts";
import type { TaskDeps } from "./deps.ts";

const RefusalPayload = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("too-long"), length: z.number(), limit: z.number() }),
  z.object({ kind: z.literal("unknown-project"), name: z.string(), known: z.array(z.string()) }),
  z.object({
    kind: z.literal("too-many"),
    scope: z.enum(["person", "channel"]),
    limit: z.number(),
    againAtMs: z.number(),
  }),
]) satisfies z.ZodType<Refusal>;

const WhisperPayload = z.object({
  teamId: z.string(),
  channelId: z.string(),
  threadTs: z.string().nullable(),
  userId: z.string(),
  message: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("help") }),
    z.object({ kind: z.literal("refused"), refusal: RefusalPayload }),
  ]),
});
type WhisperPayload = z.infer<typeof WhisperPayload>;

/** Answers a mention privately; `cause` is derived from what Slack sent. */
export function whisperTask(cause: string, payload: WhisperPayload): NewTask {
  const { teamId, channelId } = payload;
  return { id: `whisper:${cause}`, type: "whisper", lane: `channel:${teamId}:${channelId}`, payload };
}

/** Shows a person alone what they can ask for, or what was wrong with what they asked. */
export async function whisper(deps: TaskDeps, task: Task): Promise<TaskResult> {
  const { userId, message, ...place } = WhisperPayload.parse(task.payload);
  const answer = await deps.notifier.replyPrivately({ place, userId, responseUrl: null }, message);
  if (!answer.ok) return deliveryResult(deps, task, answer.fault);
  return { kind: "done", laneGapMs: LANE_GAP_MS };
}
