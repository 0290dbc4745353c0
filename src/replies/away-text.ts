import { NAME_MAX } from "./limits.ts";
import { cutEscaped } from "./mrkdwn.ts";

/** A channel as mrkdwn names it. Slack has no name for direct messages, whose ids begin with D. */
export function placeName(channelId: string): string {
  return channelId.startsWith("D") ? "a direct message" : `<#${channelId}>`;
}

/** Why a message is in a direct message and not where it was asked for, and what to do about it: mrkdwn. */
export function awayText(channelId: string, error: string, botName: string): string {
  const where = placeName(channelId);
  switch (error) {
    case "not_in_channel":
    case "channel_not_found":
      // Nobody can be invited to other people's direct messages.
      return channelId.startsWith("D")
        ? "I cannot post in that conversation, so I report here."
        : `I am not in ${where}, so I report here. To have me report there, type \`/invite @${cutEscaped(botName, NAME_MAX)}\` in ${where}.`;
    case "is_archived":
      return `I cannot post in ${where} any more because it is archived, so I report here.`;
    case "thread_not_found":
    case "message_not_found":
      return `The thread in ${where} is gone, so I report here.`;
    default:
      return `Slack does not let me post in ${where}, so I report here.`;
  }
}
