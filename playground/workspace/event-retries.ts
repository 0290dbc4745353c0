import type { MentionOutcome, DeliveryOutcome, SlackSide } from "../../world/slack/index.ts";
import type { PendingRetries } from "./page-protocol.ts";

/**
 * "Nearly immediately", after one minute, and after five minutes:
 * https://docs.slack.dev/apis/events-api#retries
 */
const SLACK_DELAYS_MS = [1000, 60_000, 300_000];

/** Sends events again that the app didn't take: at most three times, as Slack does. */
export class EventRetries implements Disposable {
  readonly #slack: SlackSide;
  readonly #delaysMs: readonly number[];
  readonly #changed: () => void;
  /** The time at which each is due, in epoch milliseconds. */
  readonly #timers = new Map<NodeJS.Timeout, number>();
  #isClosed = false;

  /** Calls `changed` when {@link pending} has changed. */
  constructor(slack: SlackSide, changed: () => void, delaysMs: readonly number[] = SLACK_DELAYS_MS) {
    this.#slack = slack;
    this.#changed = changed;
    this.#delaysMs = delaysMs;
  }

  get pending(): PendingRetries | null {
    const due = [...this.#timers.values()];
    return due.length === 0 ? null : { count: due.length, nextAtMs: Math.min(...due) };
  }

  /** Does nothing for an event that was taken or never sent. */
  follow({ delivery, failure, status }: MentionOutcome | DeliveryOutcome, retryNum = 1): void {
    const delayMs = this.#delaysMs[retryNum - 1];
    if (this.#isClosed || delivery === undefined || failure === undefined || delayMs === undefined) return;
    const retryReason =
      failure === "operation_timeout" ? "http_timeout" : status === 0 ? "connection_failed" : "http_error";
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#changed();
      // A delivery doesn't throw. It resolves to its failure.
      void this.#slack
        .redeliver(delivery, { resign: true, retryNum, retryReason })
        .then((outcome) => this.follow({ ...outcome, delivery }, retryNum + 1));
    }, delayMs);
    this.#timers.set(timer, Date.now() + delayMs);
    this.#changed();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const timer of this.#timers.keys()) clearTimeout(timer);
  }
}
