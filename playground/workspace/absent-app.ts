import { type Person, type SlackMessage, type SlackSide, SLACKBOT } from "../../world/slack/index.ts";
import type { PageAct } from "./page-protocol.ts";

const INVITE = "invite_mentioned";
const DO_NOTHING = "do_nothing";

/**
 * Asks a person privately, as Slack does, after they mention an app in a channel that it isn't in.
 * The app doesn't hear of that message. The words are those that people quote:
 * https://github.com/slackapi/bolt-python/issues/229
 */
export function inviteAbsentApp(message: SlackMessage, { user }: Person, { workspace }: SlackSide): void {
  const channel = workspace.channel(message.channel);
  const { bot } = workspace;
  if (channel.kind === "im" || channel.kind === "mpim" || channel.members.has(bot.userId)) return;
  if (!message.mentions.includes(`@${bot.userId}`)) return;
  const text =
    `You mentioned <@${bot.userId}>, but they're not in this ` +
    `${channel.kind === "private" ? "private " : ""}channel.`;
  workspace.postEphemeral({
    channel: channel.id,
    user: user.id,
    from: SLACKBOT,
    text,
    blocks: [
      { type: "section", block_id: "absent", text: { type: "mrkdwn", text } },
      {
        type: "actions",
        block_id: "choices",
        elements: [
          { type: "button", action_id: INVITE, text: { type: "plain_text", text: "Invite Them" } },
          { type: "button", action_id: DO_NOTHING, text: { type: "plain_text", text: "Do Nothing" } },
        ],
      },
    ],
    ...(message.thread_ts !== undefined && { thread_ts: message.thread_ts }),
  });
}

/** Does what a button of that question promises. Returns false if the button belongs to the app. */
export function answerInvitation(
  { actionId, channel, messageTs, isEphemeral }: Extract<PageAct, { kind: "click" }>,
  person: Person,
  slack: SlackSide,
): boolean {
  const { workspace } = slack;
  const question = slack
    .ephemerals(person.user.id)
    .find(({ ts, from }) => ts === messageTs && from === SLACKBOT);
  if (!isEphemeral || question === undefined || (actionId !== INVITE && actionId !== DO_NOTHING))
    return false;
  if (actionId === INVITE) workspace.invite(channel, workspace.bot.userId);
  person.dismiss({ messageTs });
  return true;
}
