import { ImpossibleForAPerson, type Person, type SlackSide, SLACKBOT } from "../../world/slack/index.ts";
import { escapeMrkdwn } from "../../src/app/messages/mrkdwn.ts";
import { answerInvitation, inviteAbsentApp } from "./absent-app.ts";
import { readComposed, userNamed } from "./composed.ts";
import type { EventRetries } from "./event-retries.ts";
import type { ActResult, AppSurface, PageAct } from "./page-protocol.ts";
import { canSee } from "./page-state.ts";
import type { ReadMarks } from "./read-marks.ts";

/** The dependencies of {@link perform}. */
export type ActDeps = {
  slack: SlackSide;
  surface: AppSurface;
  marks: ReadMarks;
  retries: EventRetries;
  /** Announces a change that the workspace itself doesn't notice. */
  changed: () => void;
};

/**
 * Performs an act as this person. Throws `ImpossibleForAPerson` or `NotInWorkspace` for something
 * that Slack's client wouldn't offer.
 */
export async function perform(act: PageAct, person: Person, deps: ActDeps): Promise<ActResult> {
  const { slack, marks } = deps;
  switch (act.kind) {
    case "compose":
      return compose(act, person, deps);
    case "shortcut":
      return resultOf(await person.shortcut(act));
    case "click":
      if (answerInvitation(act, person, slack)) return {};
      return resultOf(
        await person.click({
          ...pressedOf(act),
          channel: act.channel,
          messageTs: act.messageTs,
          ephemeral: act.isEphemeral,
        }),
      );
    case "click-in-view":
      return resultOf(
        await person.clickInView({ ...pressedOf(act), viewId: act.viewId, values: act.values }),
      );
    case "submit":
      return resultOf(await person.submit(act));
    case "close-view":
      return resultOf(await person.closeView(act));
    case "dismiss":
      person.dismiss(act);
      return {};
    case "read":
      refuseUnseen(act.channel, person, deps);
      if (marks.read({ user: person.user.id, channel: act.channel, thread: act.threadTs, ts: act.ts })) {
        deps.changed();
      }
      return {};
    case "join":
      refuseUnseen(act.channel, person, deps);
      slack.workspace.invite(act.channel, person.user.id);
      return { channel: act.channel };
    case "open-direct-message":
      return openApp(person, deps);
  }
}

async function openApp(person: Person, { retries }: ActDeps): Promise<ActResult> {
  const { channel, outcome } = await person.openApp();
  if (outcome !== undefined) retries.follow(outcome);
  return { channel: channel.id };
}

function pressedOf({
  actionId,
  blockId,
  option,
}: {
  actionId: string;
  blockId: string;
  option?: string | undefined;
}) {
  return { actionId, blockId, ...(option !== undefined && { option }) };
}

function resultOf(outcome: { failure?: string } | undefined): ActResult {
  return outcome?.failure === undefined ? {} : { failure: outcome.failure };
}

function refuseUnseen(channelId: string, { user }: Person, { slack }: ActDeps): void {
  const channel = slack.workspace.channel(channelId);
  if (canSee(channel, user)) return;
  throw new ImpossibleForAPerson(`${user.name} cannot see ${channel.name}: invite them first.`);
}

async function compose(
  act: Extract<PageAct, { kind: "compose" }>,
  person: Person,
  deps: ActDeps,
): Promise<ActResult> {
  const { slack, retries } = deps;
  const { workspace } = slack;
  const composed = readComposed(act.text, workspace);
  const channel = workspace.channel(act.channel);
  if (composed.kind === "message") {
    if (composed.parts.length === 0 && act.file === undefined) return {};
    const outcome = await person.say({
      channel: act.channel,
      text: composed.parts,
      ...(act.threadTs !== undefined && { threadTs: act.threadTs }),
      ...(act.file !== undefined && {
        files: [{ ...act.file, content: Buffer.from(act.file.content, "base64") }],
      }),
    });
    retries.follow(outcome);
    inviteAbsentApp(outcome.message, person, slack);
    return {};
  }
  if (act.file !== undefined) throw new ImpossibleForAPerson("A command can't carry a file.");
  if (!channel.members.has(person.user.id)) {
    throw new ImpossibleForAPerson(`Join #${channel.name} to write there.`);
  }
  const { command, text } = composed;
  const notice = commandProblem(command, act.threadTs, deps) ?? builtIn(command, text, act.channel, deps);
  if (notice !== undefined) {
    if (notice !== "") tell(notice, act, person, deps);
    return {};
  }
  await person.command({ channel: act.channel, command, text });
  return {};
}

/** Commands of the workspace itself. The app's messages tell people to use them. */
const BUILT_INS = ["/invite", "/remove"];

function commandProblem(
  command: string,
  threadTs: string | undefined,
  { surface }: ActDeps,
): string | undefined {
  const isKnown = BUILT_INS.includes(command) || surface.commands.some((known) => known.command === command);
  if (!isKnown) {
    return `${command} is not a valid command. To send it as a message, put a space in front of the slash.`;
  }
  return threadTs === undefined ? undefined : `${command} is not supported in threads. Sorry!`;
}

/**
 * Runs a built-in command and returns its message, which is empty if its effect is visible. Returns
 * undefined if the command belongs to the app.
 */
function builtIn(command: string, text: string, channelId: string, { slack }: ActDeps): string | undefined {
  if (!BUILT_INS.includes(command)) return undefined;
  const { workspace } = slack;
  const channel = workspace.channel(channelId);
  if (channel.kind === "im" || channel.kind === "mpim") return `${command} works in channels only.`;
  const userId = userNamed(text, workspace);
  if (userId === undefined) return `Nobody here has that name. Try ${command} @${workspace.bot.name}.`;
  const name = workspace.nameOf(userId) ?? userId;
  const isMember = channel.members.has(userId);
  if (command === "/invite") {
    if (isMember) return `@${name} is already in this channel.`;
    workspace.invite(channelId, userId);
    return `@${name} was added to #${channel.name}.`;
  }
  if (!isMember) return `@${name} is not in this channel.`;
  workspace.kick(channelId, userId);
  return `@${name} was removed from #${channel.name}.`;
}

function tell(
  text: string,
  { channel, threadTs }: { channel: string; threadTs?: string | undefined },
  { user }: Person,
  { slack }: ActDeps,
): void {
  slack.workspace.postEphemeral({
    channel,
    user: user.id,
    from: SLACKBOT,
    text: escapeMrkdwn(text),
    ...(threadTs !== undefined && { thread_ts: threadTs }),
  });
}
