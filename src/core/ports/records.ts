import { z } from "zod";
import { ProjectRef } from "../job/project.ts";
import { Delivery } from "../turn/delivery.ts";
import { type MessageRef, type Place, QuotedMessage, Request, ThreadContext } from "../turn/request.ts";
import { Turn } from "../turn/turn.ts";
import { storedObject } from "./reading.ts";

/**
 * Records of one kind, by id. A record that can't be parsed is set aside and reads as absent.
 * Decisions that depend on a record's current state belong in `TaskQueue.commit`.
 */
export interface RecordStore<T> {
  get(id: string): Promise<T | undefined>;
  /**
   * Durable when it resolves. Rejects and writes nothing if the record doesn't fit its schema. The
   * record is gone after `ttlMs`.
   */
  set(id: string, record: T, ttlMs?: number): Promise<void>;
  delete(id: string): Promise<void>;
}

/**
 * A known job: where it runs, where it reports, and what its turns have left. It is written before
 * anyone is told about the job. It doesn't grow with ended turns.
 */
export const JobRecord = storedObject({
  version: z.literal(2),
  /** Its id at the job service. */
  id: z.string(),
  project: ProjectRef,
  /** The thread it reports to. Null until its first status message is posted. */
  thread: storedObject({ teamId: z.string(), channelId: z.string(), ts: z.string() }).nullable(),
  /** Its unfinished turns, oldest first. */
  openTurnIds: z.array(z.string()),
  /** The turn that the job was sent last. Absent if an older version sent it. */
  newestTurnId: z.string().optional(),
  /**
   * The newest pull request that a turn left, at the address the service gave, and the first turn
   * that left it.
   */
  pullRequest: storedObject({ url: z.string(), turnId: z.string() }).optional(),
  /** Epoch milliseconds. */
  createdAt: z.number(),
});
export type JobRecord = z.infer<typeof JobRecord>;

/** The most turns that a thread's record names. */
export const THREAD_TURNS_MAX = 100;

/** The turns that report to one thread. */
export const ThreadRecord = storedObject({
  version: z.literal(2),
  teamId: z.string(),
  channelId: z.string(),
  ts: z.string(),
  /** Its newest turns, oldest first, including those without a job yet. */
  turnIds: z.array(z.string()),
  /** The people not to mention in this thread. */
  muted: z.array(z.string()).optional(),
  /**
   * How long a turn's pull request may need it, epoch milliseconds. Absent if none is followed.
   */
  keepUntil: z.number().optional(),
});
export type ThreadRecord = z.infer<typeof ThreadRecord>;

export function threadId(thread: MessageRef): string {
  return `${thread.teamId}:${thread.channelId}:${thread.ts}`;
}

/** The id of the thread that something belongs in, or null if it belongs in none. */
export function threadIdOf({ teamId, channelId, threadTs }: Place): string | null {
  return threadTs === null ? null : threadId({ teamId, channelId, ts: threadTs });
}

/**
 * What a form was opened from. It is kept while the form is open, because a form's own
 * `private_metadata` ends at 3,000 characters and a message can be longer.
 */
export const Draft = storedObject({
  version: z.literal(1),
  from: z.enum(["command", "shortcut"]),
  teamId: z.string(),
  channelId: z.string(),
  threadTs: z.string().nullable(),
  quoted: QuotedMessage.nullable(),
  /** Other messages of the thread that the form lists. */
  context: ThreadContext.optional(),
  /** True if the default project's service accepts files. Absent if it hasn't said so. */
  takesFiles: z.boolean().optional(),
  /**
   * True if all projects' services keep the person's words apart and publish nothing else. Absent
   * if one hasn't said so.
   */
  quotesWordsOnly: z.boolean().optional(),
  /** True if its thread hasn't been read yet. */
  isThreadUnread: z.boolean().optional(),
  responseUrl: z.string().nullable(),
});
export type Draft = z.infer<typeof Draft>;

/** A question of a turn, by its number. */
const AskedQuestion = storedObject({ turnId: z.string(), question: z.number().int() });
export type AskedQuestion = z.infer<typeof AskedQuestion>;

/**
 * A message whose author was asked what to do with it, and the request that it becomes if they send
 * it.
 */
const ReplyRecord = storedObject({
  version: z.literal(1),
  request: Request,
  /**
   * Another person's running turn with the same request. Absent if this is a reply in a thread that
   * may not be for the agent.
   */
  sameAs: storedObject({ turnId: z.string() }).optional(),
  /** The open question that this direct message may answer. */
  answers: AskedQuestion.optional(),
});

/** The newest turn that was requested in the same words, by a hash of the words and the place. */
const AskedRecord = storedObject({ version: z.literal(1), turnId: z.string() });

/** What a job service has announced about itself, by its base URL. */
export const ServiceRecord = storedObject({
  version: z.literal(1),
  /** True if the same create may be sent again under the same key without making a second job. */
  honorsIdempotencyKeys: z.boolean(),
  /**
   * What its newest answer to a create or a message announced (`Capability`). Absent if it hasn't
   * accepted one yet.
   */
  capabilities: z.array(z.string()).optional(),
});
export type ServiceRecord = z.infer<typeof ServiceRecord>;

/**
 * What a task that belongs to no turn (`tell`, `welcome`) has posted to a person, by that task's
 * id.
 */
const NoticeRecord = storedObject({ version: z.literal(1), delivery: Delivery });

/**
 * The `ts` of messages in a thread that somebody chose not to share. It holds no words and is kept
 * for good.
 */
const WithheldRecord = storedObject({ version: z.literal(1), messages: z.array(z.string()) });

/**
 * How far a project's feed has been read, by `projectKey`. It tells what changes while it was heard
 * lately and has no faults.
 */
export const FeedRecord = storedObject({
  version: z.literal(1),
  /** Null before it has begun, or if the service doesn't know it any more. */
  cursor: z.string().nullable(),
  /** When it answered last, epoch milliseconds. */
  heardAt: z.number(),
  /** Faults since it was last asked with a cursor and answered. */
  faults: z.number().int(),
  /** How often in a row it answered at once and told nothing new. */
  quick: z.number().int().default(0),
});
export type FeedRecord = z.infer<typeof FeedRecord>;

/** Every kind of record. Its name here begins its keys in the store. */
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
  feed: FeedRecord,
};
export type RecordKind = keyof typeof recordSchemas;
export type RecordOf<K extends RecordKind> = z.infer<(typeof recordSchemas)[K]>;

/**
 * Reads a record's current state during a decision. Undefined if there is none, or it can't be
 * parsed.
 */
export type Read = <K extends RecordKind>(kind: K, id: string) => RecordOf<K> | undefined;

/** Reads records as they will be after these writes, by {@link keyOfWrite}. */
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
 * A record to write, or null to remove it. `ttlMs` is how long to keep it from now on; absent means
 * for good.
 */
export type WriteOf<K extends RecordKind> = {
  [P in K]: { kind: P; id: string; record: RecordOf<P> | null; ttlMs?: number };
}[K];
export type Write = WriteOf<RecordKind>;

/** A time of one's own at a gate. */
export type Slot = {
  /** When it comes, epoch milliseconds by this machine's clock. */
  at: number;
  /**
   * When it comes by the clock that all replicas share. A task keeps this and gives it back,
   * because another replica, whose clock may be minutes away, may go on with the task.
   */
  slotMs: number;
};

/**
 * Hands out rate slots: each caller gets a time of its own at once, first come, first served. They
 * keep the rates that Slack and job services allow.
 */
export interface Slots {
  /**
   * Takes the gate's next free slot. That is now if the gate is free. `burst` is how many slots an
   * idle gate gives at once. `heldMs` is the `slotMs` of a slot reserved before: it is still good
   * unless the gate was postponed past it or its time passed seconds ago. Without a burst, slots
   * that are used late still keep the gap: if several come late together, all but the first get a
   * slightly later time.
   */
  reserve(gate: string, rate: { gapMs: number; burst?: number }, heldMs?: number): Promise<Slot>;
  /**
   * Takes a slot for now if the gate is idle: its burst is all saved up, none was used within the
   * gap, and it isn't postponed. Otherwise takes none and returns null. So optional calls never
   * delay others by more than one gap.
   */
  takeIfIdle(gate: string, rate: { gapMs: number }): Promise<Slot | null>;
  /** Makes the gate's slots good only from `untilMs` on. */
  postpone(gate: string, untilMs: number): Promise<void>;
  /**
   * When the gate's slots are good again, epoch milliseconds. That is now unless the gate was
   * postponed. Takes none.
   */
  openAt(gate: string): Promise<number>;
}
