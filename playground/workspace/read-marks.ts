import type { SlackMessage, SlackSide } from "../../world/slack/index.ts";

/** Remembers up to which timestamp each person has read each channel and thread. */
export class ReadMarks {
  readonly #marks = new Map<string, string>();

  /** Never moves a mark back. Returns true if it moved. */
  read(at: { user: string; channel: string; thread?: string | undefined; ts: string }): boolean {
    const key = keyOf(at);
    // Timestamps have a fixed width, so text order is time order. As numbers they would lose
    // digits.
    if ((this.#marks.get(key) ?? "") >= at.ts) return false;
    this.#marks.set(key, at.ts);
    return true;
  }

  isUnread(message: SlackMessage, user: string): boolean {
    if (message.user === user) return false;
    const mark = keyOf({ user, channel: message.channel, thread: message.thread_ts });
    return message.ts > (this.#marks.get(mark) ?? "");
  }
}

function keyOf(at: { user: string; channel: string; thread?: string | undefined }): string {
  return `${at.user} ${at.channel} ${at.thread ?? ""}`;
}

/**
 * Returns the messages of a channel that a person hasn't read: those at the top of the channel, and
 * those in threads in which the person wrote or was mentioned.
 */
export function unreadMessages(
  slack: SlackSide,
  marks: ReadMarks,
  channel: string,
  user: string,
): SlackMessage[] {
  const all = slack.messages(channel).filter(({ subtype }) => subtype !== "tombstone");
  const followed = new Set(
    all
      .filter((message) => message.user === user || message.mentions.includes(`@${user}`))
      .map((message) => message.thread_ts ?? message.ts),
  );
  return all.filter(
    (message) =>
      (message.thread_ts === undefined || followed.has(message.thread_ts)) && marks.isUnread(message, user),
  );
}
