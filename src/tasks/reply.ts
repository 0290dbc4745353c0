import { z } from "zod";
import type { Refusal } from "../core/notifier.ts";
import { storedObject } from "../core/stored-object.ts";
import type { NewTask, Step, Task } from "../core/task-queue.ts";
import { answerPrivately } from "./answer-privately.ts";
import type { TaskDeps } from "./deps.ts";
import { readPayload } from "./payload.ts";

const RefusalPayload = z.discriminatedUnion("kind", [
  storedObject({ kind: z.literal("too-long"), length: z.number(), limit: z.number() }),
  storedObject({ kind: z.literal("unknown-project"), name: z.string(), known: z.array(z.string()) }),
  storedObject({
    kind: z.literal("too-many"),
    scope: z.enum(["person", "channel"]),
    limit: z.number(),
    againAtMs: z.number(),
  }),
  // An older replica gives these up, quietly.
  storedObject({ kind: z.literal("guest") }),
  storedObject({ kind: z.literal("unchecked") }),
  storedObject({ kind: z.literal("uncheckable") }),
]) satisfies z.ZodType<Refusal>;

const ReplyPayload = storedObject({
  teamId: z.string(),
  channelId: z.string(),
  threadTs: z.string().nullable(),
  userId: z.string(),
  message: z.discriminatedUnion("kind", [
    storedObject({ kind: z.literal("help"), isOfFiles: z.boolean().optional() }),
    storedObject({ kind: z.literal("refused"), refusal: RefusalPayload }),
    // An older replica gives this up, quietly, too.
    storedObject({ kind: z.literal("not-allowed"), requesterId: z.string() }),
  ]),
  slotMs: z.number().optional(),
  lookMs: z.number().optional(),
});
export type ReplyPayload = z.infer<typeof ReplyPayload>;

/** Answers a mention privately; `cause` is derived from what Slack sent. */
export function replyTask(cause: string, payload: ReplyPayload): NewTask {
  return { id: `reply:${cause}`, type: "reply", payload };
}

/** Shows a person alone what they can ask for, or what was wrong with what they asked. */
export async function reply(deps: TaskDeps, task: Task): Promise<Step> {
  const payload = readPayload(ReplyPayload, task);
  const { teamId, channelId, threadTs, userId, message } = payload;
  return answerPrivately(
    deps,
    { ...task, payload },
    { place: { teamId, channelId, threadTs }, userId, responseUrl: null },
    message,
  );
}
