import { setTimeout as sleep } from "node:timers/promises";
import type { DeliveryOutcome, SlackMessage, SlackSide } from "../../world/slack/index.ts";
import type { JobServiceSide } from "../../world/job-service/side.ts";
import type { SideOutcome } from "../../world/job-service/jobs.ts";
import { PR, reportOfLink } from "./threads.ts";
import { DOCS } from "./world.ts";

const LOOK_MS = 20;
/**
 * Longer than any wait of the app: it searches for a lost post twice, and a follow-up's end may be
 * in doubt for a minute.
 */
const PATIENCE_MS = 100_000;
/** The time for which a form's trigger is valid. */
const FORM_WITHIN_MS = 3_000;

/** The app at work, as far as the people of a conversation need to know it. */
export type AppAtWork = {
  /** Resolves when the app runs. It is started again if it has died. */
  alive(): Promise<void>;
  /** Resolves when nothing is left to do but polls. */
  settled(): Promise<void>;
  /** The address for Slack's requests. */
  url(): string;
};

type Answered = Pick<DeliveryOutcome, "status" | "body"> | undefined;

/**
 * Has people act in #docs, one after the other. An act that is lost because the app died is
 * repeated, as long as there is something to press.
 */
export class Talk {
  readonly slack: SlackSide;
  readonly service: JobServiceSide;
  readonly #app: AppAtWork;

  constructor(parts: { slack: SlackSide; service: JobServiceSide; app: AppAtWork }) {
    this.slack = parts.slack;
    this.service = parts.service;
    this.#app = parts.app;
  }

  /** The messages of the channel as people read them, each with its reactions. */
  get thread(): string[] {
    return this.slack.messages(DOCS).map((message) => {
      const under = (message.reactions ?? []).map(({ name }) => `:${name}:`);
      return [this.slack.visibleText(message), ...under].join("\n");
    });
  }

  /** The names of the app's posts, each with its turn's position among the turns. */
  get posts(): string[] {
    const turnIds: unknown[] = [];
    return this.slack.messages(DOCS).flatMap(({ metadata }) => {
      if (metadata === undefined) return [];
      const { turn_id: turnId, post } = metadata.event_payload;
      if (!turnIds.includes(turnId)) turnIds.push(turnId);
      return [`${turnIds.indexOf(turnId) + 1}: ${String(post)}`];
    });
  }

  /** Waits until the probe gives something. */
  async until<T>(probe: () => T | undefined | false): Promise<T> {
    for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += LOOK_MS) {
      await this.#app.alive();
      const value = probe();
      if (value !== undefined && value !== false) return value;
      await sleep(LOOK_MS);
    }
    throw new Error(`It has not come true: ${String(probe)}. There is:\n${this.thread.join("\n\n")}`);
  }

  /** Has somebody press the newest button with this id, or choose `option` in the newest menu. */
  async press(userId: string, actionId: string, option?: string): Promise<void> {
    await this.until(() => this.#withElement(actionId));
    await this.#taken(() => this.#click(userId, actionId, option));
  }

  /** Has somebody answer a question in its form. */
  async answerInWords(userId: string, text: string): Promise<void> {
    const actionId = "answer_in_words";
    await this.until(() => this.#withElement(actionId));
    await this.#taken(async () => {
      if (this.slack.openViews(userId).length === 0) {
        const pressed = await this.#click(userId, actionId);
        if (pressed?.status !== 200) return pressed;
        await this.slack.until(() => this.slack.openViews(userId)[0], FORM_WITHIN_MS).catch(() => null);
      }
      const form = this.slack.openViews(userId).at(-1);
      if (form === undefined) return { status: 0, body: "" };
      return this.slack.person(userId).submit({ viewId: form.id, values: { answer: { answer: text } } });
    });
  }

  /**
   * Has somebody mention the app in the first message's thread. Slack repeats what the app didn't
   * take.
   */
  async followUp(userId: string, text: string): Promise<void> {
    const threadTs = this.slack.messages(DOCS)[0]?.ts ?? "";
    const sent = await this.slack.person(userId).mention({ channel: DOCS, threadTs, text });
    const { delivery } = sent;
    let last: Answered = sent;
    let retryNum = 0;
    await this.#taken(async () => {
      if (last?.status !== 200 && delivery !== undefined) {
        retryNum += 1;
        const again = { ...delivery, url: this.#app.url() };
        last = await this.slack.redeliver(again, { retryNum, resign: true });
      }
      return last;
    });
  }

  /**
   * Has somebody type a command for what an open pull request does, until they are offered that.
   */
  async askAgain(userId: string, text: string): Promise<void> {
    const isOffered = () => offers(this.slack.ephemerals(userId).at(-1), "add_to_it");
    await this.#taken(async () =>
      isOffered() ? undefined : await this.slack.person(userId).command({ channel: DOCS, text }),
    );
    await this.until(isOffered);
  }

  /** Has somebody press a button of the newest message that only they see. */
  async pressPrivately(userId: string, actionId: string): Promise<void> {
    await this.#taken(async () => {
      const shown = this.slack.ephemerals(userId).at(-1);
      if (!offers(shown, actionId)) return undefined;
      const on = { channel: DOCS, messageTs: shown?.ts ?? "", ephemeral: true, actionId };
      return this.slack.person(userId).click(on);
    });
  }

  /** Waits until there are `count` outcomes. Meanwhile it ends turns that a poll has seen. */
  async outcomes(
    count: number,
    end: SideOutcome = { status: "completed", prLink: PR, turn: reportOfLink() },
  ): Promise<void> {
    await this.until(() => {
      if (this.posts.filter((post) => post.includes("outcome")).length >= count) return true;
      for (const { id, status, pollsOfTurn } of this.service.jobs.values()) {
        if (status === "active" && pollsOfTurn >= 2) this.service.finish(id, end);
      }
      return false;
    });
    await this.#app.settled();
  }

  async #taken(act: () => Promise<Answered>): Promise<void> {
    for (;;) {
      await this.#app.alive();
      const answered = await act();
      // Nothing is left to press, because it was taken before the app died.
      if (answered === undefined || answered.status === 200) break;
      await sleep(LOOK_MS);
    }
    await this.#app.settled();
  }

  async #click(userId: string, actionId: string, label?: string): Promise<Answered> {
    const message = this.#withElement(actionId);
    if (message === undefined) return undefined;
    const option = label === undefined ? undefined : optionLabeled(message, label);
    const act = { channel: DOCS, messageTs: message.ts, actionId };
    return this.slack.person(userId).click(option === undefined ? act : { ...act, option });
  }

  #withElement(actionId: string): SlackMessage | undefined {
    return this.slack.messages(DOCS).findLast((message) => offers(message, actionId));
  }
}

function offers(message: Pick<SlackMessage, "blocks"> | undefined, actionId: string): boolean {
  return JSON.stringify(message?.blocks ?? []).includes(`"action_id":"${actionId}"`);
}

function optionLabeled({ blocks = [] }: SlackMessage, label: string): string | undefined {
  const elements = blocks.flatMap((block) => (block.type === "actions" ? block.elements : []));
  const options = elements.flatMap((element) => (element.type === "overflow" ? element.options : []));
  return options.find(({ text }) => text.text === label)?.value;
}
