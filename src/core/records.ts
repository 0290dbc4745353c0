import { z } from "zod";

/** Records of one kind, by id. A record that does not parse is set aside and reads as absent. */
export interface RecordStore<T> {
  get(id: string): Promise<T | undefined>;
  /** Durable when it resolves. Rejects, and writes nothing, if the record does not parse. `ttlMs`: it is gone after that. */
  set(id: string, record: T, ttlMs?: number): Promise<void>;
  delete(id: string): Promise<void>;
}

/** A job we know of, by its id at the job service. Written before anyone is told about the job. */
export const JobRecord = z.object({
  version: z.literal(1),
  id: z.string(),
  project: z.string(),
  turnIds: z.array(z.string()),
  /** Epoch milliseconds. */
  createdAt: z.number(),
});
export type JobRecord = z.infer<typeof JobRecord>;

/** The jobs that report into one thread, oldest first. Written only in the lane of the thread's channel. */
export const ThreadRecord = z.object({
  version: z.literal(1),
  teamId: z.string(),
  channelId: z.string(),
  ts: z.string(),
  jobIds: z.array(z.string()),
});
export type ThreadRecord = z.infer<typeof ThreadRecord>;

export function threadId(thread: { teamId: string; channelId: string; ts: string }): string {
  return `${thread.teamId}:${thread.channelId}:${thread.ts}`;
}

/**
 * One post of a turn. `intentAt` without `ts`: it was about to be sent, and whether it arrived is for Slack to say.
 */
export const PostSlot = z.object({
  channelId: z.string(),
  ts: z.string().nullable(),
  intentAt: z.number().nullable(),
});
export type PostSlot = z.infer<typeof PostSlot>;

/** The slot of the status message: the root message, or the first reply, that is updated in place. */
export const STATUS_SLOT = "status";

/** Where a turn reports and what it has posted there. Written only by tasks in the lane of the request's channel. */
export const Posts = z.object({
  version: z.literal(1),
  turnId: z.string(),
  place: z.object({ channelId: z.string(), threadTs: z.string().nullable() }),
  /** Why it reports in a direct message instead of where it was asked: Slack's error code; null: it does not. */
  away: z.string().nullable(),
  /** By name: `status`, `outcome-1`, … */
  slots: z.record(z.string(), PostSlot),
  /** The state that the status message shows. */
  shown: z.string().nullable(),
});
export type Posts = z.infer<typeof Posts>;
