import type { Receiver, ReceiverEvent } from "@slack/bolt";
import type { WebClientOptions } from "@slack/web-api";
import { App } from "./bolt.ts";
import { canBoltRead, isSlackBody } from "./slack-body.ts";
import type { Logger } from "../../../shared/machine/ports.ts";
import { DocsAgentError } from "../../../shared/errors.ts";
import { isKnown, type SlackTeam } from "../slack-team.ts";
import { type SampleLine, slackLogger } from "./log-lines.ts";

/**
 * An event came before Slack said who the app is, so we can't recognize mentions of the app. Slack
 * sends it again.
 */
export class IdentityUnknownError extends DocsAgentError {
  readonly code = "identity_unknown";

  constructor() {
    super("Slack has not said yet who the app is, so its events can't be read. Slack sends them again.");
  }
}

type BoltAppOptions = {
  receiver: Receiver;
  team: SlackTeam;
  /** For the clients that listeners get. */
  clientOptions: WebClientOptions;
  logger: Logger;
  sample: SampleLine;
};

/**
 * Bolt's App with guarantees of its own: an event is acknowledged only after its listeners have
 * finished, callers can wait for everything in progress, no payload can end the process, and
 * whatever a listener throws goes to the receiver, which logs it once.
 *
 * Bolt 5.1 acks an event before its listeners run (`App.processEvent`), so an event whose request
 * couldn't be stored would be lost. Slack redelivers an event that isn't acknowledged.
 */
export class BoltApp extends App {
  readonly #running = new Set<Promise<void>>();
  readonly #options: BoltAppOptions;

  constructor(options: BoltAppOptions) {
    const { receiver, team, clientOptions, logger, sample } = options;
    super({
      receiver,
      async authorize() {
        const { client, identity } = team;
        return {
          ...(client.token === undefined ? {} : { botToken: client.token }),
          botId: identity.botId,
          botUserId: identity.botUserId,
        };
      },
      tokenVerificationEnabled: false,
      convoStore: false,
      logger: slackLogger(logger, sample),
      clientOptions,
    });
    this.#options = options;
    this.error(async (error) => {
      throw error;
    });
  }

  override async processEvent(event: ReceiverEvent): Promise<void> {
    const running = this.#process(event);
    // The receiver gets the failure. `drain` only needs to know that it is over.
    const settled = running.catch(() => {}).then(() => void this.#running.delete(settled));
    this.#running.add(settled);
    return running;
  }

  /** Resolves when nothing is in progress anymore. */
  async drain(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #process(event: ReceiverEvent): Promise<void> {
    const { team, logger, sample } = this.#options;
    const body: unknown = event.body;
    const isEvent = isSlackBody(body) && body["type"] === "event_callback";
    if (!isSlackBody(body) || (isEvent && !canBoltRead(body["event"]))) {
      sample("malformed payload", (repeated) =>
        logger.warn(repeated, "ignored a payload that isn't like Slack's"),
      );
      // Sending it again wouldn't help.
      return event.ack();
    }
    if (!isEvent) return super.processEvent(event);
    if (!isKnown(team.identity)) throw new IdentityUnknownError();
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
