import { fileInMessage } from "../files.ts";
import type { SlackMessage } from "../messages.ts";
import type { UpdatedMessage, WireChannel, WireDirectMessage, WireMessage, WireUser } from "../sdk-types.ts";
import type { Channel, User } from "../entities.ts";
import type { Workspace } from "../workspace.ts";

/**
 * Returns a message as the Web API and payloads show it, with its metadata only if it was asked
 * for.
 */
export function messageToWire(
  message: SlackMessage,
  workspace: Workspace,
  options: { withMetadata?: boolean } = {},
): WireMessage {
  const log = workspace.log(message.channel);
  const root = message.thread_ts === undefined ? undefined : log.find(message.thread_ts);
  const replies = log.replies(message.ts);
  const lastReply = replies.at(-1);
  return {
    ...contentToWire(message, workspace),
    ts: message.ts,
    ...(message.thread_ts !== undefined && { thread_ts: message.thread_ts }),
    ...(root !== undefined && { parent_user_id: root.user }),
    ...(message.thread_ts === undefined &&
      lastReply !== undefined && {
        thread_ts: message.ts,
        reply_count: replies.length,
        reply_users_count: new Set(replies.map((reply) => reply.user)).size,
        reply_users: [...new Set(replies.map((reply) => reply.user))],
        latest_reply: lastReply.ts,
        is_locked: false,
        subscribed: false,
      }),
    ...(message.reactions !== undefined &&
      message.reactions.length > 0 && {
        reactions: message.reactions.map(({ name, users }) => ({ name, users, count: users.length })),
      }),
    ...(options.withMetadata === true && message.metadata !== undefined && { metadata: message.metadata }),
  };
}

/** Returns a message as `chat.update` answers it, without its channel and thread. */
export function updatedToWire(message: SlackMessage, workspace: Workspace) {
  const { subtype: _, ...shown } = contentToWire(message, workspace);
  return {
    ...shown,
    ...(message.metadata !== undefined && { metadata: message.metadata }),
  } satisfies UpdatedMessage;
}

function contentToWire(message: SlackMessage, { team, bot, filesUrl, fileSettings }: Workspace) {
  return {
    type: "message" as const,
    ...(message.subtype !== undefined && { subtype: message.subtype }),
    user: message.user,
    text: message.text,
    team: team.id,
    ...(message.bot_id !== undefined && {
      bot_id: message.bot_id,
      app_id: bot.appId,
      bot_profile: { id: bot.botId, app_id: bot.appId, name: bot.name, deleted: false, team_id: team.id },
    }),
    ...(message.blocks !== undefined && { blocks: message.blocks }),
    ...(message.attachments !== undefined && { attachments: message.attachments }),
    ...(message.files !== undefined && {
      files: message.files.map((file) => fileInMessage(file, filesUrl, fileSettings)),
    }),
    ...(message.edited !== undefined && { edited: message.edited }),
  } satisfies Omit<WireMessage, "ts">;
}

export function channelToWire(channel: Channel, workspace: Workspace) {
  const isMember = channel.members.has(workspace.bot.userId);
  const other = [...channel.members].find((id) => id !== workspace.bot.userId) ?? workspace.bot.userId;
  if (channel.kind === "im") {
    return {
      id: channel.id,
      is_im: true,
      is_archived: channel.isArchived,
      user: other,
      is_open: true,
    } satisfies WireDirectMessage;
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
  } satisfies WireChannel;
}

/**
 * Returns a user as https://docs.slack.dev/reference/objects/user-object describes it. Guests are
 * `is_restricted`, and those of a single channel also `is_ultra_restricted`. People of other
 * workspaces have another `team_id`, and are `is_stranger` if the app shares no channel with them.
 * `enterprise_user` names the organization.
 */
export function userToWire(user: User, workspace: Workspace) {
  const teamId = user.home?.teamId ?? workspace.team.id;
  const enterpriseId = user.home === undefined ? workspace.team.enterpriseId : user.home.enterpriseId;
  const isShared = workspace
    .channels()
    .some(({ id, members }) => members.has(user.id) && workspace.isBotIn(id));
  return {
    id: user.id,
    team_id: teamId,
    name: user.name,
    deleted: user.isDeactivated === true,
    profile: {
      real_name: user.real_name,
      real_name_normalized: user.real_name,
      display_name: user.display_name,
      display_name_normalized: user.display_name,
      team: teamId,
    },
    // Slack reports none of this for a deactivated account, as
    // github.com/brekkylab/backlot/issues/258 measured.
    ...(user.isDeactivated !== true && {
      real_name: user.real_name,
      tz: "Etc/UTC",
      tz_label: "Coordinated Universal Time",
      tz_offset: 0,
      is_admin: false,
      is_owner: false,
      is_restricted: user.guest !== undefined,
      is_ultra_restricted: user.guest === "single-channel",
    }),
    ...(user.home !== undefined && { is_stranger: !isShared }),
    ...(enterpriseId !== undefined && {
      enterprise_user: { id: user.id, enterprise_id: enterpriseId, teams: [teamId] },
    }),
    is_bot: false,
    is_app_user: false,
    updated: 0,
  } satisfies WireUser;
}
