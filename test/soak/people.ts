import { ImpossibleForAPerson } from "../../emulators/slack/index.ts";
import type { SlackDelivery, OpenView, DeliveryOutcome, SlackSide } from "../../emulators/slack/index.ts";
import { nextTryOf, turnIdOf } from "./ledger.ts";
import type { Entry, Ledger } from "./ledger.ts";
import { CHANNEL_COUNT } from "./plan.ts";
import type { Step } from "./plan.ts";

/** How long a person waits for a form, and for a button to press. */
const PATIENCE_MS = 5000;
const BUTTONS = ["try_again", "keep_watching"] as const;

type Ask = Extract<Step, { do: "ask" }>;

/** The people of one round, each of whom asks once. What the app took is noted in the ledger. */
export class People {
  readonly #slack: SlackSide;
  readonly #ledger: Ledger;
  readonly #round: number;
  readonly #appUrl: () => string;
  readonly #pressed = new Set<string>();
  readonly #channels: string[];
  #count = 0;

  constructor(options: { slack: SlackSide; ledger: Ledger; round: number; appUrl: () => string }) {
    const { slack } = options;
    this.#slack = slack;
    this.#ledger = options.ledger;
    this.#round = options.round;
    this.#appUrl = options.appUrl;
    this.#channels = Array.from({ length: CHANNEL_COUNT }, (_, index) => `C0ROUND${index}`);
    for (const [index, id] of this.#channels.entries()) {
      const withBot = index < CHANNEL_COUNT - 1;
      slack.workspace.addChannel({ id, name: `round-${index}`, members: [], withBot });
    }
  }

  get asked(): number {
    return this.#count;
  }

  get pressed(): number {
    return this.#pressed.size;
  }

  /** A person asks for something. Resolves when the app has answered, or has not. */
  async ask({ via, channel: index, repeats }: Ask): Promise<void> {
    this.#count += 1;
    const userId = `U0PERSON${this.#count}`;
    const marker = `[round-${this.#round}-${this.#count}]`;
    const channel = this.#channels[index] ?? "";
    const { workspace } = this.#slack;
    workspace.addUser({ id: userId, name: `person-${this.#count}` });
    workspace.invite(channel, userId);
    const person = this.#slack.person(userId);
    const text = `${marker} Fix the install command`;

    switch (via) {
      case "command": {
        const outcome = await person.command({ channel, text });
        return this.#note("command", outcome, { marker, userId }, repeats);
      }
      case "mention": {
        const root = workspace.say({ channel, user: userId, text: "The install page is wrong" });
        const outcome = await person.mention({ channel, text, threadTs: root.ts });
        const { delivery } = outcome;
        // Where the bot is not, Slack tells it nothing.
        if (delivery === undefined) return;
        return this.#note("mention", { ...outcome, delivery }, { marker, userId }, repeats);
      }
      case "form":
      case "shortcut": {
        const view = await this.#form(userId, channel, via);
        if (view === null) return;
        const values = { instructions: { instructions: text } };
        const outcome = await person.submit({ viewId: view.id, values });
        return this.#note("form", outcome, { marker, userId }, repeats);
      }
    }
  }

  /** Someone presses a button of an outcome that nobody has pressed, as soon as there is one, `times` at once. */
  async press(times: number): Promise<void> {
    const found = await this.#slack.until(() => this.#nextButton(), PATIENCE_MS).catch(() => null);
    if (found === null) return;
    const { entry, watch, actionId, channel, ts } = found;
    const person = this.#slack.person(entry.userId);
    const clicks = Array.from({ length: times }, () => person.click({ channel, messageTs: ts, actionId }));
    const isAccepted = (await Promise.all(clicks)).some(({ status }) => status === 200);
    if (actionId === "try_again") {
      const { marker, userId } = entry;
      this.#ledger.add({ turnId: nextTryOf(entry.turnId, watch), marker, userId, isAccepted });
    } else if (isAccepted) entry.watches.asked += 1;
    else entry.watches.maybe += 1;
  }

  async #form(userId: string, channel: string, via: "form" | "shortcut"): Promise<OpenView | null> {
    const person = this.#slack.person(userId);
    if (via === "form") await person.command({ channel, text: "" });
    else {
      const { ts } = this.#slack.workspace.say({ channel, user: userId, text: "The FAQ says 14 days" });
      await person.shortcut({ callbackId: "fix_these_docs", channel, messageTs: ts });
    }
    // Its trigger lasts three seconds: no form means that nothing was asked for.
    return this.#slack.until(() => this.#slack.openViews(userId).at(-1), PATIENCE_MS).catch(() => null);
  }

  /** Notes what was taken, and lets Slack send it again. */
  async #note(
    how: Parameters<typeof turnIdOf>[0],
    outcome: DeliveryOutcome,
    who: Pick<Entry, "marker" | "userId">,
    repeats: number,
  ): Promise<void> {
    const turnId = turnIdOf(how, outcome.delivery);
    // An answer with words in it says that the request was not taken.
    this.#ledger.add({ turnId, ...who, isAccepted: outcome.status === 200 && outcome.body === "" });
    for (let retryNum = 1; retryNum <= repeats; retryNum += 1) {
      const again = await this.#again(outcome.delivery, how === "mention" ? retryNum : undefined);
      this.#ledger.add({ turnId, ...who, isAccepted: again.status === 200 && again.body === "" });
    }
  }

  #again(delivery: SlackDelivery, retryNum: number | undefined): Promise<DeliveryOutcome> {
    return this.#slack.redeliver(
      { ...delivery, url: this.#appUrl() },
      retryNum === undefined ? {} : { retryNum },
    );
  }

  /** A button for the caller alone: nobody else finds it from now on. */
  #nextButton() {
    for (const { id: channel } of this.#slack.workspace.channels()) {
      for (const message of this.#slack.messages(channel)) {
        const entry = this.#ledger.entries.get(String(message.metadata?.event_payload["turn_id"]));
        const post = String(message.metadata?.event_payload["post"]);
        const actionId = BUTTONS.find((id) => JSON.stringify(message.blocks ?? []).includes(`"${id}"`));
        if (entry === undefined || actionId === undefined) continue;
        if (this.#pressed.has(`${channel} ${message.ts}`)) continue;
        this.#pressed.add(`${channel} ${message.ts}`);
        return { entry, watch: Number(post.replace("outcome-", "")), actionId, channel, ts: message.ts };
      }
    }
    return undefined;
  }
}

/** Whether a person could not do what the plan said, because of what they see. */
export function isImpossible(thrown: unknown): boolean {
  return thrown instanceof ImpossibleForAPerson;
}
