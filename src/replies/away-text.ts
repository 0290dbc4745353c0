import type { KnownBlock } from "@slack/types";
import type { Request } from "../core/request.ts";
import { VIEW_MESSAGE } from "./actions.ts";
import { labelled, section } from "./blocks.ts";
import { NAME_MAX } from "./limits.ts";
import { cutEscaped } from "./mrkdwn.ts";
import { builtPermalink } from "./permalink.ts";
import type { TeamView } from "./presentation.ts";

/** A channel as mrkdwn names it. Slack has no name for direct messages, whose ids begin with D. */
export function placeName(channelId: string): string {
  return channelId.startsWith("D") ? "that conversation" : `<#${channelId}>`;
}

/** Why a message is in a direct message and not where it was asked for, with a way to the message that asked, if there is one. */
export function awayBlock(request: Request, error: string, { botName, teamUrl }: TeamView): KnownBlock {
  const block = section(awayText(request.channelId, error, botName));
  const url = IS_GONE.has(error) ? null : urlOfMessage(request, teamUrl);
  if (block.type !== "section" || url === null) return block;
  return { ...block, accessory: { ...labelled(VIEW_MESSAGE, "View message"), url } };
}

const IS_GONE: ReadonlySet<string> = new Set(["thread_not_found", "message_not_found"]);

/** A command has no message. */
function urlOfMessage({ quoted, channelId, messageTs, threadTs }: Request, teamUrl: string): string | null {
  if (quoted !== null) return builtPermalink(teamUrl, quoted.channelId, quoted.ts, quoted.threadTs);
  return messageTs === undefined ? null : builtPermalink(teamUrl, channelId, messageTs, threadTs);
}

/** Why it isn't where it was asked for, and what to do about it: mrkdwn. */
function awayText(channelId: string, error: string, botName: string): string {
  const where = placeName(channelId);
  switch (error) {
    case "not_in_channel":
    case "channel_not_found":
      // Nobody can be invited to other people's direct messages.
      return channelId.startsWith("D")
        ? "I can't post in that conversation, so I'm replying here."
        : `I'm not in ${where}, so I'm replying here. To get replies there, type \`/invite @${cutEscaped(botName, NAME_MAX)}\` in that channel.`;
    case "is_archived":
      return `${where} is archived, so I'm replying here.`;
    case "thread_not_found":
    case "message_not_found":
      return `The thread in ${where} was deleted, so I'm replying here.`;
    default:
      return `I can't post in ${where}, so I'm replying here.`;
  }
}
