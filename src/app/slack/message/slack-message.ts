import { z } from "zod";
import type {
  MessageRef,
  Segment,
  SharedFile,
  ShownMessage,
  ThreadMessage,
} from "../../rules/turn/request.ts";
import { messagesIn, readAttachments, readFilesOfOthers } from "./attachments.ts";
import { byUploader, filesIn, readCaptions, readFileWords } from "./message-files.ts";
import { givenText, readBesideText, readTextOrBlocks } from "./said.ts";
import { parseMessageText } from "./message-text.ts";
import { roomOfMessage, ShownWords } from "./shown-words.ts";

export const OptionalText = z.string().nullish();
const Parts = z.array(z.unknown()).nullish();

/**
 * The fields of a message that we use. Messages by apps may have words only in attachments, and
 * null fields.
 */
export const ReceivedMessage = z.object({
  ts: z.string(),
  thread_ts: OptionalText,
  subtype: OptionalText,
  text: OptionalText,
  user: OptionalText,
  username: OptionalText,
  bot_id: OptionalText,
  bot_profile: z.object({ name: OptionalText }).nullish(),
  attachments: Parts,
  blocks: Parts,
  files: Parts,
  /** Only on our own messages. */
  metadata: z.unknown().optional(),
});
export type ReceivedMessage = z.infer<typeof ReceivedMessage>;

/**
 * Subtypes of messages that people wrote. Others report, for example, that somebody joined.
 * https://docs.slack.dev/reference/events/message
 */
export const SaidSubtype = z.enum(["file_share", "thread_broadcast"]).nullish();

/** A new message by a person, as events describe it. Edits and messages by bots are excluded. */
export const WrittenMessage = z.object({
  type: z.string().optional(),
  bot_id: z.never().optional(),
  edited: z.never().optional(),
  channel: z.string(),
  user: z.string(),
  text: z.string().default(""),
  attachments: Parts.catch(null),
  blocks: Parts.catch(null),
  files: Parts,
  ts: z.string(),
  thread_ts: z.string().optional(),
});

/** A person's message that may be a request. */
export type PersonMessage = MessageRef & {
  /** Null if the message may itself be a thread's root. */
  threadTs: string | null;
  userId: string;
  /** What the person typed, with any mention of the app still in it. */
  typed: Segment[];
  files: SharedFile[];
  /** What Slack shows of the message besides that. Null if there is nothing else. */
  beside: ThreadMessage | null;
  /** True if that can be a request by itself. Files with captions can't. */
  isTelling: boolean;
  /** True if the event doesn't say whether the message has files. */
  mayHaveFiles: boolean;
};

/** Converts a message from an event. */
export function toPersonMessage(teamId: string, message: z.infer<typeof WrittenMessage>): PersonMessage {
  const { channel: channelId, user: userId, ts, thread_ts: threadTs = null } = message;
  return {
    teamId,
    channelId,
    ts,
    threadTs,
    userId,
    ...readPersonMessage(message),
    mayHaveFiles: message.type === "app_mention" && (message.files ?? null) === null,
  };
}

/** Reads a message that a person wrote. */
export function readPersonMessage(
  message: ShownFields & Pick<ReceivedMessage, "ts">,
): Pick<PersonMessage, "typed" | "files" | "beside" | "isTelling"> {
  const { typed, beside, files, isTelling } = readMessage(message);
  const { segments, shows, leftOut } = beside;
  const hasBeside = segments.length > 0 || shows !== undefined || leftOut !== undefined;
  const { ts, user: authorId = null } = message;
  const own = hasBeside ? { ts, authorId, authorName: null, ...beside } : null;
  return { typed, files, beside: own, isTelling };
}

/** The `files` of a message, left out if there are none. */
export function withFiles(files: SharedFile[]): { files?: SharedFile[] } {
  return files.length === 0 ? {} : { files };
}

/**
 * A message as it may go along. Callers must check who wrote it and the messages that it shows, and
 * whether these may be shared.
 */
export function threadMessage(message: ReceivedMessage): ThreadMessage {
  const { ts, user, username, bot_profile } = message;
  const { typed, beside, files } = readMessage(message);
  const gap: Segment[] =
    typed.length === 0 || beside.segments.length === 0 ? [] : [{ kind: "text", text: "\n" }];
  return {
    ts,
    ...beside,
    segments: [...typed, ...gap, ...beside.segments],
    authorId: user ?? null,
    authorName: username ?? bot_profile?.name ?? null,
    ...withFiles(files),
  };
}

/** The fields that hold what Slack shows of a message. */
type ShownFields = Partial<
  Pick<ReceivedMessage, "ts" | "text" | "user" | "bot_id" | "attachments" | "blocks" | "files">
>;

/** What Slack shows of a message besides its words and files. */
type Beside = Pick<ThreadMessage, "segments" | "shows" | "leftOut" | "quotesOthers">;

type ReadMessage = Pick<PersonMessage, "typed" | "files" | "isTelling"> & { beside: Beside };

/**
 * Reads everything that Slack shows of a message, within bounds. `typed` is its own text; an app's
 * is what its blocks show.
 */
function readMessage(message: ShownFields): ReadMessage {
  const room = roomOfMessage();
  const [blocks, attachments] = [message.blocks ?? [], message.attachments ?? []];
  const { own: files, others } = byUploader(message.files ?? [], message.user ?? null);
  const text = givenText(message.text ?? "");
  const words = new ShownWords(room);
  const isOfApp = (message.bot_id ?? "") !== "";
  if (isOfApp) readTextOrBlocks(words, text, blocks);
  else readBesideText(words, text, blocks);
  const typed = isOfApp ? [] : parseMessageText(text);
  const hasAttached = readAttachments(words, attachments);
  words.lineEnd();
  const hasEmail = readFileWords(words, files);
  const shows = messagesIn(attachments, room);
  const isShown = shows.some(saysSomething);
  const speaks = readFilesOfOthers(shows, others, room, { ts: message.ts ?? "", within: [] });
  const isTelling = !words.isEmpty || isShown || speaks;
  readCaptions(words, files);
  const leftOut = words.leftOut();
  const beside: Beside = {
    segments: words.segments,
    ...(shows.length > 0 && { shows }),
    ...(leftOut.length > 0 && { leftOut }),
    ...((hasAttached || hasEmail) && { quotesOthers: true }),
  };
  return { typed, beside, files: filesIn(files), isTelling };
}

function saysSomething({ segments, files }: ShownMessage): boolean {
  return segments.length > 0 || files !== undefined;
}

/** The user that Slack's own notices come from. */
export const SLACKBOT_USER_ID = "USLACKBOT";
