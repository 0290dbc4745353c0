import { z } from "zod";
import type { MessageRef, Segment, SharedFile, ShownMessage, ThreadMessage } from "../core/turn/request.ts";
import { wordsOfBlocks, parseMessageText } from "./message-text.ts";

export const OptionalText = z.string().nullish();
const Flag = z.boolean().nullish();

/** Attachments by apps, and those in which Slack shows another message. */
const Attachment = z.object({
  fallback: OptionalText,
  pretext: OptionalText,
  title: OptionalText,
  text: OptionalText,
  fields: z
    .array(z.object({ title: OptionalText, value: OptionalText }).nullish())
    .nullish()
    .catch(null),
  blocks: z.array(z.unknown()).nullish(),
  is_msg_unfurl: Flag,
  is_share: Flag,
  ts: z.unknown().optional(),
  author_id: OptionalText,
  from_url: OptionalText,
  original_url: OptionalText,
  title_link: OptionalText,
});
type Attachment = z.infer<typeof Attachment>;

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
  attachments: z.array(Attachment.nullish()).nullish(),
  blocks: z.array(z.unknown()).nullish(),
  files: z.array(z.unknown()).nullish(),
  /** Only on our own messages. */
  metadata: z.unknown().optional(),
});
export type ReceivedMessage = z.infer<typeof ReceivedMessage>;

/**
 * A new message by a person, as events describe it. Edits and messages by apps are excluded. Each
 * use adds its own subtypes.
 */
export const WrittenMessage = z.object({
  bot_id: z.never().optional(),
  app_id: z.never().optional(),
  edited: z.never().optional(),
  channel: z.string(),
  user: z.string(),
  text: z.string().default(""),
  files: z.array(z.unknown()).nullish(),
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
  /** True if the event doesn't say whether the message has files. */
  mayHaveFiles: boolean;
};

/** Converts a message from an event. */
export function toPersonMessage(teamId: string, message: z.infer<typeof WrittenMessage>): PersonMessage {
  const { channel: channelId, user: userId, text, ts, thread_ts: threadTs = null } = message;
  return {
    teamId,
    channelId,
    ts,
    threadTs,
    userId,
    typed: parseMessageText(text),
    files: filesOfMessage(message),
    beside: null,
    mayHaveFiles: false,
  };
}

/**
 * A file in a message. A file that Slack keeps elsewhere, hides or has deleted has fewer fields.
 */
const MessageFile = z.object({
  id: z.string(),
  name: OptionalText,
  title: OptionalText,
  mimetype: OptionalText,
  size: z.number().nullish(),
  mode: OptionalText,
  is_external: z.boolean().nullish(),
  url_private_download: OptionalText,
});

function filesOfMessage({ files }: { files?: unknown[] | null | undefined }): SharedFile[] {
  return (files ?? []).flatMap((file) => {
    const { data } = MessageFile.safeParse(file);
    if (data === undefined || data.mode === "tombstone") return [];
    const { id, name, title, mimetype, size, is_external, url_private_download } = data;
    const mediaType = (mimetype ?? "").toLowerCase().split(";", 1)[0]?.trim() ?? "";
    return [
      {
        id,
        name: name || title || "a file",
        mediaType: mediaType === "application/x-yaml" ? "application/yaml" : mediaType,
        size: size ?? 0,
        url: is_external === true ? null : (url_private_download ?? null),
      },
    ];
  });
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
  const shows = shownIn(message);
  return {
    ts,
    segments: wordsOf(message),
    authorId: user ?? null,
    authorName: username ?? bot_profile?.name ?? null,
    ...withFiles(filesOfMessage(message)),
    ...(shows.length > 0 && { shows }),
  };
}

/** What Slack writes if a message or an attachment has words only in its blocks. */
const NO_WORDS: ReadonlySet<string> = new Set(["This content can't be displayed.", "[no preview available]"]);

/** The message's own words, without those of the messages it shows. */
function wordsOf({ text, blocks, attachments }: ReceivedMessage): Segment[] {
  const own = text === null || text === undefined || NO_WORDS.has(text) ? "" : text;
  const attached = (attachments ?? []).filter((part) => !isMessage(part)).map(attachedWords);
  const words = own === "" ? wordsOfBlocks(blocks ?? []) : own;
  return parseMessageText([words, ...attached].filter((part) => part !== "").join("\n"));
}

function attachedWords(part: Attachment | null | undefined): string {
  const { fallback, pretext, title, text, fields, blocks } = part ?? {};
  const named = (fields ?? []).map((field) => [field?.title, field?.value].filter(Boolean).join(": "));
  const words = [pretext, title, text || wordsOfBlocks(blocks ?? []), ...named].filter(Boolean).join("\n");
  return words === "" && !NO_WORDS.has(fallback ?? "") ? (fallback ?? "") : words;
}

/**
 * True for an attachment that shows a message, even if it has only the message's address and none
 * of Slack's flags.
 */
function isMessage(part: Attachment | null | undefined): boolean {
  return part?.is_msg_unfurl === true || part?.is_share === true || addressedBy(part).length > 0;
}

/**
 * Addresses of messages: permalinks, those of Slack's own client, and links that open the app. They
 * have the message's time in any of Slack's spellings, and anything may follow it.
 */
const MESSAGE_ADDRESS = new RegExp(
  String.raw`(?:\/(?:archives|messages|client\/\w+)\/\w+\/p?|\/thread\/\w+-|` +
    String.raw`^slack:\S*[?&]message=)(\d+)\.?(\d{6})(?!\w)`,
);

/** The times of the messages whose addresses an attachment has. */
function addressedBy(part: Attachment | null | undefined): string[] {
  return [part?.from_url, part?.original_url, part?.title_link].flatMap((url) => {
    const found = MESSAGE_ADDRESS.exec(url ?? "");
    return found === null ? [] : [found.slice(1).join(".")];
  });
}

/**
 * The `ts` of the message that an attachment shows. Empty if that is uncertain, so that it may be
 * any message.
 */
function shownTs(part: Attachment | null | undefined): string {
  const own = typeof part?.ts === "string" && /^\d+\.\d{6}$/.test(part.ts) ? [part.ts] : [];
  const [ts = "", ...others] = new Set([...own, ...addressedBy(part)]);
  return others.length === 0 ? ts : "";
}

function shownIn({ attachments }: ReceivedMessage): ShownMessage[] {
  return (attachments ?? []).flatMap((part): ShownMessage[] => {
    if (!isMessage(part)) return [];
    const segments = parseMessageText(attachedWords(part));
    return segments.length === 0 ? [] : [{ ts: shownTs(part), authorId: part?.author_id || null, segments }];
  });
}

/** The user that Slack's own notices come from. */
export const SLACKBOT_USER_ID = "USLACKBOT";

/**
 * A person's message to the app in their direct messages. All of these are for the app. Edits,
 * deletions, other subtypes and messages by apps (including this one) are excluded
 * (docs.slack.dev/reference/events/message.im).
 */
const DirectMessage = WrittenMessage.extend({
  channel_type: z.literal("im"),
  subtype: z.enum(["file_share", "thread_broadcast"]).optional(),
});

export function isDirectMessage(event: object): boolean {
  return "channel_type" in event && event.channel_type === "im";
}

/** The message in a direct-message event, or null if it has none for the app. */
export function directMessageIn(teamId: string, event: object): PersonMessage | null {
  const message = DirectMessage.safeParse(event);
  return message.success && message.data.user !== SLACKBOT_USER_ID
    ? toPersonMessage(teamId, message.data)
    : null;
}
