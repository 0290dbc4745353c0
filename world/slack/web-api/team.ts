import type { webApi } from "@slack/bolt";
import * as z from "zod";
import { SlackRefusal } from "../refusal.ts";
import type { Answer } from "../sdk-types.ts";
import { type Args, Flag, readArgs } from "./args.ts";
import {
  type MethodContext,
  type MethodTable,
  conversationScopes,
  refuseWithoutKindScope,
} from "./method.ts";
import type { Channel, ChannelKind } from "../entities.ts";
import { channelToWire, userToWire } from "./wire.ts";

const UserArgs = z.object({ user: z.string().min(1) });

const GroupArgs = z.object({ usergroup: z.string().min(1) });

const ConversationsArgs = z.object({
  user: z.string().optional(),
  types: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(999).optional(),
  cursor: z.string().optional(),
  exclude_archived: Flag.optional(),
});

/**
 * The methods that tell the app who it is, who others are and in which channels, and the method
 * that opens a Socket Mode connection.
 */
export const teamMethods: MethodTable = {
  "auth.test": { token: "bot", scopes: [], run: authTest },
  "users.info": { token: "bot", scopes: ["users:read"], run: usersInfo },
  "users.conversations": { token: "bot", scopes: conversationScopes("read"), run: usersConversations },
  "usergroups.list": { token: "bot", scopes: ["usergroups:read"], run: listGroups },
  "usergroups.users.list": { token: "bot", scopes: ["usergroups:read"], run: listGroupUsers },
  "apps.connections.open": { token: "app", scopes: [], run: openConnection },
};

function authTest(_args: Args, { workspace: { team, bot } }: MethodContext) {
  return {
    url: team.url,
    team: team.name,
    user: bot.name,
    team_id: team.id,
    user_id: bot.userId,
    bot_id: bot.botId,
    is_enterprise_install: false,
    ...(team.enterpriseId !== undefined && { enterprise_id: team.enterpriseId }),
  } satisfies Answer<webApi.AuthTestResponse>;
}

function usersInfo(args: Args, { workspace }: MethodContext) {
  const { user: id } = readArgs(UserArgs, args);
  const { bot } = workspace;
  if (id === bot.userId) {
    const account = { id, name: bot.name, real_name: bot.name, display_name: bot.name };
    return {
      user: { ...userToWire(account, workspace), is_bot: true },
    } satisfies Answer<webApi.UsersInfoResponse>;
  }
  const user = workspace.findUser(id);
  if (user === undefined) throw new SlackRefusal("user_not_found");
  return { user: userToWire(user, workspace) } satisfies Answer<webApi.UsersInfoResponse>;
}

function listGroups(_args: Args, { workspace }: MethodContext) {
  const { team } = workspace;
  return {
    usergroups: workspace
      .groups()
      .map(({ id, handle, name }) => ({ id, handle, name, team_id: team.id, is_usergroup: true })),
  } satisfies Answer<webApi.UsergroupsListResponse>;
}

/** https://docs.slack.dev/reference/methods/usergroups.users.list */
function listGroupUsers(args: Args, { workspace }: MethodContext) {
  const { usergroup } = readArgs(GroupArgs, args);
  const group = workspace.groups().find(({ id }) => id === usergroup);
  if (group === undefined) throw new SlackRefusal("no_such_subteam");
  return { users: [...(group.users ?? [])] } satisfies Answer<webApi.UsergroupsUsersListResponse>;
}

const kindOfType: Record<string, ChannelKind> = {
  public_channel: "public",
  private_channel: "private",
  mpim: "mpim",
  im: "im",
};

/**
 * https://docs.slack.dev/reference/methods/users.conversations: "Using a bot user token, this
 * method returns the channels and conversations your bot is party to. Specifying a user parameter
 * filters to conversations your bot shares with that" user. Each kind of conversation that is asked
 * for needs its own scope.
 */
function usersConversations(args: Args, { workspace, scopes }: MethodContext) {
  const request = readArgs(ConversationsArgs, args);
  const kinds = (request.types ?? "public_channel").split(",").map((type) => {
    const kind = kindOfType[type.trim()];
    if (kind === undefined) throw new SlackRefusal("invalid_types");
    refuseWithoutKindScope({ kind }, "read", scopes);
    return kind;
  });
  const { bot } = workspace;
  const whose = request.user ?? bot.userId;
  if (whose !== bot.userId && workspace.findUser(whose) === undefined)
    throw new SlackRefusal("user_not_found");
  const shared = workspace
    .channels()
    .filter(({ kind, members }) => kinds.includes(kind) && members.has(bot.userId) && members.has(whose))
    .filter(({ isArchived }) => !(isArchived && request.exclude_archived === true));
  const start = startOfPage(shared, request.cursor);
  const limit = request.limit ?? 100;
  const next = shared[start + limit];
  return {
    channels: shared.slice(start, start + limit).map((channel) => {
      const {
        is_member: _,
        num_members: __,
        ...shown
      } = { is_member: null, num_members: null, ...channelToWire(channel, workspace) };
      return shown;
    }),
    response_metadata: {
      next_cursor: next === undefined ? "" : Buffer.from(`channel:${next.id}`).toString("base64"),
    },
  } satisfies Answer<webApi.UsersConversationsResponse>;
}

function startOfPage(channels: readonly Channel[], cursor: string | undefined): number {
  if (cursor === undefined || cursor === "") return 0;
  const id = Buffer.from(cursor, "base64").toString().replace("channel:", "");
  const start = channels.findIndex((channel) => channel.id === id);
  if (start === -1) throw new SlackRefusal("invalid_cursor");
  return start;
}

function openConnection(_args: Args, { socketMode }: MethodContext) {
  return { url: socketMode.issueUrl() } satisfies Answer<webApi.AppsConnectionsOpenResponse>;
}
