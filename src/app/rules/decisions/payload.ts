import { z } from "zod";
import { ThreadPosition } from "../thread/messages-to-share.ts";
import { storedObject } from "../../../shared/contract/reading.ts";
import type { Task } from "../../../shared/queue/task-queue.ts";
import type { Turn } from "../turn/turn.ts";
import { DocsAgentError } from "../../../shared/errors.ts";

/** Thrown when a task's payload doesn't fit its handler. Repeating doesn't help. */
export class PayloadInvalidError extends DocsAgentError {
  readonly code = "payload_invalid";
}

/** A task with its parsed payload. */
export type TaskWith<T> = Task & { payload: T };

/** Parses a task's payload. Throws a {@link PayloadInvalidError}. */
export function readTask<T>(schema: z.ZodType<T>, task: Task): TaskWith<T> {
  const parsed = schema.safeParse(task.payload);
  if (parsed.success) return { ...task, payload: parsed.data };
  const where = parsed.error.issues.map(({ path, code }) => `${path.join(".") || "payload"}: ${code}`);
  throw new PayloadInvalidError(`The payload of a task ${task.type} cannot be read: ${where.join(", ")}.`, {
    cause: parsed.error,
  });
}

/**
 * The person a task is for. Every task carries it, so that the person can be told even if all other
 * records are lost.
 */
export const TaskOwner = storedObject({
  teamId: z.string(),
  userId: z.string(),
  channelId: z.string(),
  responseUrl: z.string().nullable(),
});
export type TaskOwner = z.infer<typeof TaskOwner>;

/**
 * The times at Slack that are reserved for a task, as `ReservedTime.reservedMs`: for its action,
 * and for searching for an earlier post. Tasks are stored with these names.
 */
export const RateLimited = storedObject({ slotMs: z.number().optional(), lookMs: z.number().optional() });
export type RateLimitedTask = TaskWith<z.infer<typeof RateLimited>>;

/** The payload of a task that works on one turn. `thread` and `jobId` are for the log. */
export const TurnPayload = RateLimited.extend({
  turnId: z.string(),
  thread: z.string().nullable(),
  jobId: z.string().nullable(),
  whose: TaskOwner,
  /** Where to continue a thread that was only read in part. */
  threadLook: ThreadPosition.optional(),
  /** Since when the request waits for files that Slack doesn't give yet, and their ids. */
  awaitedFiles: storedObject({ sinceMs: z.number(), ids: z.array(z.string()) }).optional(),
});
export type TurnPayload = z.infer<typeof TurnPayload>;

export function turnPayload({ request, delivery, job, id }: Turn): TurnPayload {
  const { teamId, userId, responseUrl } = request;
  const { channelId, threadTs } = delivery;
  return {
    turnId: id,
    thread: threadTs === null ? null : `${channelId}:${threadTs}`,
    jobId: job?.id ?? null,
    whose: { teamId, userId, channelId: request.channelId, responseUrl },
  };
}
