import { makeSecret } from "./ids.ts";
import { SlackRefusal } from "./refusal.ts";

const LIFETIME_MS = 3000;

type Trigger = { userId: string; issuedAt: number; isExchanged: boolean };

/** Trigger ids. Each opens one view, for the person who caused it, within three seconds. */
export class Triggers {
  readonly #now: () => number;
  readonly #issued = new Map<string, Trigger>();

  constructor(now: () => number) {
    this.#now = now;
  }

  issue(userId: string): string {
    const id = `${this.#issued.size + 1}.${Math.floor(this.#now())}.${makeSecret()}`;
    this.#issued.set(id, { userId, issuedAt: this.#now(), isExchanged: false });
    return id;
  }

  /**
   * Uses up a trigger and returns the person who caused it. Its errors are those of
   * https://docs.slack.dev/reference/methods/views.open.
   */
  exchange(id: string): string {
    const trigger = this.#issued.get(id);
    if (trigger === undefined) throw new SlackRefusal("invalid_trigger_id");
    if (trigger.isExchanged) throw new SlackRefusal("exchanged_trigger_id");
    if (this.#now() - trigger.issuedAt > LIFETIME_MS) throw new SlackRefusal("expired_trigger_id");
    trigger.isExchanged = true;
    return trigger.userId;
  }
}
