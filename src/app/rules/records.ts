import { z } from "zod";
import { ProjectRef } from "./project.ts";
import { Delivery } from "./turn/delivery.ts";
import { type MessageRef, type Place, QuotedMessage, Request, ThreadContext } from "./turn/request.ts";
import { Turn } from "./turn/turn.ts";
import { SessionStatus } from "./thread/session.ts";
import { type Level, levelOfService } from "../../shared/contract/level.ts";
import type { ReadOf, WriteOf } from "../../shared/store/record-types.ts";
import { storedObject } from "../../shared/contract/reading.ts";
import type {
  DecisionOf,
  PlanOf,
  StepOf,
  TaskHandlerOf,
  TaskQueue,
  TaskRunOf,
} from "../../shared/queue/task-queue.ts";

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
  /**
   * The status that its session was given last, and when (epoch milliseconds). Absent if it has
   * none, or if somebody pressed Slack's own Stop since.
   */
  session: storedObject({ status: SessionStatus, at: z.number() }).optional(),
  /** The newest presses of Slack's own Stop, by `event_ts`, oldest first. */
  stops: z.array(z.string()).optional(),
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
  /**
   * True if the service of the project that the form began with accepts files. Absent if it hasn't
   * said so, or the form began with none.
   */
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
   * The turn of a request for the same, which runs or whose pull request is open. Absent if this is
   * a reply in a thread that may not be for the agent.
   */
  sameAs: storedObject({ turnId: z.string(), mayAdd: z.boolean().optional() }).optional(),
  /** True if their author was asked which project this is for. */
  asksProject: z.literal(true).optional(),
  /** The open question that this direct message may answer. */
  answers: AskedQuestion.optional(),
});

/**
 * The newest turn for the same words or the same message, by a hash of them. `earlier` are others,
 * newest first, that ran or had an open pull request then.
 */
const AskedRecord = storedObject({
  version: z.literal(1),
  turnId: z.string(),
  earlier: z.array(z.string()).optional(),
});

/** What a job service has announced about itself, by its base URL. */
export const ServiceRecord = storedObject({
  version: z.literal(1),
  /** True if the same create may be sent again under the same key without making a second job. */
  honorsIdempotencyKeys: z.boolean(),
  /**
   * What it speaks by its newest answer to a create or a message, as a service says so. Absent if
   * it hasn't accepted one yet. Read it with {@link knownLevel}.
   */
  capabilities: z.array(z.string()).optional(),
});
export type ServiceRecord = z.infer<typeof ServiceRecord>;

/** What a service speaks, as far as it is known. Undefined if it hasn't accepted anything yet. */
export function knownLevel(service: ServiceRecord | undefined): Level | undefined {
  return service?.capabilities === undefined ? undefined : levelOfService(service.capabilities);
}

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
  /** How often in a row it answered at once with nothing new. */
  quick: z.number().int().default(0),
  /** How many pull requests of the project wait for a review, if they are too many. */
  waitingReviews: storedObject({
    count: z.number().int(),
    /** Epoch milliseconds. */
    since: z.number(),
    reviewers: z.array(z.string()),
  })
    .nullable()
    .default(null),
});
export type FeedRecord = z.infer<typeof FeedRecord>;

/**
 * Something of a forgotten person that Slack may send again, such as a request, by a hash of its
 * id.
 */
const ForgottenRecord = storedObject({ version: z.literal(1) });

/** What a person has chosen for their requests to come, by {@link personId}. */
const PersonRecord = storedObject({ version: z.literal(1), project: ProjectRef.optional() });

/** How long a person's choices are kept after the newest one. */
export const PERSON_KEPT_MS = 400 * 24 * 60 * 60_000;

export function personId({ teamId, userId }: Pick<Request, "teamId" | "userId">): string {
  return `${teamId}:${userId}`;
}

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
  forgotten: ForgottenRecord,
  person: PersonRecord,
};
export type AppRecords = { [K in keyof typeof recordSchemas]: z.infer<(typeof recordSchemas)[K]> };

export type Read = ReadOf<AppRecords>;
export type Write = WriteOf<AppRecords>;
export type Plan<T> = PlanOf<AppRecords, T>;
export type Decision<T> = DecisionOf<AppRecords, T>;
export type Step = StepOf<AppRecords>;
export type TaskRun = TaskRunOf<AppRecords>;
export type TaskHandler = TaskHandlerOf<AppRecords>;
export type AppQueue = TaskQueue<AppRecords>;

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

function isOfKind<K extends keyof AppRecords>(
  write: Write,
  kind: K,
): write is Write & WriteOf<AppRecords, K> {
  return write.kind === kind;
}
