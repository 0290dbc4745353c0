import { z } from "zod";
import { Delivery } from "../turn/delivery.ts";
import { ProjectRef } from "../job/project.ts";
import { QuotedMessage, Request, ThreadContext } from "../turn/request.ts";
import { storedObject } from "./stored-object.ts";
import { Turn } from "../turn/turn.ts";

/**
 * Records of one kind, by id. A record that does not parse is set aside and reads as absent. What
 * depends on what is there is decided (`TaskQueue.commit`).
 */
export interface RecordStore<T> {
  get(id: string): Promise<T | undefined>;
  /**
   * Durable when it resolves. Rejects, and writes nothing, if the record does not parse. `ttlMs`:
   * it is gone after that.
   */
  set(id: string, record: T, ttlMs?: number): Promise<void>;
  delete(id: string): Promise<void>;
}

/**
 * A job we know of: where it is, where it reports, and what its turns have left. Written before
 * anyone is told about the job. It doesn't grow with the turns that have ended.
 */
export const JobRecord = storedObject({
  version: z.literal(2),
  /** At its job service. */
  id: z.string(),
  project: ProjectRef,
  /** The thread it reports into; null until its first status message is there. */
  thread: storedObject({ teamId: z.string(), channelId: z.string(), ts: z.string() }).nullable(),
  /** Its turns that have not ended, oldest first. */
  openTurnIds: z.array(z.string()),
  /**
   * The newest pull request that a turn has left, as the service gave its address, and the first
   * turn that left it. Absent: none has.
   */
  pullRequest: storedObject({ url: z.string(), turnId: z.string() }).optional(),
  /** Epoch milliseconds. */
  createdAt: z.number(),
});
export type JobRecord = z.infer<typeof JobRecord>;

/** The most turns that a thread's record names. */
export const THREAD_TURNS_MAX = 100;

/** What reports into one thread. */
export const ThreadRecord = storedObject({
  version: z.literal(2),
  teamId: z.string(),
  channelId: z.string(),
  ts: z.string(),
  /** The newest of its turns, oldest first, also those that have no job yet. */
  turnIds: z.array(z.string()),
  /** Who isn't to be mentioned in it. Absent: nobody said so. */
  muted: z.array(z.string()).optional(),
});
export type ThreadRecord = z.infer<typeof ThreadRecord>;

export function threadId(thread: { teamId: string; channelId: string; ts: string }): string {
  return `${thread.teamId}:${thread.channelId}:${thread.ts}`;
}

/** The id of the thread that something belongs in; null: in none. */
export function threadIdOf({
  teamId,
  channelId,
  threadTs,
}: Pick<Request, "teamId" | "channelId" | "threadTs">): string | null {
  return threadTs === null ? null : threadId({ teamId, channelId, ts: threadTs });
}

/**
 * What a form was opened from, kept while the form is open: a form's own `private_metadata` ends at
 * 3,000 characters, and a message can be longer.
 */
export const Draft = storedObject({
  version: z.literal(1),
  from: z.enum(["command", "shortcut"]),
  teamId: z.string(),
  channelId: z.string(),
  threadTs: z.string().nullable(),
  quoted: QuotedMessage.nullable(),
  /** What else of its thread the form lists. */
  context: ThreadContext.optional(),
  /** The default project's service takes files; absent: it has not said. */
  takesFiles: z.boolean().optional(),
  /**
   * The services of all projects take the person's words apart from the rest, and publish nothing
   * else. Absent: one hasn't said so.
   */
  quotesWordsOnly: z.boolean().optional(),
  /** Its thread has yet to be read. */
  isThreadUnread: z.boolean().optional(),
  responseUrl: z.string().nullable(),
});
export type Draft = z.infer<typeof Draft>;

/**
 * A message whose author was asked what to do with it, and the request that it is if they send it.
 */
const ReplyRecord = storedObject({
  version: z.literal(1),
  request: Request,
  /**
   * The running turn of somebody else who asked for the same. Absent: it is a reply in a thread,
   * and may not be for the agent.
   */
  sameAs: storedObject({ turnId: z.string() }).optional(),
});

/**
 * The newest turn that was asked for in the same words, by a hash of these and of where they were
 * said.
 */
const AskedRecord = storedObject({ version: z.literal(1), turnId: z.string() });

/** What a job service has said of itself, by its base URL. */
export const ServiceRecord = storedObject({
  version: z.literal(1),
  /** The same create may be sent again under the same key: the job is made once. */
  honorsIdempotencyKeys: z.boolean(),
  /**
   * What its newest answer to a create or a message announced (`Capability`). Absent: it has taken
   * none yet.
   */
  capabilities: z.array(z.string()).optional(),
});
export type ServiceRecord = z.infer<typeof ServiceRecord>;

/**
 * What a task has posted to a person that belongs to no turn (`tell`, `welcome`), by that task's
 * id.
 */
const NoticeRecord = storedObject({ version: z.literal(1), delivery: Delivery });

/**
 * The messages of a thread that somebody chose not to share, by their `ts`. It holds no words, and
 * is kept for good.
 */
const WithheldRecord = storedObject({ version: z.literal(1), messages: z.array(z.string()) });

/** Every kind of record, under the name that its keys begin with. */
export const recordSchemas = {
  turn: Turn,
  job: JobRecord,
  thread: ThreadRecord,
  draft: Draft,
  reply: ReplyRecord,
  service: ServiceRecord,
  notice: NoticeRecord,
  withheld: WithheldRecord,
  asked: AskedRecord,
};
export type RecordKind = keyof typeof recordSchemas;
export type RecordOf<K extends RecordKind> = z.infer<(typeof recordSchemas)[K]>;

/** Reads a record as it is at the moment of a decision; undefined: there is none that parses. */
export type Read = <K extends RecordKind>(kind: K, id: string) => RecordOf<K> | undefined;

/** The records as they are once these writes are carried out, by {@link keyOfWrite}. */
export function readAfter(read: Read, writes: ReadonlyMap<string, Write>): Read {
  return (kind, id) => {
    const write = writes.get(keyOfWrite({ kind, id }));
    return write !== undefined && isOfKind(write, kind) ? (write.record ?? undefined) : read(kind, id);
  };
}

export function keyOfWrite({ kind, id }: Pick<Write, "kind" | "id">): string {
  return `${kind} ${id}`;
}

function isOfKind<K extends RecordKind>(write: Write, kind: K): write is Write & WriteOf<K> {
  return write.kind === kind;
}

/**
 * A record to write; null removes it. `ttlMs`: how long it is kept from now on; absent: for good.
 */
export type WriteOf<K extends RecordKind> = {
  [P in K]: { kind: P; id: string; record: RecordOf<P> | null; ttlMs?: number };
}[K];
export type Write = WriteOf<RecordKind>;
