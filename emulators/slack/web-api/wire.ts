import type { Message } from "../messages.ts";
import type { Channel, User, Workspace } from "../workspace.ts";

/** A message as the Web API and payloads show it; its metadata only where it was asked for. */
export function messageToWire(
  message: Message,
  workspace: Workspace,
  options: { withMetadata?: boolean } = {},
): Record<string, unknown> {
  const { team, bot } = workspace;
  const replies = workspace.log(message.channel).replies(message.ts);
  const isReply = message.thread_ts !== undefined;
  return {
    type: "message",
    ...(message.subtype !== undefined && { subtype: message.subtype }),
    user: message.user,
    ts: message.ts,
    text: message.text,
    team: team.id,
    ...(message.bot_id !== undefined && {
      bot_id: message.bot_id,
      app_id: bot.appId,
      bot_profile: { id: bot.botId, app_id: bot.appId, name: bot.name, deleted: false, team_id: team.id },
    }),
    ...(message.blocks !== undefined && { blocks: message.blocks }),
    ...(message.edited !== undefined && { edited: message.edited }),
    ...(isReply && {
      thread_ts: message.thread_ts,
      parent_user_id: workspace.log(message.channel).find(message.thread_ts ?? "")?.user,
    }),
    ...(!isReply &&
      replies.length > 0 && {
        thread_ts: message.ts,
        reply_count: replies.length,
        reply_users_count: new Set(replies.map((reply) => reply.user)).size,
        reply_users: [...new Set(replies.map((reply) => reply.user))],
        latest_reply: replies.at(-1)?.ts,
        is_locked: false,
        subscribed: false,
      }),
    ...(options.withMetadata === true && message.metadata !== undefined && { metadata: message.metadata }),
  };
}

export function channelToWire(channel: Channel, workspace: Workspace): Record<string, unknown> {
  const isMember = channel.members.has(workspace.bot.userId);
  const other = [...channel.members].find((id) => id !== workspace.bot.userId);
  if (channel.kind === "im") {
    return { id: channel.id, is_im: true, is_archived: channel.isArchived, user: other, is_open: true };
  }
  return {
    id: channel.id,
    name: channel.name,
    name_normalized: channel.name,
    is_channel: channel.kind === "public",
    is_group: channel.kind === "private",
    is_im: false,
    is_mpim: channel.kind === "mpim",
    is_private: channel.kind !== "public",
    is_archived: channel.isArchived,
    is_general: false,
    is_shared: false,
    is_ext_shared: false,
    is_org_shared: false,
    is_member: isMember,
    context_team_id: workspace.team.id,
    topic: { value: "", creator: "", last_set: 0 },
    purpose: { value: "", creator: "", last_set: 0 },
    num_members: channel.members.size,
  };
}

export function userToWire(user: User, workspace: Workspace): Record<string, unknown> {
  return {
    id: user.id,
    team_id: workspace.team.id,
    name: user.name,
    deleted: false,
    real_name: user.real_name,
    tz: "Etc/UTC",
    tz_label: "Coordinated Universal Time",
    tz_offset: 0,
    profile: {
      real_name: user.real_name,
      real_name_normalized: user.real_name,
      display_name: user.display_name,
      display_name_normalized: user.display_name,
      team: workspace.team.id,
    },
    is_admin: false,
    is_owner: false,
    is_restricted: false,
    is_bot: false,
    is_app_user: false,
    updated: 0,
  };
}
