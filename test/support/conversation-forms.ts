import type { OpenView, SlackSide } from "../../world/slack/index.ts";
import { buttonValue } from "../../src/app/messages/actions.ts";
import { placeOfRequest } from "./conversation-ledger.ts";
import type { ConversationLedger } from "./conversation-ledger.ts";

const READING = "Reading the thread";

/**
 * The forms for requests in a conversation: **Fix these docs** on a message, and the command's own.
 */
export class ConversationForms {
  readonly #slack: SlackSide;
  readonly #ledger: ConversationLedger;
  /** The channel in which each form was opened. */
  readonly #channels = new Map<string, string>();

  constructor(slack: SlackSide, ledger: ConversationLedger) {
    this.#slack = slack;
    this.#ledger = ledger;
  }

  /** True if a form for a request is open in front of this person. */
  isOpen(userId: string): boolean {
    return this.#requestForm(userId) !== undefined;
  }

  /**
   * Uses the shortcut of a message, or runs the command without words, and waits for the form. With
   * `isRefused`, no form will open.
   */
  async open(
    userId: string,
    channel: string,
    messageTs: string | undefined,
    isRefused: boolean,
  ): Promise<void> {
    const person = this.#slack.person(userId);
    const before = this.#front(userId)?.id;
    if (messageTs === undefined) await person.command({ channel, text: "" });
    else await person.shortcut({ callbackId: "fix_these_docs", channel, messageTs });
    if (isRefused) return;
    const { id } = await this.#slack.until(() => {
      const form = this.#front(userId);
      return form !== undefined && form.id !== before && !JSON.stringify(form.view).includes(READING) && form;
    });
    this.#channels.set(id, channel);
  }

  /**
   * Sends the form in front of a person, without some of the messages that it lists. Notes the
   * request if the app took it.
   */
  async send(userId: string, how: number): Promise<void> {
    const form = this.#requestForm(userId);
    if (form === undefined) return;
    const channel = this.#channels.get(form.id) ?? "";
    const isBotIn = this.#slack.workspace.isBotIn(channel);
    const values: Record<string, Record<string, string>> = {};
    const unticked: string[] = [];
    let words = "";
    for (const { block_id: blockId = "", ...block } of form.view.blocks) {
      if (block.type !== "input") continue;
      if (block.element.type === "plain_text_input") {
        const typed = block.element.initial_value ?? "";
        // The form keeps a person's own words, and they can be sent unchanged.
        const isKept = how % 2 === 0 && this.#ledger.of(typed) !== undefined;
        words = isKept
          ? typed
          : this.#ledger.say(userId, placeOfRequest(userId, channel, isBotIn), "request");
        values[blockId] = { [block.element.action_id ?? ""]: words };
      }
      if (block.element.type !== "checkboxes") continue;
      const isTicked = (n: number) => ((how >> (n % 4)) & 1) === 1;
      const options = block.element.options.map(({ value }) => value);
      const ticked = options.filter((_, n) => isTicked(n));
      // The app's own messages repeat the request.
      const shared = ticked.flatMap((ts) => this.#wordsOf(channel, ts));
      const left = options.filter((_, n) => !isTicked(n)).flatMap((ts) => this.#wordsOf(channel, ts));
      unticked.push(...left.filter((other) => !shared.includes(other)));
      values[blockId] = { [block.element.action_id ?? ""]: ticked.join("\n") };
    }
    const { status, body } = await this.#slack.person(userId).submit({ viewId: form.id, values });
    // Otherwise the form says that somebody asked before, and stays open.
    if (status === 200 && body === "") {
      this.#ledger.taken.add(words);
      this.#ledger.forms.push({ words, unticked });
    } else if (!/asked for this|already a pull request/.test(body))
      throw new Error(`the form was answered ${status} ${body}`);
  }

  /** Presses **Follow it** in a form that mentions a running request. */
  async follow(userId: string): Promise<void> {
    const form = this.#requestForm(userId);
    const button = form?.view.blocks
      .flatMap((block) => (block.type === "section" ? (block.accessory ?? []) : []))
      .find((element) => element.type === "button" && element.action_id === "follow_it");
    if (form === undefined || button?.type !== "button") return;
    const { hash } = form;
    const person = this.#slack.person(userId);
    await person.clickInView({ viewId: form.id, actionId: "follow_it" });
    const { view } = await this.#slack.until(() => {
      const after = this.#front(userId);
      return after !== undefined && after.hash !== hash && after;
    });
    if (!JSON.stringify(view.blocks).includes("I'll mention you in the result.")) return;
    const { turnId = "" } = buttonValue.read(button.value) ?? {};
    const { timestamps } = this.#slack.workspace;
    this.#ledger.followed.push({ userId, turnId, from: timestamps.next() });
    await person.closeView({ viewId: form.id });
  }

  #front(userId: string): OpenView | undefined {
    return this.#slack.openViews(userId).at(-1);
  }

  #requestForm(userId: string): OpenView | undefined {
    const form = this.#front(userId);
    return form?.view.callback_id === "request_form" ? form : undefined;
  }

  #wordsOf(channel: string, ts: string): string[] {
    const message = this.#slack.messages(channel).find((other) => other.ts === ts);
    return this.#ledger.in(message?.text ?? "").map(({ words }) => words);
  }
}
