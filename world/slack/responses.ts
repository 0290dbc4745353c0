import * as z from "zod";
import { mentionsIn } from "./mentions.ts";
import type { Ephemeral, SlackMessage } from "./messages.ts";
import { SlackRefusal } from "./refusal.ts";
import { Flag } from "./web-api/args.ts";
import { readContent } from "./web-api/chat.ts";
import type { Workspace } from "./workspace.ts";

/** The body that apps send to a `response_url` or as an ack. */
export type ResponseBody = z.infer<typeof ResponseBody>;
export const ResponseBody = z.object({
  text: z.string().optional(),
  blocks: z.unknown().optional(),
  response_type: z.enum(["ephemeral", "in_channel"]).optional(),
  replace_original: Flag.optional(),
  delete_original: Flag.optional(),
  thread_ts: z.string().optional(),
});

/** The place where a response is shown, and the message that it may replace. */
export type ResponsePlace = {
  channel: string;
  user: string;
  original?: { message: SlackMessage } | { ephemeral: Ephemeral };
};

/**
 * Shows an app's response to one person or to the channel. This works where the bot isn't a member,
 * too. See https://docs.slack.dev/interactivity/handling-user-interaction#message_responses
 */
export function showResponse(workspace: Workspace, body: ResponseBody, place: ResponsePlace): void {
  if (body.delete_original === true) return deleteOriginal(workspace, place);
  const content = readContent(body);
  if (body.replace_original === true && place.original !== undefined) {
    replaceOriginal(workspace, content, place.original);
    return;
  }
  const thread = body.thread_ts;
  if (body.response_type !== "in_channel") {
    const ephemeral = workspace.postEphemeral({
      ...content,
      channel: place.channel,
      user: place.user,
      from: workspace.bot.userId,
      ...(thread !== undefined && { thread_ts: thread }),
    });
    place.original ??= { ephemeral };
    return;
  }
  if (workspace.channel(place.channel).isArchived) throw new SlackRefusal("channel_is_archived");
  const message = workspace.post({
    ...content,
    channel: place.channel,
    user: workspace.bot.userId,
    isFromApp: true,
    ...(thread !== undefined && { threadTs: thread }),
  });
  place.original ??= { message };
}

function deleteOriginal(workspace: Workspace, { original }: ResponsePlace): void {
  if (original === undefined) return;
  if ("ephemeral" in original) workspace.removeEphemeral(original.ephemeral);
  else workspace.deleteMessage(original.message.channel, original.message.ts);
}

function replaceOriginal(
  workspace: Workspace,
  content: ReturnType<typeof readContent>,
  original: NonNullable<ResponsePlace["original"]>,
): void {
  const target = "ephemeral" in original ? original.ephemeral : original.message;
  target.text = content.text;
  delete target.blocks;
  if (content.blocks !== undefined) target.blocks = content.blocks;
  target.mentions = mentionsIn(content);
  if ("message" in original) {
    original.message.edited = { user: workspace.bot.userId, ts: workspace.timestamps.next() };
  }
  workspace.changed();
}
