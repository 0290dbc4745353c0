import { z } from "zod";
import type { Request } from "../core/request.ts";
import { ThreadLook } from "../core/shared.ts";
import { storedObject } from "../core/stored-object.ts";
import type { Task } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";
import { DocsAgentError } from "../errors.ts";

/** Thrown when a task's payload is not what its handler reads. Repeating changes nothing. */
export class PayloadInvalidError extends DocsAgentError {
  readonly code = "payload_invalid";
}

/** What a task carries. Throws a {@link PayloadInvalidError}. */
export function readPayload<T>(schema: z.ZodType<T>, task: Task): T {
  const parsed = schema.safeParse(task.payload);
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues.map(({ path, code }) => `${path.join(".") || "payload"}: ${code}`);
  throw new PayloadInvalidError(`The payload of a task ${task.type} cannot be read: ${where.join(", ")}.`, {
    cause: parsed.error,
  });
}

/** Whose task it is: carried by every task, so that the person can be told even when all other records are lost. */
export const Whose = storedObject({
  teamId: z.string(),
  userId: z.string(),
  channelId: z.string(),
  responseUrl: z.string().nullable(),
});
export type Whose = z.infer<typeof Whose>;

/** The payload of a task that works on one turn. `thread` and `jobId` are there for the log. */
export const TurnPayload = storedObject({
  turnId: z.string(),
  thread: z.string().nullable(),
  jobId: z.string().nullable(),
  whose: Whose,
  /** The slot at Slack that was reserved for the task, epoch milliseconds. */
  slotMs: z.number().optional(),
  /** As `slotMs`, for a look at what is there already. */
  lookMs: z.number().optional(),
  /** A thread was read in part: where to go on. */
  threadLook: ThreadLook.optional(),
});
export type TurnPayload = z.infer<typeof TurnPayload>;

export function turnPayload(turn: Turn): TurnPayload {
  const { channelId, threadTs } = turn.delivery;
  return {
    turnId: turn.id,
    thread: threadTs === null ? null : `${channelId}:${threadTs}`,
    jobId: turn.job?.id ?? null,
    whose: whoseOf(turn.request),
  };
}

function whoseOf(request: Request): Whose {
  return {
    teamId: request.teamId,
    userId: request.userId,
    channelId: request.channelId,
    responseUrl: request.responseUrl,
  };
}
