import { z } from "zod";
import { ProjectRef } from "../project.ts";
import { storedObject } from "../../../shared/contract/reading.ts";
import { TurnAct } from "../../../shared/contract/turn.ts";

/**
 * The most characters a person may type as one request (UTF-16 units, as Slack counts). Slack's own
 * modal field ends at 3,000; a slash command can be longer.
 */
export const PROMPT_MAX_CHARS = 4000;

/**
 * The text that the shortcut's form suggests. It only makes sense together with the quoted message.
 */
export const DEFAULT_INSTRUCTIONS = "Fix the problem this message describes.";

/** The same where the app only answers. */
const DEFAULT_QUESTION = "Answer what this message asks.";

/** The words of a request whose person typed none. */
export function defaultWords(isAskOnly: boolean): string {
  return isAskOnly ? DEFAULT_QUESTION : DEFAULT_INSTRUCTIONS;
}

/** True if a request has the words that the form suggests, and nobody typed any. */
export function isUntyped({ instructions }: Pick<Request, "instructions">): boolean {
  return instructions === DEFAULT_INSTRUCTIONS || instructions === DEFAULT_QUESTION;
}

/** A piece of a Slack message, taken apart so that none of it is ever read as markup again. */
export const Segment = z.discriminatedUnion("kind", [
  storedObject({ kind: z.literal("text"), text: z.string() }),
  storedObject({ kind: z.literal("person"), id: z.string(), label: z.string().nullable() }),
  storedObject({ kind: z.literal("channel"), id: z.string(), label: z.string().nullable() }),
  storedObject({ kind: z.literal("link"), url: z.string(), label: z.string().nullable() }),
  storedObject({ kind: z.literal("group"), id: z.string().optional(), label: z.string() }),
]);
export type Segment = z.infer<typeof Segment>;

/** Stands in for the name of a file for which Slack gave none. */
export const UNNAMED_FILE = "a file";

/** A file of a message as Slack describes it. */
export const SharedFile = storedObject({
  id: z.string(),
  name: z.string(),
  mediaType: z.string(),
  /** Size in bytes. */
  size: z.number(),
  /** Download address, or null if Slack gives none. */
  url: z.string().nullable(),
  /** True if Slack has yet to say the rest: a file may be there by its id alone. */
  isPartial: z.literal(true).optional(),
});
export type SharedFile = z.infer<typeof SharedFile>;

/**
 * Parts of a message that couldn't be put into words. `what` is a noun in the singular, such as
 * "image" or "table row".
 */
export const LeftOutPart = storedObject({ what: z.string(), count: z.number().int() });
export type LeftOutPart = z.infer<typeof LeftOutPart>;

/**
 * A message that another one shows because somebody forwarded it or pasted its link, or a file in
 * it that somebody else uploaded.
 */
const ShownMessage = storedObject({
  ts: z.string(),
  /** Of a file, who uploaded it. */
  authorId: z.string().nullable(),
  /** The author's name as Slack gives it, for messages without a user id. */
  authorName: z.string().nullable().optional(),
  segments: z.array(Segment),
  /** True for a file that somebody else uploaded than the author of the message it stands in. */
  isFile: z.literal(true).optional(),
  files: z.array(SharedFile).optional(),
  leftOut: z.array(LeftOutPart).optional(),
  /** True if some of its words aren't its author's, such as a link's preview or an email. */
  quotesOthers: z.boolean().optional(),
  /** The messages that it stands in or repeats. If one of them is left out, so is this one. */
  within: z.array(storedObject({ ts: z.string(), authorId: z.string().nullable() })).optional(),
});
export type ShownMessage = z.infer<typeof ShownMessage>;

/**
 * A message of the thread that a request was made in. It leaves Slack as quoted material, never as
 * an instruction.
 */
export const ThreadMessage = storedObject({
  segments: z.array(Segment),
  /** The author's user id, or null for an app's message. */
  authorId: z.string().nullable(),
  /** The author's name, for messages without a user id. */
  authorName: z.string().nullable(),
  ts: z.string(),
  /** True for our own messages that say how an earlier request ended. */
  isOwn: z.boolean().optional(),
  files: z.array(SharedFile).optional(),
  shows: z.array(ShownMessage).optional(),
  /** Of the message itself. Each message it shows has its own. */
  leftOut: z.array(LeftOutPart).optional(),
  /** True if some of its own words aren't its author's, such as a link's preview or an email. */
  quotesOthers: z.boolean().optional(),
});
export type ThreadMessage = z.infer<typeof ThreadMessage>;

/** The message that a request points at. */
export const QuotedMessage = ThreadMessage.extend({ channelId: z.string(), threadTs: z.string().nullable() });
export type QuotedMessage = z.infer<typeof QuotedMessage>;

/**
 * The part of its thread that goes along with a request. It is read or picked once, so the words
 * stay the same however often the request is sent.
 */
export const ThreadContext = storedObject({
  /** Oldest first, beginning with the thread's first message if it is included. */
  messages: z.array(ThreadMessage),
  /** The number of messages left out because there were too many. */
  leftOut: z.number().int(),
  /** True if there are still earlier messages, which nobody has counted. */
  hasEarlier: z.boolean().optional(),
  /**
   * The `ts` of the newest message that was read. Absent if Slack didn't let us read the thread, so
   * that nothing of it goes along.
   */
  upTo: z.string().optional(),
  /** The number of messages left out because guests or people of other organizations wrote them. */
  ofGuests: z.number().int().optional(),
  /** True if Slack stopped before the newest messages. */
  isCutShort: z.boolean().optional(),
  /** The `ts` of messages that a person chose not to share. Later requests leave them out too. */
  withheld: z.array(z.string()).optional(),
});
export type ThreadContext = z.infer<typeof ThreadContext>;

/** A person's request in Slack: what they asked, its context, who they are and where they asked. */
export const Request = storedObject({
  /**
   * Derived from what Slack sent, so that a redelivery has the same id. It is also the turn's id.
   */
  id: z.string().min(1),
  from: z.enum(["command", "shortcut", "mention", "try-again"]),
  teamId: z.string(),
  channelId: z.string(),
  /** The thread it belongs in, or null if it gets a root message of its own. */
  threadTs: z.string().nullable(),
  userId: z.string(),
  project: ProjectRef,
  /** The person's own words, decoded. */
  instructions: z.string(),
  /**
   * True if Slack or the operator has confirmed that this person may use the app. Until then,
   * nothing of the request leaves Slack.
   */
  isAdmitted: z.boolean().optional(),
  quoted: QuotedMessage.nullable(),
  /** The message that asked, in the request's channel. Absent for commands and forms. */
  messageTs: z.string().optional(),
  /** The files of that message. */
  files: z.array(SharedFile).optional(),
  /**
   * What Slack shows of that message besides what its author typed: forwarded messages, link
   * previews, tables. It is quoted material. Absent if there is none.
   */
  beside: ThreadMessage.optional(),
  /** True if Slack didn't say whether that message has files. */
  mayHaveFiles: z.literal(true).optional(),
  /** Absent if nothing of a thread goes along, or it hasn't been read yet. */
  context: ThreadContext.optional(),
  /** The earlier turn whose job this follow-up is for. Absent if it gets a job of its own. */
  follows: storedObject({ turnId: z.string() }).optional(),
  /** What its turn does about its job's pull request. Absent for a request in words. */
  act: TurnAct.optional(),
  /**
   * True if its turn only answers, because the app changes nothing in its channel. It is then sent
   * as a question, or not at all.
   */
  changesNothing: z.literal(true).optional(),
  /**
   * The turn that this request tries again. `userId`: whose words those are, since that turn
   * expires first. Absent if an older version began it.
   */
  retries: storedObject({ turnId: z.string(), userId: z.string().optional() }).optional(),
  /** Slack's address for private answers, good for 30 minutes. Null if Slack gave none. */
  responseUrl: z.string().nullable(),
  /** Epoch milliseconds. */
  receivedAt: z.number(),
});
export type Request = z.infer<typeof Request>;

/** Where something is said: a channel of a team, or a thread in it. */
export type Place = Pick<Request, "teamId" | "channelId" | "threadTs">;

/** True if a message stands in a thread that it doesn't begin. */
export function isReply(threadTs: string | null | undefined, ts: string | undefined): threadTs is string {
  return typeof threadTs === "string" && threadTs !== ts;
}

/**
 * Where to answer a request's author alone: in a thread only if they asked in it. Nobody looks for
 * an answer in the thread of a message that stands in the channel.
 */
export function privatePlace(request: Request): Place {
  const { from, teamId, channelId, threadTs, messageTs, quoted } = request;
  const isInChannel = from !== "try-again" && (threadTs === messageTs || threadTs === quoted?.ts);
  return { teamId, channelId, threadTs: isInChannel ? null : threadTs };
}

/** A message, or the thread that it begins. */
export type MessageRef = { teamId: string; channelId: string; ts: string };
