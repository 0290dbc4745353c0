import type { App, Context } from "@slack/bolt";
import { z } from "zod";
import { teamOf, type IntakeDeps } from "./deps.ts";
import { takeMessage } from "./message-to-app.ts";
import { parseMessageText } from "../slack/message/message-text.ts";
import {
  OptionalText,
  SaidSubtype,
  SLACKBOT_USER_ID,
  toPersonMessage,
  WrittenMessage,
} from "../slack/message/slack-message.ts";
import { noteChange, registerReplyButtons, takeReply } from "./thread-reply.ts";
import { mentionsApp } from "../slack/message/without-mention.ts";

/**
 * Handles all messages that the app hears, whatever event brings them: a mention, which may arrive
 * as two events, or as the second alone; direct messages, which are all for the app; and replies in
 * threads that don't mention the app, if `FOLLOW_UPS` says so.
 */
export function registerMessages(app: App, deps: IntakeDeps): void {
  app.event("app_mention", ({ event, context }) => hear(deps, event, context));
  app.event("message", ({ event, context }) => hear(deps, event, context));
  registerReplyButtons(app, deps);
}

/**
 * A new message by a person, with or without files, or a reply that was also sent to the channel.
 * Slack also sends a mention when it is edited, however old it is, or added to a message
 * (github.com/slack-go/slack/pull/1256).
 */
const Said = WrittenMessage.extend({ subtype: SaidSubtype });

/** The fields that say whom a message is for and who wrote it. */
const Heard = z.object({
  type: OptionalText,
  subtype: OptionalText,
  channel: OptionalText,
  channel_type: OptionalText,
  ts: OptionalText,
  user: OptionalText,
  bot_id: OptionalText,
  app_id: OptionalText,
  edited: z.unknown().optional(),
  text: OptionalText,
});
type Heard = z.infer<typeof Heard>;

async function hear(deps: IntakeDeps, event: object, context: Context): Promise<void> {
  const teamId = teamOf(context);
  const { botUserId } = context;
  const heard = Heard.safeParse(event).data ?? {};
  const said = Said.safeParse(event).data;
  const message = said === undefined ? null : toPersonMessage(teamId, said);
  const typed = message?.typed ?? parseMessageText(heard.text ?? "");
  const isMention = heard.type === "app_mention" || mentionsApp(typed, botUserId);
  const isForApp = isMention || heard.channel_type === "im";
  const isByApp = heard.app_id !== null && heard.app_id !== undefined;
  // Slack says so of what people write through other apps, too. Only a mention is meant for us.
  const isIgnored = message === null || message.userId === SLACKBOT_USER_ID || (isByApp && !isMention);
  if (heard.user === botUserId && botUserId !== undefined) return;
  if (!isIgnored) return isForApp ? takeMessage(deps, message, botUserId) : takeReply(deps, message);
  if (isForApp) {
    const { channel: channelId, ts } = heard;
    deps.logger.debug({ reason: reasonOf(heard), channelId, ts }, "a message to the app is ignored");
  }
  await noteChange(deps, teamId, event, botUserId);
}

/** Why a message isn't a person's new one. */
function reasonOf({ subtype, user, bot_id, app_id, edited }: Heard): string {
  if (subtype === "message_changed" || edited !== undefined) return "it was edited";
  if (subtype === "message_deleted") return "it was deleted";
  if (bot_id || app_id) return "an app or a workflow wrote it";
  if (!user || user === SLACKBOT_USER_ID) return "Slack wrote it";
  return `it is of the kind ${subtype ?? "unknown"}`;
}
