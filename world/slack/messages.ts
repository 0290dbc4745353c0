import type { SlackFile } from "./files.ts";
import type { MessageBlock } from "./block-kit/blocks.ts";

/**
 * The data that an app attaches to a message for itself. See
 * https://docs.slack.dev/messaging/message-metadata
 */
export type Metadata = { event_type: string; event_payload: Record<string, unknown> };

/**
 * An attachment below a message. An app attached it, or it is another message that was forwarded or
 * whose link is in the text. `test/fixtures/slack-samples` has recorded ones.
 */
export type MessageAttachment = {
  id: number;
  fallback: string;
  text?: string;
  title?: string;
  is_msg_unfurl?: true;
  is_share?: true;
  channel_id?: string;
  ts?: string;
  author_id?: string;
  from_url?: string;
  original_url?: string;
  title_link?: string;
  author_name?: string;
  author_link?: string;
  footer?: string;
  image_url?: string;
  blocks?: object[];
  files?: object[];
  /** The blocks of the forwarded message. */
  message_blocks?: { team?: string; channel?: string; ts?: string; message: Record<string, unknown> }[];
};

/** A message as the workspace keeps it, in Slack's own field names. */
export type SlackMessage = {
  channel: string;
  ts: string;
  user: string;
  /** Set on an app's messages. */
  bot_id?: string;
  text: string;
  files?: SlackFile[];
  attachments?: MessageAttachment[];
  blocks?: MessageBlock[];
  thread_ts?: string;
  subtype?: "tombstone" | "thread_broadcast";
  metadata?: Metadata;
  /** The reactions with the people who added them, oldest first. */
  reactions?: { name: string; users: string[] }[];
  edited?: { user: string; ts: string };
  deleted: boolean;
  /** The people and groups that the message would notify: see {@link mentionsIn}. */
  mentions: string[];
};

/** A message that only one person sees, until it is replaced or deleted. */
export type Ephemeral = {
  channel: string;
  ts: string;
  /** The person who sees it. */
  user: string;
  /** The sender: the bot's user id, or Slack itself. */
  from: string;
  text: string;
  blocks?: MessageBlock[];
  thread_ts?: string;
  mentions: string[];
};

/** The account of Slack's own notices. */
export const SLACKBOT = "USLACKBOT";

/** The messages of one channel in the order of their timestamps. */
export class Messages {
  readonly #all = new Map<string, SlackMessage>();

  add(message: SlackMessage): void {
    this.#all.set(message.ts, message);
  }

  /** Returns every visible message, including replies and tombstones. */
  visible(): SlackMessage[] {
    return [...this.#all.values()].filter((message) => !message.deleted);
  }

  find(ts: string): SlackMessage | undefined {
    const message = this.#all.get(ts);
    return message?.deleted === false ? message : undefined;
  }

  /** Returns the root and its replies. If `ts` is a reply's, it returns only that message. */
  thread(ts: string): SlackMessage[] {
    return this.visible().filter((message) => message.ts === ts || message.thread_ts === ts);
  }

  replies(ts: string): SlackMessage[] {
    return this.visible().filter((message) => message.thread_ts === ts && message.ts !== ts);
  }

  /**
   * Removes a message. If it is the root of a thread with replies, a tombstone stays, as in Slack.
   */
  remove(message: SlackMessage): void {
    const hasReplies = this.replies(message.ts).length > 0;
    delete message.blocks;
    delete message.metadata;
    message.mentions = [];
    if (!hasReplies) {
      message.deleted = true;
      return;
    }
    message.subtype = "tombstone";
    message.user = SLACKBOT;
    message.text = "This message was deleted.";
    delete message.bot_id;
  }
}
