import type { webApi } from "@slack/bolt";
import * as z from "zod";
import type { MessageBlock } from "../block-kit/blocks.ts";
import { mentionsIn } from "../mentions.ts";
import type { SlackMessage } from "../messages.ts";
import { refusalWithMessages, SlackRefusal } from "../refusal.ts";
import type { Answer } from "../sdk-types.ts";
import { parseMessageBlocks } from "../validate-blocks.ts";
import { type Args, Flag, readArgs } from "./args.ts";
import { parseMetadata } from "./metadata.ts";
import { channelToPostTo, type MethodContext, type MethodTable, visibleChannel } from "./method.ts";
import { messageToWire, updatedToWire } from "./wire.ts";

/**
 * Slack documents that longer texts are cut, and also `msg_too_long`. This is the stricter of the
 * two.
 */
const MAX_TEXT = 40_000;

const PostArgs = z.object({
  channel: z.string().min(1),
  text: z.string().optional(),
  blocks: z.unknown().optional(),
  metadata: z.unknown().optional(),
  thread_ts: z.string().optional(),
  reply_broadcast: Flag.optional(),
  link_names: Flag.optional(),
  parse: z.string().optional(),
});

const EphemeralArgs = PostArgs.extend({ user: z.string().min(1) });

const UpdateArgs = z.object({
  channel: z.string().min(1),
  ts: z.string().min(1),
  text: z.string().optional(),
  blocks: z.unknown().optional(),
  metadata: z.unknown().optional(),
  link_names: Flag.optional(),
  parse: z.string().optional(),
});

const MessageArgs = z.object({ channel: z.string().min(1), ts: z.string().min(1) });

const PermalinkArgs = z.object({ channel: z.string().min(1), message_ts: z.string().min(1) });

/**
 * The methods of https://docs.slack.dev/reference/methods?family=chat that this project calls. They
 * ignore attachments.
 */
export const chatMethods: MethodTable = {
  "chat.postMessage": { token: "bot", scopes: ["chat:write"], run: postMessage },
  "chat.postEphemeral": { token: "bot", scopes: ["chat:write"], run: postEphemeral },
  "chat.update": { token: "bot", scopes: ["chat:write"], run: update },
  "chat.delete": { token: "bot", scopes: ["chat:write"], run: remove },
  "chat.getPermalink": { token: "bot", scopes: [], run: getPermalink },
};

function postMessage(args: Args, context: MethodContext) {
  const { workspace } = context;
  const request = readArgs(PostArgs, args);
  const content = readContent(request);
  const metadata = request.metadata === undefined ? undefined : parseMetadata(request.metadata);
  const channel = channelToPostTo(request.channel, context);
  const threadTs = threadToPostTo(channel.id, request.thread_ts, context);
  const message = workspace.post({
    ...content,
    channel: channel.id,
    user: workspace.bot.userId,
    isFromApp: true,
    linksNames: linksNames(request),
    isBroadcast: request.reply_broadcast === true && threadTs !== undefined,
    ...(threadTs !== undefined && { threadTs }),
    ...(metadata !== undefined && { metadata }),
  });
  return {
    channel: channel.id,
    ts: message.ts,
    message: messageToWire(message, workspace, { withMetadata: true }),
  } satisfies Answer<webApi.ChatPostMessageResponse>;
}

function postEphemeral(args: Args, context: MethodContext) {
  const { workspace } = context;
  const request = readArgs(EphemeralArgs, args);
  const content = readContent(request);
  const channel = channelToPostTo(request.channel, context);
  if (!channel.members.has(request.user)) throw new SlackRefusal("user_not_in_channel");
  const ephemeral = workspace.postEphemeral({
    ...content,
    channel: channel.id,
    user: request.user,
    from: workspace.bot.userId,
    ...(request.thread_ts !== undefined && { thread_ts: request.thread_ts }),
  });
  return { message_ts: ephemeral.ts } satisfies Answer<webApi.ChatPostEphemeralResponse>;
}

function update(args: Args, context: MethodContext) {
  const { workspace } = context;
  const request = readArgs(UpdateArgs, args);
  const content = readContent(request);
  const message = ownMessage(request, context, "cant_update_message");
  message.text = content.text;
  delete message.blocks;
  if (content.blocks !== undefined) message.blocks = content.blocks;
  if (request.metadata !== undefined) updateMetadata(message, request.metadata);
  message.edited = { user: workspace.bot.userId, ts: workspace.timestamps.next() };
  message.mentions = mentionsIn(message, linksNames(request));
  workspace.changed();
  return {
    channel: message.channel,
    ts: message.ts,
    text: message.text,
    message: updatedToWire(message, workspace),
  } satisfies Answer<webApi.ChatUpdateResponse>;
}

function remove(args: Args, context: MethodContext) {
  const message = ownMessage(readArgs(MessageArgs, args), context, "cant_delete_message");
  context.workspace.deleteMessage(message.channel, message.ts);
  return { channel: message.channel, ts: message.ts } satisfies Answer<webApi.ChatDeleteResponse>;
}

function getPermalink(args: Args, context: MethodContext) {
  const { workspace } = context;
  const request = readArgs(PermalinkArgs, args);
  const channel = visibleChannel(request.channel, context);
  const message = workspace.log(channel.id).find(request.message_ts);
  if (message === undefined) throw new SlackRefusal("message_not_found");
  const thread = message.thread_ts === undefined ? "" : `?thread_ts=${message.thread_ts}&cid=${channel.id}`;
  const permalink = `${workspace.team.url}archives/${channel.id}/p${message.ts.replace(".", "")}${thread}`;
  return { channel: channel.id, permalink } satisfies Answer<webApi.ChatGetPermalinkResponse>;
}

/**
 * Reads the text and blocks of a message and checks them as Slack does. An empty list of blocks
 * counts as none.
 */
export function readContent(request: { text?: string | undefined; blocks?: unknown }): {
  text: string;
  blocks?: MessageBlock[];
} {
  const text = request.text ?? "";
  if (text.length > MAX_TEXT) throw new SlackRefusal("msg_too_long");
  const blocks = request.blocks === undefined ? [] : parseMessageBlocks(request.blocks);
  if (blocks.length > 0) return { text, blocks };
  if (text === "") throw new SlackRefusal("no_text");
  return { text };
}

/**
 * Changes the metadata. `metadata: {}` removes it, and without the argument it stays. See
 * https://docs.slack.dev/reference/methods/chat.update
 */
function updateMetadata(message: SlackMessage, value: unknown): void {
  delete message.metadata;
  if (typeof value === "object" && value !== null && Object.keys(value).length === 0) return;
  message.metadata = parseMetadata(value);
}

function ownMessage(
  request: { channel: string; ts: string },
  context: MethodContext,
  refusal: string,
): SlackMessage {
  const { workspace } = context;
  const channel = visibleChannel(request.channel, context);
  if (channel.id !== request.channel) throw new SlackRefusal("channel_not_found");
  const isMember = channel.members.has(workspace.bot.userId);
  if (!isMember && !context.scopes.includes("chat:write.public")) throw new SlackRefusal("not_in_channel");
  // For edits, Slack documents `is_inactive`. A post gets `is_archived`.
  if (channel.isArchived) throw new SlackRefusal("is_inactive");
  const message = workspace.log(channel.id).find(request.ts);
  if (message === undefined) throw new SlackRefusal("message_not_found");
  if (message.bot_id !== workspace.bot.botId) throw new SlackRefusal(refusal);
  return message;
}

function threadToPostTo(
  channel: string,
  threadTs: string | undefined,
  { workspace }: MethodContext,
): string | undefined {
  if (threadTs === undefined) return undefined;
  if (!/^\d+\.\d{6}$/.test(threadTs)) {
    throw refusalWithMessages("invalid_thread_ts", [`${threadTs} is not a valid thread_ts`]);
  }
  if (workspace.log(channel).find(threadTs) !== undefined) return threadTs;
  if (workspace.orphanedReplies === "unthread") return undefined;
  throw new SlackRefusal("thread_not_found");
}

function linksNames(request: { link_names?: boolean | undefined; parse?: string | undefined }): boolean {
  return request.link_names === true || request.parse === "full";
}
