import { setTimeout as sleep } from "node:timers/promises";
import { ImpossibleForAPerson } from "../../world/slack/index.ts";
import type {
  DeliveryOutcome,
  OpenView,
  SlackDelivery,
  SlackMessage,
  SlackSide,
} from "../../world/slack/index.ts";
import { ActionIds } from "./action-ids.ts";
import { nameOf, nextTryOf, turnIdOf, turnOf } from "./ledger.ts";
import type { Entry, Ledger } from "./ledger.ts";
import { messagesIn, patiently, somebodyIn } from "./places.ts";
import type { Ask, Reply, Steer } from "./plan.ts";
import { isTaken } from "../support/taken.ts";

/** Longer than a form's trigger, which lasts three seconds. */
const FORM_WITHIN_MS = 5000;
const STEERING = {
  stop: "stop_turn",
  follow: "follow_menu",
  choice: "answer_choice_0",
  words: "answer_in_words",
} as const;
const BUTTONS = ["try_again", "keep_watching"] as const;

/**
 * The texts to a person whose press the app couldn't save, or whose membership it couldn't check.
 */
const NOT_KEPT = /I can't tell whether that was saved|I can't check right now/;

/** Options of {@link People}. */
export type PeopleOptions = {
  slack: SlackSide;
  ledger: Ledger;
  round: number;
  appUrl: () => string;
  /** The bot is in all channels but the last. */
  channels: number;
  /** The delays before Slack sends an event again that wasn't answered with 200. @default never */
  eventRetriesMs?: readonly number[];
};

/** The people of one round. Each of them does one thing. The ledger notes what the app took. */
export class People {
  readonly #slack: SlackSide;
  readonly #ledger: Ledger;
  readonly #round: number;
  readonly #appUrl: () => string;
  readonly #eventRetriesMs: readonly number[];
  readonly #pressed = new Set<string>();
  readonly #presses: { userId: string; answers: number; keep: () => void }[] = [];
  /**
   * Blocks without such a button. It remembers them, because it looks through thousands of
   * messages. An update brings new blocks.
   */
  readonly #withoutButton = new WeakSet<object>();
  readonly #actionIds = new ActionIds();
  readonly #channels: string[];
  #count = 0;
  #steered = 0;

  constructor(options: PeopleOptions) {
    const { slack, channels } = options;
    this.#slack = slack;
    this.#ledger = options.ledger;
    this.#round = options.round;
    this.#appUrl = options.appUrl;
    this.#eventRetriesMs = options.eventRetriesMs ?? [];
    this.#channels = Array.from({ length: channels }, (_, index) => `C0ROUND${index}`);
    for (const [index, id] of this.#channels.entries()) {
      const withBot = index < channels - 1;
      slack.workspace.addChannel({ id, name: `round-${index}`, members: [], withBot });
    }
  }

  get asked(): number {
    return this.#count;
  }

  get pressed(): number {
    return this.#pressed.size;
  }

  get steered(): number {
    return this.#steered;
  }

  /**
   * Has a person ask for something. Resolves after the app's answer, or without one: to true if the
   * app took the request.
   */
  async ask({ via, channel: index, repeats }: Ask): Promise<boolean> {
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
      case "direct": {
        const direct = workspace.openDirectMessage([userId]);
        const outcome = await person.say({ channel: direct.id, text });
        const { delivery } = outcome;
        if (delivery === undefined) return false;
        return this.#note("mention", { ...outcome, delivery }, { marker, userId }, repeats);
      }
      case "command": {
        const outcome = await person.command({ channel, text });
        return this.#note("command", outcome, { marker, userId }, repeats);
      }
      case "mention": {
        const root = workspace.say({ channel, user: userId, text: "The install page is wrong" });
        const outcome = await person.mention({ channel, text, threadTs: root.ts });
        const { delivery } = outcome;
        // Slack tells the bot nothing about channels that it isn't in.
        if (delivery === undefined) return false;
        return this.#note("mention", { ...outcome, delivery }, { marker, userId }, repeats);
      }
      case "form":
      case "shortcut": {
        const view = await this.#form(userId, channel, via);
        if (view === null) return false;
        const values = { instructions: { instructions: text } };
        const outcome = await person.submit({ viewId: view.id, values });
        return this.#note("form", outcome, { marker, userId }, repeats);
      }
    }
  }

  /**
   * Has a new person follow up in a thread with a request, as soon as there is one. Resolves to
   * true if the app took it.
   */
  async reply({ repeats }: Reply): Promise<boolean> {
    const message = await patiently(() => this.#someStatus());
    if (message === null) return false;
    const { channel, ts, thread_ts: threadTs = ts } = message;
    this.#count += 1;
    const marker = `[round-${this.#round}-${this.#count}]`;
    const userId = somebodyIn(this.#slack, channel, `U0PERSON${this.#count}`);
    const person = this.#slack.person(userId);
    const outcome = await person.mention({ channel, threadTs, text: `${marker} And the FAQ` });
    const { delivery } = outcome;
    if (delivery === undefined) return false;
    const who = { marker, userId, sharesStatus: true };
    return this.#note("mention", { ...outcome, delivery }, who, repeats);
  }

  /**
   * Has people stop, follow or answer a running turn as soon as that is possible, `times` at once.
   */
  async steer({ what, times }: Steer): Promise<void> {
    const actionId = STEERING[what];
    const message = await patiently(() => this.#actionIds.newest(messagesIn(this.#slack), actionId));
    if (message === null) return;
    const { channel, ts: messageTs } = message;
    const option = what === "follow" ? optionOf(message) : undefined;
    await Promise.all(
      Array.from({ length: times }, async () => {
        this.#steered += 1;
        const userId = somebodyIn(this.#slack, channel, `U0STEERER${this.#steered}`);
        const person = this.#slack.person(userId);
        await person.click({ channel, messageTs, actionId, ...(option === undefined ? {} : { option }) });
        if (what !== "words") return;
        const view = await this.#opened(userId);
        if (view === null) return;
        await person.submit({ viewId: view.id, values: { answer: { answer: `As ${userId} says` } } });
      }),
    );
  }

  /**
   * Has a person press a button of an outcome that nobody has pressed, as soon as there is one,
   * `times` at once.
   */
  async press(times: number): Promise<void> {
    const found = await this.#findButton();
    if (found === null) return;
    const { entry, watch, actionId, channel, ts } = found;
    // If other people can be there, a new person presses. Then their private messages are about
    // this press.
    const userId = somebodyIn(this.#slack, channel, `U0PRESSER${this.#presses.length + 1}`);
    const press = { userId, answers: 0, keep: () => {} };
    this.#presses.push(press);
    const turnId = nextTryOf(entry.turnId, watch);
    if (actionId === "try_again") {
      this.#ledger.add({ turnId, marker: entry.marker, userId, isAccepted: false, sharesStatus: true });
      press.keep = () => this.#ledger.add({ turnId, marker: entry.marker, userId, isAccepted: true });
    } else {
      entry.watches.maybe += 1;
      press.keep = () => {
        entry.watches.maybe -= 1;
        entry.watches.asked += 1;
      };
    }
    const person = this.#slack.person(userId);
    const clicks = Array.from({ length: times }, () => person.click({ channel, messageTs: ts, actionId }));
    press.answers = (await Promise.all(clicks)).filter(({ status }) => status === 200).length;
  }

  /** Notes which presses were taken. Call it once, when everything has been said. */
  settle(): void {
    for (const { userId, answers, keep } of this.#presses) {
      // Includes presses that Slack didn't take. The person saw no effect, and the button is still
      // there.
      const refusals = this.#slack.calls.filter(
        ({ method, args, userId: respondedTo }) =>
          (method === "response_url" ? respondedTo : args["user"]) === userId &&
          NOT_KEPT.test(JSON.stringify(args)),
      );
      if (answers > refusals.length) keep();
    }
  }

  async #form(userId: string, channel: string, via: "form" | "shortcut"): Promise<OpenView | null> {
    const person = this.#slack.person(userId);
    if (via === "form") await person.command({ channel, text: "" });
    else {
      const { ts } = this.#slack.workspace.say({ channel, user: userId, text: "The FAQ says 14 days" });
      await person.shortcut({ callbackId: "fix_these_docs", channel, messageTs: ts });
    }
    // The form's trigger lasts three seconds. Without a form, nothing was asked for.
    return this.#opened(userId);
  }

  #opened(userId: string): Promise<OpenView | null> {
    return this.#slack.until(() => this.#slack.openViews(userId).at(-1), FORM_WITHIN_MS).catch(() => null);
  }

  /** Returns one of the messages that show a request, another one each time. */
  #someStatus(): SlackMessage | null {
    const all = messagesIn(this.#slack).filter((post) => nameOf(post) === "status");
    return all[this.#count % Math.max(1, all.length)] ?? null;
  }

  /**
   * Notes the request if it was taken, and lets Slack send it again. Resolves to true if it was
   * taken.
   */
  async #note(
    how: Parameters<typeof turnIdOf>[0],
    outcome: DeliveryOutcome,
    who: Pick<Entry, "marker" | "userId" | "sharesStatus">,
    repeats: number,
  ): Promise<boolean> {
    const turnId = turnIdOf(how, outcome.delivery);
    let isAccepted = isTaken(outcome);
    this.#ledger.add({ turnId, ...who, isAccepted, isRefused: outcome.status === 200 && !isAccepted });
    for (const [index, delayMs] of how === "mention" ? this.#eventRetriesMs.entries() : []) {
      if (isAccepted) break;
      await sleep(delayMs);
      const retry = { retryNum: index + 1, resign: true };
      isAccepted = isTaken(await this.#slack.redeliver({ ...outcome.delivery, url: this.#appUrl() }, retry));
      this.#ledger.add({ turnId, ...who, isAccepted });
    }
    for (let retryNum = 1; retryNum <= repeats; retryNum += 1) {
      const again = await this.#again(outcome.delivery, how === "mention" ? retryNum : undefined);
      isAccepted ||= isTaken(again);
      this.#ledger.add({ turnId, ...who, isAccepted });
    }
    return isAccepted;
  }

  #again(delivery: SlackDelivery, retryNum: number | undefined): Promise<DeliveryOutcome> {
    return this.#slack.redeliver(
      { ...delivery, url: this.#appUrl() },
      retryNum === undefined ? {} : { retryNum },
    );
  }

  /**
   * Waits for a button and reserves it for the caller. Resolves to null if nobody waits any longer.
   */
  #findButton() {
    return patiently(() => this.#nextButton());
  }

  #nextButton() {
    for (const { id: channel } of this.#slack.workspace.channels()) {
      for (const message of this.#slack.messages(channel)) {
        const { blocks, ts } = message;
        if (blocks === undefined || this.#withoutButton.has(blocks)) continue;
        const entry = this.#ledger.entries.get(turnOf(message));
        if (this.#pressed.has(`${channel} ${ts}`)) continue;
        const text = JSON.stringify(blocks);
        const actionId = BUTTONS.find((id) => text.includes(`"${id}"`));
        if (actionId === undefined) this.#withoutButton.add(blocks);
        if (entry === undefined || actionId === undefined) continue;
        this.#pressed.add(`${channel} ${ts}`);
        const watch = Number(nameOf(message).replace("outcome-", ""));
        return { entry, watch, actionId, channel, ts };
      }
    }
    return null;
  }
}

/** Returns the value of the first option in a message's menu. */
function optionOf({ blocks = [] }: SlackMessage): string | undefined {
  const elements = blocks.flatMap((block) => (block.type === "actions" ? block.elements : []));
  return elements.find((element) => element.type === "overflow")?.options[0]?.value;
}

/** True if a person couldn't do what the plan said, because of what they see. */
export function isImpossible(thrown: unknown): boolean {
  return thrown instanceof ImpossibleForAPerson;
}
