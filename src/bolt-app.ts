import { App } from "@slack/bolt";
import type { ReceiverEvent } from "@slack/bolt";

/**
 * Bolt's App with two promises of its own: an event is acknowledged only after its listeners are through, and whatever is
 * being processed can be waited for.
 *
 * Bolt 5.1 acks an event before its listeners run (`App.processEvent`), so an event whose request could not be stored would be
 * lost; unacknowledged, Slack delivers it again.
 */
export class BoltApp extends App {
  readonly #running = new Set<Promise<void>>();

  override async processEvent(event: ReceiverEvent): Promise<void> {
    const running = this.#process(event);
    // The receiver gets the failure; whoever drains only wants to know that it is over.
    const settled = running.catch(() => {}).then(() => void this.#running.delete(settled));
    this.#running.add(settled);
    return running;
  }

  /** Resolves when nothing that came in is being processed any more. */
  async drain(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #process(event: ReceiverEvent): Promise<void> {
    if (event.body["type"] !== "event_callback") return super.processEvent(event);
    let acked: { answer: unknown } | null = null;
    await super.processEvent({
      ...event,
      ack: async (answer: unknown) => {
        acked = { answer };
      },
    });
    if (acked !== null) await event.ack();
  }
}
