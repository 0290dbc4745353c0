import { randomUUID } from "node:crypto";
import type { Button, FeedbackButtons, Overflow, StaticSelect } from "./block-kit/objects.ts";
import { fileInMessage } from "./files.ts";
import { makeId } from "./ids.ts";
import { type Ephemeral, type SlackMessage, SLACKBOT } from "./messages.ts";
import { ImpossibleForAPerson } from "./refusal.ts";
import type {
  ActionPayload,
  ClosePayload,
  CommandPayload,
  HomeOpenedPayload,
  SessionStoppedPayload,
  MentionPayload,
  MessagePayload,
  ShortcutPayload,
  SubmissionPayload,
  WireHome,
  WireView,
} from "./sdk-types.ts";
import { messageToWire } from "./web-api/wire.ts";
import type { Channel, User } from "./entities.ts";
import type { Workspace } from "./workspace.ts";

/** An interaction: the place, the person, and the ways to answer it. */
export type Interaction = {
  workspace: Workspace;
  user: User;
  channel: Channel;
  triggerId: string;
  responseUrl: string;
};

/**
 * Returns the fields of a slash command. See
 * https://docs.slack.dev/interactivity/implementing-slash-commands
 */
export function commandPayload(at: Interaction, command: string, text: string) {
  return {
    token: at.workspace.verificationToken,
    team_id: at.workspace.team.id,
    team_domain: at.workspace.team.domain,
    channel_id: at.channel.id,
    channel_name: channelName(at.channel),
    user_id: at.user.id,
    user_name: at.user.name,
    command,
    text,
    api_app_id: at.workspace.bot.appId,
    is_enterprise_install: "false",
    response_url: at.responseUrl,
    trigger_id: at.triggerId,
  } satisfies CommandPayload;
}

/**
 * Returns the payload of a message shortcut. See
 * https://docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload
 */
export function shortcutPayload(at: Interaction, callbackId: string, message: SlackMessage) {
  return {
    type: "message_action",
    ...interactionFields(at),
    // Other payloads have a `username`, but this one hasn't.
    user: { id: at.user.id, name: at.user.name, team_id: homeOf(at.user, at.workspace) },
    callback_id: callbackId,
    message_ts: message.ts,
    message: messageToWire(message, at.workspace),
    action_ts: at.workspace.timestamps.next(),
  } satisfies ShortcutPayload;
}

/** A press or a choice of a person. */
export type Act = {
  element: Button | StaticSelect | Overflow | FeedbackButtons;
  blockId: string;
  /**
   * The value of the option that was chosen in a select menu. For feedback buttons, it is
   * `positive` or `negative`.
   */
  option?: string;
};

/**
 * Returns the payload of a press or choice in a message. See
 * https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
 */
export function actionPayload(
  at: Interaction,
  act: Act,
  on: { message: SlackMessage } | { ephemeral: Ephemeral },
) {
  const isEphemeral = "ephemeral" in on;
  const { ts, thread_ts } = isEphemeral ? on.ephemeral : on.message;
  return {
    type: "block_actions",
    ...interactionFields(at),
    user: userOf(at.user, at.workspace),
    api_app_id: at.workspace.bot.appId,
    container: {
      type: "message",
      message_ts: ts,
      channel_id: at.channel.id,
      is_ephemeral: isEphemeral,
      ...(thread_ts !== undefined && { thread_ts }),
    },
    // Slack doesn't keep ephemeral messages, so these payloads carry no message.
    ...(!isEphemeral && { message: messageToWire(on.message, at.workspace) }),
    state: { values: {} },
    actions: [{ ...actionOf(act), action_ts: at.workspace.timestamps.next() }],
  } satisfies ActionPayload;
}

/** Returns the payload of a press or choice in a modal. It has no `response_url`. */
export function viewActionPayload(
  workspace: Workspace,
  user: User,
  act: Act,
  at: { view: WireView | WireHome; triggerId: string },
) {
  return {
    type: "block_actions",
    team: teamOf(workspace),
    user: userOf(user, workspace),
    api_app_id: workspace.bot.appId,
    token: workspace.verificationToken,
    container: { type: "view", view_id: at.view.id },
    trigger_id: at.triggerId,
    enterprise: null,
    is_enterprise_install: false,
    view: at.view,
    actions: [{ ...actionOf(act), action_ts: workspace.timestamps.next() }],
  } satisfies ActionPayload;
}

function actionOf({ element, blockId, option }: Act) {
  const common = { type: element.type, action_id: element.action_id, block_id: blockId };
  if (element.type === "static_select" || element.type === "overflow") {
    return { ...common, selected_option: optionOf(element, option ?? "") };
  }
  if (element.type === "feedback_buttons") {
    // As in @slack/bolt's FeedbackButtonsAction.
    const { text, value } = option === "negative" ? element.negative_button : element.positive_button;
    return { ...common, text, value };
  }
  const { value, url, style } = element;
  return {
    ...common,
    text: { emoji: true, ...element.text },
    ...(value !== undefined && { value }),
    ...(url !== undefined && { url }),
    ...(style !== undefined && { style }),
  };
}

/** Returns the option of a menu that has this value. Throws if the menu doesn't offer it. */
export function optionOf(
  menu: StaticSelect | Overflow,
  value: string,
): (StaticSelect | Overflow)["options"][number] {
  const option = menu.options.find((candidate) => candidate.value === value);
  if (option !== undefined) return option;
  const offered = menu.options.map((candidate) => candidate.value).join(", ");
  throw new ImpossibleForAPerson(`The menu does not offer "${value}". Choose one of: ${offered}.`);
}

/**
 * Returns the payload of a submitted modal. See
 * https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload
 */
export function submissionPayload(workspace: Workspace, user: User, view: WireView, triggerId: string) {
  return {
    type: "view_submission",
    ...viewFields(workspace, user, view),
    trigger_id: triggerId,
    response_urls: [],
  } satisfies SubmissionPayload;
}

/** Returns the payload of a closed modal. It has no trigger. */
export function closePayload(workspace: Workspace, user: User, view: WireView) {
  return {
    type: "view_closed",
    ...viewFields(workspace, user, view),
    is_cleared: false,
  } satisfies ClosePayload;
}

function viewFields(workspace: Workspace, user: User, view: WireView) {
  return {
    team: teamOf(workspace),
    user: userOf(user, workspace),
    api_app_id: workspace.bot.appId,
    token: workspace.verificationToken,
    view,
    is_enterprise_install: false,
    enterprise: null,
  };
}

/**
 * Returns an `app_mention` in its envelope. See https://docs.slack.dev/reference/events/app_mention
 */
export function mentionPayload(workspace: Workspace, message: SlackMessage) {
  const { files: _, ...shown } = message;
  const said = workspace.fileSettings.areNotInMentions ? shown : message;
  const event = { ...saidFields(workspace, said), type: "app_mention" as const };
  return { ...eventFields(workspace, message), event } satisfies MentionPayload;
}

/**
 * Returns the event for a message that somebody wrote. See
 * https://docs.slack.dev/reference/events/message.channels and …/message.im
 */
export function messagePayload(workspace: Workspace, message: SlackMessage) {
  const { kind } = workspace.channel(message.channel);
  const root =
    message.thread_ts === undefined ? undefined : workspace.log(message.channel).find(message.thread_ts);
  const event = {
    ...saidFields(workspace, message),
    type: "message" as const,
    // See https://docs.slack.dev/reference/events/message/file_share. The mention has no subtype.
    ...(message.files !== undefined && { subtype: "file_share" as const }),
    ...(root !== undefined && { parent_user_id: root.user }),
    channel_type: CHANNEL_TYPES[kind],
  };
  return { ...eventFields(workspace, message), event } satisfies MessagePayload;
}

/**
 * Returns the event for a person who opened the direct messages with the app. See
 * https://docs.slack.dev/reference/events/app_home_opened
 */
export function homeOpenedPayload(
  workspace: Workspace,
  user: User,
  channel: Channel,
  tab: "home" | "messages" = "messages",
) {
  const ts = workspace.timestamps.next();
  const event = {
    type: "app_home_opened" as const,
    user: user.id,
    channel: channel.id,
    tab,
    event_ts: ts,
  };
  return { ...eventFields(workspace, { channel: channel.id, ts }), event } satisfies HomeOpenedPayload;
}

/**
 * Returns the event for a person who pressed the Stop button of an app's session. See
 * https://docs.slack.dev/reference/events/agent_session_stopped
 */
export function sessionStoppedPayload(workspace: Workspace, user: User, channel: Channel, threadTs: string) {
  const ts = workspace.timestamps.next();
  const event = {
    type: "agent_session_stopped" as const,
    channel: channel.id,
    user: user.id,
    thread_ts: threadTs,
    streaming_message_ts: [],
    event_ts: ts,
  };
  return { ...eventFields(workspace, { channel: channel.id, ts }), event } satisfies SessionStoppedPayload;
}

export const CHANNEL_TYPES = { public: "channel", private: "group", im: "im", mpim: "mpim" } as const;

export function saidFields(workspace: Workspace, message: SlackMessage) {
  const author = workspace.findUser(message.user);
  const home = homeOf(author, workspace);
  return {
    user: message.user,
    ts: message.ts,
    client_msg_id: randomUUID(),
    text: message.text,
    team: home,
    // Recorded payloads of shared channels have these fields
    // (test/fixtures/slack-samples/events/AppMentionPayload.json).
    ...(author?.home !== undefined && { user_team: home, source_team: home }),
    ...(message.thread_ts !== undefined && { thread_ts: message.thread_ts }),
    blocks: message.blocks ?? [],
    ...(message.attachments !== undefined && { attachments: message.attachments }),
    // Both events have them, as github.com/slackapi/bolt-js/issues/2056 and
    // seratch/seratch-slack-types/issues/8 show.
    ...(message.files !== undefined && {
      files: message.files.map((file) => fileInMessage(file, workspace.filesUrl, workspace.fileSettings)),
      upload: false,
      display_as_bot: false,
    }),
    channel: message.channel,
    event_ts: message.ts,
  };
}

export function eventFields(workspace: Workspace, message: Pick<SlackMessage, "channel" | "ts">) {
  const { team, bot } = workspace;
  const { members, hostTeamId } = workspace.channel(message.channel);
  return {
    token: workspace.verificationToken,
    // The team is that of the organization that shares the channel, according to
    // github.com/slackapi/bolt-js/issues/687. `authorizations` names the app's own team.
    team_id: hostTeamId ?? team.id,
    context_team_id: team.id,
    api_app_id: bot.appId,
    type: "event_callback" as const,
    event_id: makeId("Ev"),
    event_time: Math.floor(Number(message.ts)),
    authorizations: [
      {
        enterprise_id: null,
        team_id: team.id,
        user_id: bot.userId,
        is_bot: true,
        is_enterprise_install: false,
      },
    ],
    is_ext_shared_channel:
      hostTeamId !== undefined || [...members].some((id) => workspace.findUser(id)?.home !== undefined),
    event_context: `4-${Buffer.from(`${team.id}:${message.channel}:${message.ts}`).toString("base64")}`,
  };
}

function interactionFields(at: Interaction) {
  return {
    token: at.workspace.verificationToken,
    team: teamOf(at.workspace),
    enterprise: null,
    is_enterprise_install: false,
    channel: { id: at.channel.id, name: channelName(at.channel) },
    trigger_id: at.triggerId,
    response_url: at.responseUrl,
  };
}

function teamOf({ team }: Workspace) {
  return { id: team.id, domain: team.domain };
}

function userOf(user: User, { team }: Workspace) {
  return { id: user.id, username: user.name, name: user.name, team_id: user.home?.teamId ?? team.id };
}

function homeOf(user: User | undefined, { team }: Workspace): string {
  return user?.home?.teamId ?? team.id;
}

/**
 * Returns the name for these payloads. Slack doesn't tell apps the names of private conversations.
 */
function channelName(channel: Channel): string {
  if (channel.kind === "private") return "privategroup";
  if (channel.kind === "im") return "directmessage";
  return channel.name;
}

/** Makes the notice that a person gets instead of a command's answer. */
export function failureNotice(what: string, failure: string): { from: string; text: string } {
  return { from: SLACKBOT, text: `${what} failed with the error "${failure}"` };
}
