import { escapeMrkdwn } from "../../src/app/messages/mrkdwn.ts";
import type { AnyBlock } from "./block-kit/blocks.ts";
import type { Deliverer, SlackDelivery, DeliveryOutcome } from "./deliver.ts";
import { editPayloads, saidPayloads } from "./heard.ts";
import type { SlackMessage } from "./messages.ts";
import {
  type Act,
  actionPayload,
  closePayload,
  commandPayload,
  failureNotice,
  homeOpenedPayload,
  type Interaction,
  sessionStoppedPayload,
  viewActionPayload,
  shortcutPayload,
  submissionPayload,
} from "./payloads.ts";
import { ImpossibleForAPerson, SlackRefusal } from "./refusal.ts";
import type { ResponseUrls } from "./response-urls.ts";
import { ResponseBody, type ResponsePlace, showResponse } from "./responses.ts";
import type { Triggers } from "./triggers.ts";
import type { TypedPart } from "./typed-text.ts";
import { fillIn, typedState, type TypedValues } from "./view-values.ts";
import { settleSubmission } from "./view-submission.ts";
import type { OpenView, Views } from "./views.ts";
import { jsonOf } from "../../src/shared/text/text.ts";
import type { Channel, User } from "./entities.ts";
import { STOPPED_EVENT } from "./web-api/agents.ts";
import type { Workspace } from "./workspace.ts";

type PersonDeps = {
  workspace: Workspace;
  views: Views;
  triggers: Triggers;
  responseUrls: ResponseUrls;
  deliverer: Deliverer;
  /** The events that the app subscribed to. */
  events: readonly string[];
};

/**
 * The message of a mention, and the app's answer to the event. There is no delivery if the app
 * isn't a member of the channel, because then it gets no event.
 */
export type MentionOutcome = Omit<DeliveryOutcome, "delivery"> & {
  message: SlackMessage;
  delivery: SlackDelivery | undefined;
};

/**
 * The acts of one person in Slack. Each sends to the app exactly what Slack would send, and shows
 * the person what Slack would show.
 */
export class Person {
  readonly user: User;
  readonly #deps: PersonDeps;

  constructor(userId: string, deps: PersonDeps) {
    this.user = deps.workspace.user(userId);
    this.#deps = deps;
  }

  /**
   * Runs a slash command. `text` is as typed. The person sees the ack's text, or Slack's notice of
   * a failure.
   */
  async command(act: { channel: string; text?: string; command?: string }): Promise<DeliveryOutcome> {
    const channel = this.#ownChannel(act.channel);
    const command = act.command ?? "/docs-agent";
    const place: ResponsePlace = { channel: channel.id, user: this.user.id };
    const payload = commandPayload(this.#interaction(channel, place), command, escapeMrkdwn(act.text ?? ""));
    const outcome = await this.#deps.deliverer.deliver("slash_commands", payload);
    const failure = outcome.failure ?? this.#showAck(outcome.body, place);
    if (failure !== undefined) this.#notify(channel, failureNotice(command, failure));
    return outcome;
  }

  /**
   * Picks a message shortcut from a message's menu. This works where the bot isn't a member, too.
   */
  async shortcut(act: { callbackId: string; channel: string; messageTs: string }): Promise<DeliveryOutcome> {
    const channel = this.#readableChannel(act.channel);
    const message = this.#message(channel, act.messageTs);
    const interaction = this.#interaction(channel, { channel: channel.id, user: this.user.id });
    const payload = shortcutPayload(interaction, act.callbackId, message);
    const outcome = await this.#deps.deliverer.deliver("interactive", payload);
    if (outcome.failure !== undefined) this.#notify(channel, failureNotice(act.callbackId, outcome.failure));
    return outcome;
  }

  /** Presses a button, or chooses `option` in a menu, in a message or an ephemeral message. */
  async click(act: {
    channel: string;
    messageTs: string;
    actionId: string;
    /** Needed only if several blocks have this action id. */
    blockId?: string;
    ephemeral?: boolean;
    option?: string;
  }): Promise<DeliveryOutcome> {
    const channel = this.#readableChannel(act.channel);
    const on =
      act.ephemeral === true
        ? { ephemeral: this.#ephemeral(act.messageTs) }
        : { message: this.#message(channel, act.messageTs) };
    const blocks = ("ephemeral" in on ? on.ephemeral : on.message).blocks ?? [];
    const found = findElement(blocks, act);
    const interaction = this.#interaction(channel, { channel: channel.id, user: this.user.id, original: on });
    const chosen = act.option === undefined ? found : { ...found, option: act.option };
    return this.#deps.deliverer.deliver("interactive", actionPayload(interaction, chosen, on));
  }

  /**
   * Presses a button, or chooses `option` in a menu, in the modal in front. `values` are what was
   * typed so far. Inputs that it leaves out keep their present value.
   */
  async clickInView(act: {
    viewId: string;
    actionId: string;
    blockId?: string;
    option?: string;
    values?: TypedValues;
  }): Promise<DeliveryOutcome> {
    const { workspace, views, triggers, deliverer } = this.#deps;
    const open = this.#view(act.viewId);
    const found = findElement(open.view.blocks, act);
    const view = views.toWire(open, typedState(open.view, act.values ?? {}));
    const chosen = act.option === undefined ? found : { ...found, option: act.option };
    const triggerId = triggers.issue(this.user.id);
    const payload = viewActionPayload(workspace, this.user, chosen, { view, triggerId });
    return deliverer.deliver("interactive", payload);
  }

  /** Presses a button, or chooses `option` in a menu, in the Home tab. */
  async clickInHome(act: { actionId: string; option?: string }): Promise<DeliveryOutcome> {
    const { workspace, views, triggers, deliverer } = this.#deps;
    const home = views.homeOf(this.user.id);
    if (home === undefined) throw new ImpossibleForAPerson("The Home tab is empty.");
    const found = findElement(home.view.blocks, act);
    const chosen = act.option === undefined ? found : { ...found, option: act.option };
    const view = views.homeToWire(home);
    const triggerId = triggers.issue(this.user.id);
    return deliverer.deliver(
      "interactive",
      viewActionPayload(workspace, this.user, chosen, { view, triggerId }),
    );
  }

  /** Removes an ephemeral message from the person's screen. The app isn't told. */
  dismiss(act: { messageTs: string }): void {
    this.#deps.workspace.removeEphemeral(this.#ephemeral(act.messageTs));
  }

  /**
   * Submits a modal. Inputs that `values` leaves out keep their present value. Slack's own checks
   * come first.
   */
  async submit(act: { viewId: string; values?: TypedValues }): Promise<DeliveryOutcome> {
    const { workspace, views, triggers, deliverer } = this.#deps;
    const open = this.#view(act.viewId);
    const view = views.toWire(open, fillIn(open.view, act.values ?? {}));
    const payload = submissionPayload(workspace, this.user, view, triggers.issue(this.user.id));
    const outcome = await deliverer.deliver("interactive", payload);
    settleSubmission(outcome, open, views);
    return outcome;
  }

  /** Closes a modal. The app is told only if the modal asks for it. */
  async closeView(act: { viewId: string }): Promise<DeliveryOutcome | undefined> {
    const { workspace, views, deliverer } = this.#deps;
    const open = this.#view(act.viewId);
    if (open.view.clear_on_close === true) views.closeAll(this.user.id);
    else views.close(open);
    if (open.view.notify_on_close !== true) return undefined;
    const payload = closePayload(workspace, this.user, views.toWire(open));
    return deliverer.deliver("interactive", payload);
  }

  /** Posts a message that mentions the bot. `text` is as typed after the mention. */
  async mention(act: {
    channel: string;
    text: string;
    threadTs?: string;
    files?: Parameters<Workspace["say"]>[0]["files"];
    attachments?: Parameters<Workspace["say"]>[0]["attachments"];
    blocks?: Parameters<Workspace["say"]>[0]["blocks"];
  }): Promise<MentionOutcome> {
    return this.say({ ...act, text: `<@${this.#deps.workspace.bot.userId}> ${act.text}` });
  }

  /**
   * Posts a message, in a thread if `threadTs` names its root. Where the bot is a member, the app
   * gets an event for a mention of it, and another for the message if it subscribed to all
   * messages. If there are two, the answer to the mention counts.
   */
  async say(act: {
    channel: string;
    text: string | readonly TypedPart[];
    threadTs?: string;
    files?: Parameters<Workspace["say"]>[0]["files"];
    attachments?: Parameters<Workspace["say"]>[0]["attachments"];
    blocks?: Parameters<Workspace["say"]>[0]["blocks"];
  }): Promise<MentionOutcome> {
    const { workspace, deliverer, events } = this.#deps;
    const channel = this.#ownChannel(act.channel);
    const message = workspace.say({
      channel: channel.id,
      user: this.user.id,
      text: act.text,
      ...(act.threadTs !== undefined && { threadTs: act.threadTs }),
      ...(act.files !== undefined && { files: act.files }),
      ...(act.attachments !== undefined && { attachments: act.attachments }),
      ...(act.blocks !== undefined && { blocks: act.blocks }),
    });
    const payloads = saidPayloads(workspace, events, message);
    const [first] = await Promise.all(payloads.map((payload) => deliverer.deliver("events_api", payload)));
    return first === undefined
      ? { message, delivery: undefined, status: 0, body: "" }
      : { ...first, message };
  }

  /**
   * Changes the words of the person's own message. The app gets events as for a message. Resolves
   * to its answers.
   */
  async edit(act: { channel: string; messageTs: string; text: string }): Promise<DeliveryOutcome[]> {
    const { workspace, deliverer, events } = this.#deps;
    const channel = this.#ownChannel(act.channel);
    const message = this.#message(channel, act.messageTs);
    if (message.user !== this.user.id) {
      throw new ImpossibleForAPerson(
        `${this.user.name} did not write ${message.ts}, so it is not theirs to edit.`,
      );
    }
    const before = { ...message };
    workspace.edit(message, act.text);
    const payloads = editPayloads(workspace, events, message, before);
    return Promise.all(payloads.map((payload) => deliverer.deliver("events_api", payload)));
  }

  /** Opens the app at its direct messages or its Home tab. An app that subscribed gets an event. */
  async openApp(
    tab: "home" | "messages" = "messages",
  ): Promise<{ channel: Channel; outcome: DeliveryOutcome | undefined }> {
    const { workspace, events, deliverer } = this.#deps;
    const channel = workspace.openDirectMessage([this.user.id]);
    if (!events.includes("app_home_opened")) return { channel, outcome: undefined };
    const payload = homeOpenedPayload(workspace, this.user, channel, tab);
    return { channel, outcome: await deliverer.deliver("events_api", payload) };
  }

  /**
   * Presses the Stop button that Slack shows while the app's session in a thread is processing. The
   * session stays as it is.
   */
  async stopSession(act: { channel: string; threadTs: string }): Promise<DeliveryOutcome> {
    const { workspace, events, deliverer } = this.#deps;
    const channel = this.#readableChannel(act.channel);
    if (!workspace.threadStatuses.hasLoader(channel.id, act.threadTs) || !events.includes(STOPPED_EVENT)) {
      throw new ImpossibleForAPerson(`There is no Stop button in thread ${act.threadTs}.`);
    }
    const payload = sessionStoppedPayload(workspace, this.user, channel, act.threadTs);
    return deliverer.deliver("events_api", payload);
  }

  #interaction(channel: Channel, place: ResponsePlace): Interaction {
    const { workspace, triggers, responseUrls } = this.#deps;
    return {
      workspace,
      user: this.user,
      channel,
      triggerId: triggers.issue(this.user.id),
      responseUrl: responseUrls.issue(place),
    };
  }

  /** Shows the message of an ack. If it can't be shown, returns the failure that Slack reports. */
  #showAck(body: string, place: ResponsePlace): string | undefined {
    if (body === "") return undefined;
    const json = jsonOf(body);
    const parsed = ResponseBody.safeParse(typeof json === "object" ? json : { text: body });
    if (!parsed.success) return "invalid_command_response";
    if ((parsed.data.text ?? "") === "" && parsed.data.blocks === undefined) return undefined;
    try {
      showResponse(this.#deps.workspace, parsed.data, place);
      return undefined;
    } catch (thrown) {
      if (thrown instanceof SlackRefusal) return thrown.error;
      throw thrown;
    }
  }

  #notify(channel: Channel, notice: { from: string; text: string }): void {
    this.#deps.workspace.postEphemeral({ ...notice, channel: channel.id, user: this.user.id });
  }

  #ownChannel(id: string): Channel {
    const channel = this.#deps.workspace.channel(id);
    if (!channel.members.has(this.user.id)) {
      throw new ImpossibleForAPerson(`${this.user.name} is not in ${channel.name}: invite them first.`);
    }
    if (channel.isArchived) {
      throw new ImpossibleForAPerson(`${channel.name} is archived: nobody can write there.`);
    }
    return channel;
  }

  #readableChannel(id: string): Channel {
    const channel = this.#deps.workspace.channel(id);
    if (channel.kind === "public" || channel.members.has(this.user.id)) return channel;
    throw new ImpossibleForAPerson(`${this.user.name} cannot see ${channel.name}: invite them first.`);
  }

  #message(channel: Channel, ts: string): SlackMessage {
    const message = this.#deps.workspace.log(channel.id).find(ts);
    if (message !== undefined && message.subtype !== "tombstone") return message;
    throw new ImpossibleForAPerson(`There is no message ${ts} in ${channel.name} to act on.`);
  }

  #ephemeral(ts: string) {
    const shown = this.#deps.workspace.ephemerals(this.user.id).find((ephemeral) => ephemeral.ts === ts);
    if (shown !== undefined) return shown;
    throw new ImpossibleForAPerson(`${this.user.name} sees no ephemeral message ${ts}.`);
  }

  #view(id: string): OpenView {
    const open = this.#deps.views.openFor(this.user.id).at(-1);
    if (open?.id === id) return open;
    throw new ImpossibleForAPerson(`The view ${id} is not the one ${this.user.name} has in front.`);
  }
}

function findElement(
  blocks: readonly AnyBlock[],
  { actionId, blockId }: { actionId: string; blockId?: string },
): { element: Act["element"]; blockId: string } {
  // Slack renames a message's blocks with each update. A button that was shown a moment ago still
  // counts.
  const isNamed = blocks.some(({ block_id }) => block_id === blockId);
  for (const block of blocks) {
    if (isNamed && block.block_id !== blockId) continue;
    const elements =
      block.type === "actions" || block.type === "context_actions"
        ? block.elements
        : block.type === "section"
          ? [block.accessory]
          : [];
    for (const element of elements) {
      if (element === undefined || element.type === "image" || element.action_id !== actionId) continue;
      return { element, blockId: block.block_id ?? "" };
    }
  }
  throw new ImpossibleForAPerson(`That button is gone: the message has changed. (${actionId})`);
}
