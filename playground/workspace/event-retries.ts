import type { MentionOutcome, DeliveryOutcome, SlackSide } from "../../emulators/slack/index.ts";

/** "Nearly immediately", after a minute, after five: https://docs.slack.dev/apis/events-api#retries */
const slackDelaysMs = [1000, 60_000, 300_000];

/** Sends events that the app did not take again, as Slack does: at most three times. */
export class EventRetries implements Disposable {
  readonly #slack: SlackSide;
  readonly #delaysMs: readonly number[];
  readonly #timers = new Set<NodeJS.Timeout>();
  #isClosed = false;

  constructor(slack: SlackSide, delaysMs: readonly number[] = slackDelaysMs) {
    this.#slack = slack;
    this.#delaysMs = delaysMs;
  }

  /** Does nothing for an event that was taken or never sent. */
  follow({ delivery, failure, status }: MentionOutcome | DeliveryOutcome, retryNum = 1): void {
    const delayMs = this.#delaysMs[retryNum - 1];
    if (this.#isClosed || delivery === undefined || failure === undefined || delayMs === undefined) return;
    const retryReason =
      failure === "operation_timeout" ? "http_timeout" : status === 0 ? "connection_failed" : "http_error";
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      // A delivery answers with its failure instead of throwing.
      void this.#slack
        .redeliver(delivery, { resign: true, retryNum, retryReason })
        .then((outcome) => this.follow({ ...outcome, delivery }, retryNum + 1));
    }, delayMs);
    this.#timers.add(timer);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }
}
