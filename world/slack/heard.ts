import type { SlackMessage } from "./messages.ts";
import { CHANNEL_TYPES, eventFields, mentionPayload, messagePayload, saidFields } from "./payloads.ts";
import type { ChangePayload, MentionPayload } from "./sdk-types.ts";
import { messageToWire } from "./web-api/wire.ts";
import type { Workspace } from "./workspace.ts";

/**
 * Returns the events about a message that an app gets if it subscribed to `events`. Where the bot
 * is a member, these are the mention, and the message itself if the app gets all messages there.
 * The mention comes first.
 */
export function saidPayloads(workspace: Workspace, events: readonly string[], message: SlackMessage) {
  const { asMention, asMessage } = heard(workspace, events, message);
  return [
    ...(asMention ? [mentionPayload(workspace, message)] : []),
    ...(asMessage ? [messagePayload(workspace, message)] : []),
  ];
}

/** Returns the events about an edit, in the same way. `before` is the message as it was. */
export function editPayloads(
  workspace: Workspace,
  events: readonly string[],
  message: SlackMessage,
  before: SlackMessage,
) {
  const { asMention, asMessage } = heard(workspace, events, message);
  return [
    ...(asMention ? [editedMentionPayload(workspace, message)] : []),
    ...(asMessage ? [changePayload(workspace, message, before)] : []),
  ];
}

function heard(workspace: Workspace, events: readonly string[], message: SlackMessage) {
  const { kind } = workspace.channel(message.channel);
  const isMentioned = message.mentions.includes(`@${workspace.bot.userId}`);
  const isDirect = kind === "im" || kind === "mpim";
  const ofMessages = {
    public: "message.channels",
    private: "message.groups",
    im: "message.im",
    mpim: "message.mpim",
  }[kind];
  const isHeard = workspace.isBotIn(message.channel);
  return {
    // Slack sends no app_mention from direct messages. See
    // https://docs.slack.dev/reference/events/app_mention
    asMention: isHeard && isMentioned && !isDirect && events.includes("app_mention"),
    asMessage: isHeard && events.includes(ofMessages),
  };
}

/**
 * Slack sends an event for a mention in a message that was edited, and for one that an edit added.
 * See github.com/slack-go/slack/pull/1256.
 */
function editedMentionPayload(workspace: Workspace, message: SlackMessage) {
  const { edited } = message;
  const event = {
    ...saidFields(workspace, message),
    type: "app_mention" as const,
    ...(edited !== undefined && { edited, event_ts: edited.ts }),
  };
  return { ...eventFields(workspace, message), event } satisfies MentionPayload;
}

/** https://docs.slack.dev/reference/events/message/message_changed */
function changePayload(workspace: Workspace, message: SlackMessage, before: SlackMessage) {
  const ts = message.edited?.ts ?? message.ts;
  const event = {
    type: "message" as const,
    subtype: "message_changed" as const,
    hidden: true as const,
    channel: message.channel,
    channel_type: CHANNEL_TYPES[workspace.channel(message.channel).kind],
    ts,
    event_ts: ts,
    message: messageToWire(message, workspace),
    previous_message: messageToWire(before, workspace),
  };
  return { ...eventFields(workspace, message), event } satisfies ChangePayload;
}
