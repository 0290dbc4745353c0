import * as z from "zod";
import type { SlackMessage } from "../messages.ts";
import { SlackRefusal } from "../refusal.ts";
import { type Args, readArgs } from "./args.ts";
import { type MethodContext, type MethodTable, visibleChannel } from "./method.ts";

const ReactionArgs = z.object({
  channel: z.string().min(1).optional(),
  timestamp: z.string().min(1).optional(),
  name: z.string(),
});

/**
 * The methods of https://docs.slack.dev/reference/methods?family=reactions that this project calls,
 * for messages.
 */
export const reactionsMethods: MethodTable = {
  "reactions.add": { token: "bot", scopes: ["reactions:write"], run: add },
  "reactions.remove": { token: "bot", scopes: ["reactions:write"], run: remove },
};

function add(args: Args, context: MethodContext) {
  const { workspace } = context;
  const { message, name } = item(args, context);
  const reactions = message.reactions ?? [];
  const users = reactions.find((reaction) => reaction.name === name)?.users ?? [];
  if (users.includes(workspace.bot.userId)) throw new SlackRefusal("already_reacted");
  // There are at most 23 emoji. See https://docs.slack.dev/reference/methods/reactions.add
  if (users.length === 0 && reactions.length >= 23) throw new SlackRefusal("too_many_emoji");
  const others = reactions.filter((reaction) => reaction.name !== name);
  message.reactions = [...others, { name, users: [...users, workspace.bot.userId] }];
  workspace.changed();
  return {};
}

function remove(args: Args, context: MethodContext) {
  const { workspace } = context;
  const { message, name } = item(args, context);
  const { userId } = workspace.bot;
  const reactions = message.reactions ?? [];
  const isThere = reactions.some((reaction) => reaction.name === name && reaction.users.includes(userId));
  if (!isThere) throw new SlackRefusal("no_reaction");
  message.reactions = reactions
    .map((reaction) =>
      reaction.name === name ? { name, users: reaction.users.filter((user) => user !== userId) } : reaction,
    )
    .filter(({ users }) => users.length > 0);
  workspace.changed();
  return {};
}

function item(args: Args, context: MethodContext): { message: SlackMessage; name: string } {
  const { channel: id, timestamp, name } = readArgs(ReactionArgs, args);
  if (id === undefined || timestamp === undefined) throw new SlackRefusal("no_item_specified");
  if (!/^[a-z0-9_+'-]{1,100}$/.test(name)) throw new SlackRefusal("invalid_name");
  const channel = visibleChannel(id, context);
  if (!channel.members.has(context.workspace.bot.userId)) throw new SlackRefusal("not_in_channel");
  if (channel.isArchived) throw new SlackRefusal("is_archived");
  if (!/^\d+\.\d{6}$/.test(timestamp)) throw new SlackRefusal("bad_timestamp");
  const message = context.workspace.log(channel.id).find(timestamp);
  if (message === undefined || message.subtype === "tombstone") throw new SlackRefusal("message_not_found");
  return { message, name };
}
