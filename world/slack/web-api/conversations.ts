import type { webApi } from "@slack/bolt";
import * as z from "zod";
import type { SlackMessage } from "../messages.ts";
import { SlackRefusal } from "../refusal.ts";
import type { Answer } from "../sdk-types.ts";
import type { Channel } from "../entities.ts";
import { type Args, Flag, readArgs } from "./args.ts";
import {
  conversationScopes,
  type MethodContext,
  type MethodTable,
  refuseWithoutKindScope,
  refuseWithoutScope,
  visibleChannel,
} from "./method.ts";
import { channelToWire, messageToWire } from "./wire.ts";

const HistoryArgs = z.object({
  channel: z.string().min(1),
  cursor: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(999).optional(),
  oldest: z.coerce.string().optional(),
  latest: z.coerce.string().optional(),
  inclusive: Flag.optional(),
  include_all_metadata: Flag.optional(),
});
type HistoryArgs = z.infer<typeof HistoryArgs>;

const RepliesArgs = HistoryArgs.extend({
  ts: z.string().min(1),
  limit: z.coerce.number().int().min(1).max(1000).optional(),
});

const OpenArgs = z.object({
  users: z.string().optional(),
  channel: z.string().optional(),
  return_im: Flag.optional(),
});

const InfoArgs = z.object({ channel: z.string().min(1) });

/**
 * The methods of https://docs.slack.dev/reference/methods?family=conversations that this project
 * calls.
 */
export const conversationsMethods: MethodTable = {
  "conversations.open": { token: "bot", scopes: ["im:write", "mpim:write"], run: open },
  "conversations.info": { token: "bot", scopes: conversationScopes("read"), run: info },
  "conversations.history": { token: "bot", scopes: conversationScopes("history"), run: history },
  "conversations.replies": { token: "bot", scopes: conversationScopes("history"), run: replies },
};

function open(args: Args, context: MethodContext) {
  const { workspace, scopes } = context;
  const request = readArgs(OpenArgs, args);
  const users = (request.users ?? "").split(",").filter(Boolean);
  refuseWithoutScope([users.length > 1 ? "mpim:write" : "im:write"], scopes);
  const channel = request.channel ? visibleChannel(request.channel, context) : openWith(users, context);
  return {
    channel: request.return_im === true ? channelToWire(channel, workspace) : { id: channel.id },
  } satisfies Answer<webApi.ConversationsOpenResponse>;
}

function openWith(users: string[], { workspace }: MethodContext): Channel {
  if (users.length === 0) throw new SlackRefusal("users_list_not_supplied");
  if (users.some((id) => workspace.findUser(id) === undefined)) throw new SlackRefusal("user_not_found");
  return workspace.openDirectMessage(users);
}

function info(args: Args, context: MethodContext) {
  const channel = visibleChannel(readArgs(InfoArgs, args).channel, context);
  refuseWithoutKindScope(channel, "read", context.scopes);
  return {
    channel: channelToWire(channel, context.workspace),
  } satisfies Answer<webApi.ConversationsInfoResponse>;
}

function history(args: Args, context: MethodContext) {
  const request = readArgs(HistoryArgs, args);
  const channel = channelToRead(request.channel, context);
  const topLevel = shownBy(context.workspace.log(channel.id).visible(), context)
    .filter((message) => message.thread_ts === undefined || message.subtype === "thread_broadcast")
    .filter((message) => isInRange(message, request))
    .toReversed();
  const page = pageOf(topLevel, request.cursor, pageSize(request.limit ?? 100, context));
  return {
    ...answer(page, request, context),
    pin_count: 0,
  } satisfies Answer<webApi.ConversationsHistoryResponse>;
}

function replies(args: Args, context: MethodContext) {
  const request = readArgs(RepliesArgs, args);
  const channel = channelToRead(request.channel, context);
  const [root, ...others] = shownBy(context.workspace.log(channel.id).thread(request.ts), context);
  if (root?.ts !== request.ts) throw new SlackRefusal("thread_not_found");
  // The root is the first message whatever `oldest` says, as clients report that read threads bit
  // by bit.
  const wanted = [root, ...others.filter((message) => isInRange(message, request))];
  const page = pageOf(wanted, request.cursor, pageSize(request.limit ?? 1000, context));
  return answer(page, request, context) satisfies Answer<webApi.ConversationsRepliesResponse>;
}

function channelToRead(id: string, context: MethodContext): Channel {
  const channel = visibleChannel(id, context);
  refuseWithoutKindScope(channel, "history", context.scopes);
  if (!channel.members.has(context.workspace.bot.userId)) throw new SlackRefusal("not_in_channel");
  return channel;
}

/** Leaves out messages that were posted too recently to be found. */
function shownBy(messages: SlackMessage[], { limits }: MethodContext): SlackMessage[] {
  const { visibleAfterMs = 0 } = limits.settings;
  if (visibleAfterMs === 0) return messages;
  const newestMs = limits.slackNow() - visibleAfterMs;
  return messages.filter(({ ts }) => Math.round(Number(ts) * 1000) <= newestMs);
}

function pageSize(limit: number, { limits }: MethodContext): number {
  return Math.min(limit, limits.settings.maxHistoryMessages ?? limit);
}

function isInRange(message: SlackMessage, { oldest, latest, inclusive }: HistoryArgs): boolean {
  const ts = Number(message.ts);
  const isEdge = message.ts === oldest || message.ts === latest;
  if (isEdge) return inclusive === true;
  return ts >= Number(oldest ?? 0) && ts <= Number(latest ?? Number.POSITIVE_INFINITY);
}

type Page = { messages: SlackMessage[]; nextCursor: string | undefined };

function pageOf(messages: SlackMessage[], cursor: string | undefined, limit: number): Page {
  const start = cursor === undefined || cursor === "" ? 0 : startOf(cursor, messages);
  const next = messages[start + limit];
  const nextCursor = next === undefined ? undefined : Buffer.from(`next_ts:${next.ts}`).toString("base64");
  return { messages: messages.slice(start, start + limit), nextCursor };
}

function startOf(cursor: string, messages: SlackMessage[]): number {
  const ts = /^next_ts:(.+)$/.exec(Buffer.from(cursor, "base64").toString())?.[1];
  const start = messages.findIndex((message) => message.ts === ts);
  if (start === -1) throw new SlackRefusal("invalid_cursor");
  return start;
}

function answer(page: Page, request: HistoryArgs, { workspace }: MethodContext) {
  const withMetadata = request.include_all_metadata === true;
  return {
    messages: page.messages.map((message) => messageToWire(message, workspace, { withMetadata })),
    has_more: page.nextCursor !== undefined,
    ...(page.nextCursor !== undefined && { response_metadata: { next_cursor: page.nextCursor } }),
  };
}
