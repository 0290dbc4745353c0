import type { SlackDelivery, SlackMessage, SlackSide } from "../../world/slack/index.ts";
import type { FollowUps } from "../../src/app/rules/thread/people.ts";
import { pick, taken } from "./conversation-ledger.ts";
import type { Chat, ConversationLedger } from "./conversation-ledger.ts";
import { SECRET_CHANNEL } from "./world.ts";

type Pressable = { channel: string; ts: string; actionId: string; option?: string; value: string };

/**
 * Makes the people of a conversation press buttons, in messages that all see and in those that they
 * alone see.
 */
export class ConversationPresses {
  readonly #slack: SlackSide;
  readonly #ledger: ConversationLedger;
  readonly #guest: string;
  readonly #followUps: FollowUps;
  readonly #pressed: SlackDelivery[] = [];
  /** The questions whether a reply is for the agent, by their value. */
  readonly #asked = new Map<string, object>();
  readonly faults: string[] = [];

  constructor(parts: { slack: SlackSide; ledger: ConversationLedger; guest: string; followUps: FollowUps }) {
    this.#slack = parts.slack;
    this.#ledger = parts.ledger;
    this.#guest = parts.guest;
    this.#followUps = parts.followUps;
  }

  /**
   * Notes the people who were asked whether a reply is for the agent. Only its author may be asked,
   * and only once.
   */
  look(): void {
    for (const shown of this.#slack.ephemerals()) {
      const question = pressables(shown).find(({ actionId }) => actionId === "send_reply");
      if (question === undefined) continue;
      const { value } = question;
      const known = this.#asked.get(value) ?? shown;
      this.#asked.set(value, known);
      if (known !== shown) this.faults.push(`asked twice: ${value}`);
      if (this.#chatOf(shown.user, value) === undefined)
        this.faults.push(`${shown.user} was asked about what somebody else said: ${value}`);
    }
  }

  /** Has Slack send a press once more. */
  async again(which: number): Promise<void> {
    const delivery = pick(this.#pressed, which);
    if (delivery !== undefined) await this.#slack.redeliver(delivery, { resign: true });
  }

  /**
   * Presses a button that this person sees, or chooses in a menu. With `only`, it is one with this
   * id.
   */
  async press(userId: string, which: number, only?: string): Promise<void> {
    const slack = this.#slack;
    const shown = channelsOf(slack, userId)
      .flatMap((id) => slack.messages(id))
      .filter(({ bot_id }) => bot_id !== undefined)
      .flatMap(pressables);
    const wanted = only === undefined ? shown : shown.filter((button) => button.actionId === only);
    const pressed = pick(wanted, which);
    if (pressed === undefined) return;
    const { channel, ts, actionId, option, value } = pressed;
    const click = { channel, messageTs: ts, actionId };
    const { status, delivery } = await slack
      .person(userId)
      .click(option === undefined ? click : { ...click, option });
    taken(status, actionId);
    // Slack sends none of these twice, and its trigger opens one form only.
    if (actionId !== "answer_in_words") this.#pressed.push(delivery);
    if (actionId === "follow_menu") this.#ledger.choosers.add(userId);
    if (actionId !== "try_again" || userId === this.#guest) return;
    // Under that policy, only its requester may try a follow-up again.
    const mayBeRefused = this.#followUps === "requester" && /"(mention|again):/.test(value);
    (mayBeRefused ? this.#ledger.maybeRetried : this.#ledger.retried).add(value);
  }

  /** Presses a button in a message that only this person sees, preferably in a newer one. */
  async pressAlone(userId: string, which: number): Promise<void> {
    const slack = this.#slack;
    const { members } = slack.workspace.channel(SECRET_CHANNEL);
    const shown = slack
      .ephemerals(userId)
      .filter(({ channel }) => channel !== SECRET_CHANNEL || members.has(userId))
      .flatMap(pressables);
    const pressed = pick(shown.toReversed(), which);
    if (pressed === undefined) return;
    const { channel, ts: messageTs, actionId, value } = pressed;
    const click = { channel, messageTs, actionId, ephemeral: true };
    const { status, delivery } = await slack.person(userId).click(click);
    taken(status, actionId);
    this.#pressed.push(delivery);
    if (actionId !== "send_reply") return;
    const chat = this.#chatOf(userId, value);
    if (chat === undefined || chat.isForOthers === true || this.#ledger.sent.has(chat.ts)) return;
    // The message may have been edited since.
    const message = slack.messages(chat.channel).find(({ ts }) => ts === chat.ts);
    const [now] = this.#ledger.in(message?.text ?? "");
    this.#ledger.sent.set(chat.ts, now?.words ?? "");
  }

  #chatOf(userId: string, value: string): Chat | undefined {
    return this.#ledger.chats.find(({ ts, by }) => by === userId && value.includes(ts));
  }
}

/**
 * Returns the channels in which a person reads and writes, including direct messages with the app.
 */
export function channelsOf({ workspace }: SlackSide, userId: string): string[] {
  return workspace
    .channels()
    .filter(({ members }) => members.has(userId))
    .map(({ id }) => id);
}

function pressables({
  channel,
  ts,
  blocks = [],
}: Pick<SlackMessage, "channel" | "ts" | "blocks">): Pressable[] {
  return blocks.flatMap((block) => {
    if (block.type !== "actions") return [];
    return block.elements.flatMap((element): Pressable[] => {
      const actionId = element.action_id ?? "";
      if (element.type === "button") {
        return element.url === undefined ? [{ channel, ts, actionId, value: element.value ?? "" }] : [];
      }
      if (element.type !== "overflow") return [];
      return element.options.map(({ value }) => ({ channel, ts, actionId, option: value, value }));
    });
  });
}
