import { z } from "zod";
import { WrittenMessage, saidOf } from "./slack-message.ts";
import type { Said } from "./slack-message.ts";

/** Slack's own notices come from it. */
export const SLACKBOT_USER_ID = "USLACKBOT";

/**
 * What a person writes to the app in their direct messages; all of it is for the app. Edits, deletions and whatever else has another subtype
 * are not, nor is what apps write, this one included (docs.slack.dev/reference/events/message.im).
 */
const DirectMessage = WrittenMessage.extend({
  channel_type: z.literal("im"),
  subtype: z.enum(["file_share", "thread_broadcast"]).optional(),
  thread_ts: z.string().optional(),
});

export function isDirectMessage(event: object): boolean {
  return "channel_type" in event && event.channel_type === "im";
}

/** What an event in direct messages says to the app; null: nothing. */
export function saidDirectly(teamId: string, event: object): Said | null {
  const said = DirectMessage.safeParse(event);
  return said.success && said.data.user !== SLACKBOT_USER_ID ? saidOf(teamId, said.data) : null;
}
