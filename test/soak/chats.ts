import type { SlackMessage, SlackSide } from "../../world/slack/index.ts";
import { nameOf } from "./ledger.ts";
import type { Ledger } from "./ledger.ts";
import { messagesIn, patiently, somebodyIn } from "./places.ts";
import type { Chat } from "./plan.ts";

/** The texts that replace the question if the reply wasn't sent. */
const NOT_SENT = /couldn't save that|can't tell whether|too long ago|can't check right now/;
/** Above the numbers of words that are used in other ways. */
const FIRST_MARKER = 100_000;

type Sent = { turnId: string; marker: string; userId: string };

/**
 * Has people write replies in threads that mention nobody, and say whether these are for the agent
 * when they are asked.
 */
export class Chats {
  readonly #slack: SlackSide;
  readonly #ledger: Ledger;
  readonly #round: number;
  readonly #sent: Sent[] = [];
  #count = 0;
  /** The number of questions that were answered with either button. */
  answered = 0;

  constructor(slack: SlackSide, ledger: Ledger, round: number) {
    this.#slack = slack;
    this.#ledger = ledger;
    this.#round = round;
  }

  /** Has a new person say something in a thread with a request, as soon as there is one. */
  async say({ isForAgent }: Chat): Promise<void> {
    const status = await patiently(() => this.#someStatus());
    if (status === null) return;
    const { channel, ts, thread_ts: threadTs = ts } = status;
    this.#count += 1;
    const userId = somebodyIn(this.#slack, channel, `U0CHATTER${this.#count}`);
    const marker = `[round-${this.#round}-${FIRST_MARKER + this.#count}]`;
    const person = this.#slack.person(userId);
    const { message } = await person.say({ channel, threadTs, text: `${marker} And the glossary` });
    const question = await patiently(() => this.#questionTo(userId));
    if (question === null) return;
    const turnId = `mention:${this.#slack.workspace.team.id}:${channel}:${message.ts}`;
    if (isForAgent) this.#ledger.add({ turnId, marker, userId, isAccepted: false, sharesStatus: true });
    const actionId = isForAgent ? "send_reply" : "ignore_reply";
    const press = { channel, messageTs: question.ts, actionId, ephemeral: true };
    if ((await person.click(press)).status !== 200) return;
    this.answered += 1;
    if (isForAgent) this.#sent.push({ turnId, marker, userId });
  }

  /** Notes which replies were taken. Call it once, when everything has been said. */
  settle(): void {
    for (const sent of this.#sent) {
      const told = this.#slack.ephemerals(sent.userId).map((shown) => this.#slack.visibleText(shown));
      const isAccepted = !told.some((text) => NOT_SENT.test(text));
      this.#ledger.add({ ...sent, isAccepted, sharesStatus: true });
    }
  }

  #questionTo(userId: string) {
    const asks = ({ blocks }: Pick<SlackMessage, "blocks">) =>
      JSON.stringify(blocks ?? []).includes("send_reply");
    return this.#slack.ephemerals(userId).find(asks) ?? null;
  }

  #someStatus(): SlackMessage | null {
    const { workspace } = this.#slack;
    const all = messagesIn(this.#slack).filter(
      (post) => nameOf(post) === "status" && workspace.channel(post.channel).kind !== "im",
    );
    return all[this.#count % Math.max(1, all.length)] ?? null;
  }
}
