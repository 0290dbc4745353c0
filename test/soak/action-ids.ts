import type { SlackMessage } from "../../world/slack/index.ts";

/**
 * Finds messages by their buttons. It remembers the ids of blocks, because it looks through
 * thousands of messages many times. An update brings new blocks.
 */
export class ActionIds {
  readonly #known = new WeakMap<object, readonly string[]>();

  /** Returns the newest message that has this button, or null. */
  newest(messages: readonly SlackMessage[], actionId: string): SlackMessage | null {
    const has = messages.filter((message) => this.#of(message).includes(actionId));
    return has.toSorted((a, b) => Number(a.ts) - Number(b.ts)).at(-1) ?? null;
  }

  #of({ blocks }: SlackMessage): readonly string[] {
    if (blocks === undefined) return [];
    const known = this.#known.get(blocks);
    if (known !== undefined) return known;
    const ids = Array.from(JSON.stringify(blocks).matchAll(/"action_id":"([^"]+)"/g), ([, id = ""]) => id);
    this.#known.set(blocks, ids);
    return ids;
  }
}
