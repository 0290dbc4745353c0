import { NAME_MAX } from "./limits.ts";
import { cutEscaped } from "./mrkdwn.ts";

/** A channel as mrkdwn names it. Slack has no name for direct messages, whose ids begin with D. */
export function placeName(channelId: string): string {
  return channelId.startsWith("D") ? "that conversation" : `<#${channelId}>`;
}

/** Why a message is in a direct message and not where it was asked for, and what to do about it: mrkdwn. */
export function awayText(channelId: string, error: string, botName: string): string {
  const where = placeName(channelId);
  switch (error) {
    case "not_in_channel":
    case "channel_not_found":
      // Nobody can be invited to other people's direct messages.
      return channelId.startsWith("D")
        ? "I can't post in that conversation, so I'm replying here."
        : `I'm not in ${where}, so I'm replying here. For replies there, type \`/invite @${cutEscaped(botName, NAME_MAX)}\` in it.`;
    case "is_archived":
      return `${where} is archived, so I'm replying here.`;
    case "thread_not_found":
    case "message_not_found":
      return `The thread in ${where} was deleted, so I'm replying here.`;
    default:
      return `I can't post in ${where}, so I'm replying here.`;
  }
}
