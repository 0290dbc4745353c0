import { z } from "zod";
import { ProjectRef } from "../job/project.ts";
import { storedObject } from "../ports/stored-object.ts";

/**
 * The most characters a person may type as one request (UTF-16 units, as Slack counts). Slack's own
 * modal field ends at 3,000; a slash command can be longer.
 */
export const PROMPT_MAX_CHARS = 4000;

/**
 * What the form of the shortcut suggests to ask: it says nothing without the message that it is
 * about.
 */
export const DEFAULT_INSTRUCTIONS = "Fix the problem this message describes.";

/** A piece of a Slack message, taken apart so that nothing of it is ever read as markup again. */
export const Segment = z.discriminatedUnion("kind", [
  storedObject({ kind: z.literal("text"), text: z.string() }),
  storedObject({ kind: z.literal("person"), id: z.string(), label: z.string().nullable() }),
  storedObject({ kind: z.literal("channel"), id: z.string(), label: z.string().nullable() }),
  storedObject({ kind: z.literal("link"), url: z.string(), label: z.string().nullable() }),
  storedObject({ kind: z.literal("group"), label: z.string() }),
]);
export type Segment = z.infer<typeof Segment>;

/** A file of a message, as Slack tells of it. */
export const SharedFile = storedObject({
  id: z.string(),
  name: z.string(),
  mediaType: z.string(),
  /** Bytes. */
  size: z.number(),
  /** Where to download it; null: nowhere. */
  url: z.string().nullable(),
});
export type SharedFile = z.infer<typeof SharedFile>;

/** A message that another one shows, because somebody forwarded it or pasted its link. */
const ShownMessage = storedObject({
  ts: z.string(),
  authorId: z.string().nullable(),
  segments: z.array(Segment),
});
export type ShownMessage = z.infer<typeof ShownMessage>;

/**
 * A message of the thread that a request was made in. It leaves Slack as quoted material, never as
 * an instruction.
 */
export const ThreadMessage = storedObject({
  segments: z.array(Segment),
  /** Who wrote it: a user id, or null for an app's message. */
  authorId: z.string().nullable(),
  /** The name to use where there is no user id. */
  authorName: z.string().nullable(),
  ts: z.string(),
  /** It is one of our own: how an earlier request ended. */
  isOwn: z.boolean().optional(),
  files: z.array(SharedFile).optional(),
  /** Absent: it shows none. */
  shows: z.array(ShownMessage).optional(),
});
export type ThreadMessage = z.infer<typeof ThreadMessage>;

/** The message that a request points at. */
export const QuotedMessage = ThreadMessage.extend({
  channelId: z.string(),
  threadTs: z.string().nullable(),
});
export type QuotedMessage = z.infer<typeof QuotedMessage>;

/**
 * What of its thread goes along with a request: read or picked once, so that however often it is
 * sent, the words are the same.
 */
export const ThreadContext = storedObject({
  /** Oldest first; the thread's first message leads where it is among them. */
  messages: z.array(ThreadMessage),
  /** How many others there are that were too many. */
  leftOut: z.number().int(),
  /** There are still earlier ones that nobody has counted. */
  hasEarlier: z.boolean().optional(),
  /**
   * The newest message that was looked at. Absent: Slack did not let the thread be read, and
   * nothing of it goes along.
   */
  upTo: z.string().optional(),
  /** How many more are left out because guests wrote them, or people of other organizations. */
  ofGuests: z.number().int().optional(),
  /** Slack stopped before the newest ones. */
  isCutShort: z.boolean().optional(),
  /** Messages that a person chose not to share: no later request takes them along. */
  withheld: z.array(z.string()).optional(),
});
export type ThreadContext = z.infer<typeof ThreadContext>;

/** What a person asked for in Slack: prompt, context, who, where from. */
export const Request = storedObject({
  /**
   * Derived from what Slack sent, so that a redelivery has the same id. Also the id of the turn.
   */
  id: z.string().min(1),
  from: z.enum(["command", "shortcut", "mention", "try-again"]),
  teamId: z.string(),
  channelId: z.string(),
  /** The thread it belongs in; null: it gets a root message of its own. */
  threadTs: z.string().nullable(),
  userId: z.string(),
  project: ProjectRef,
  /** What the person typed, decoded, as they typed it. */
  instructions: z.string(),
  /**
   * Slack has said, or the operator, that this person may use the app. Absent: that has to be known
   * before anything of it leaves Slack.
   */
  isAdmitted: z.boolean().optional(),
  quoted: QuotedMessage.nullable(),
  /** The message that asked, in the request's channel. Absent: no message did. */
  messageTs: z.string().optional(),
  /** Of that message. */
  files: z.array(SharedFile).optional(),
  /** Absent: nothing of a thread goes along, or it has not been read yet. */
  context: ThreadContext.optional(),
  /** A follow-up: an earlier turn, whose job it is for. Absent: it gets a job of its own. */
  follows: storedObject({ turnId: z.string() }).optional(),
  /** It tries that turn again. Absent: it doesn't. */
  retries: storedObject({ turnId: z.string() }).optional(),
  /** Where Slack takes private answers for 30 minutes; null where there is none. */
  responseUrl: z.string().nullable(),
  /** Epoch milliseconds. */
  receivedAt: z.number(),
});
export type Request = z.infer<typeof Request>;
