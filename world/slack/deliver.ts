import { randomUUID } from "node:crypto";
import * as z from "zod";
import { post } from "./post.ts";
import { signatureHeaders } from "./signing.ts";
import type { EnvelopeType, SocketModeSide } from "./socket-mode.ts";
import { jsonOf } from "../../src/shared/text/text.ts";

/** One request to the app, to the byte: over HTTP, or as the text of a Socket Mode envelope. */
export type SlackDelivery = {
  transport: "http" | "socket";
  /** Where it went; empty for Socket Mode. */
  url: string;
  headers: Record<string, string>;
  body: string;
};

/** How the app took a delivery. */
export type DeliveryOutcome = {
  delivery: SlackDelivery;
  /** The HTTP status, 200 for a Socket Mode ack, 0 when no answer came. */
  status: number;
  /** The answer's body or the ack's payload; empty when there was none. */
  body: string;
  /** Slack's word for a delivery that failed. */
  failure?: "operation_timeout" | "dispatch_failed";
};

export type RedeliverOptions = {
  /**
   * Signs again with the present time, or for Socket Mode, gives the envelope a new id. @default
   * false
   */
  resign?: boolean;
  /** Marks the delivery as Slack's retry with this number. */
  retryNum?: number;
  /** Slack's word for why it retries. @default "http_timeout" */
  retryReason?: string;
};

const Envelope = z.looseObject({ envelope_id: z.string() });

/**
 * Sends to the app what Slack sends it: over its Socket Mode connection where it has one, else as
 * signed HTTP.
 */
export class Deliverer {
  readonly #signingSecret: string;
  readonly #socketMode: SocketModeSide;
  readonly #ackTimeoutMs: number;
  readonly #signingNow: () => number;
  #appUrl: string | undefined;

  constructor(options: {
    signingSecret: string;
    socketMode: SocketModeSide;
    ackTimeoutMs: number;
    /** Epoch milliseconds, for signatures. */
    signingNow: () => number;
    appUrl: string | undefined;
  }) {
    this.#signingSecret = options.signingSecret;
    this.#socketMode = options.socketMode;
    this.#ackTimeoutMs = options.ackTimeoutMs;
    this.#signingNow = options.signingNow;
    this.#appUrl = options.appUrl;
  }

  setAppUrl(url: string | undefined): void {
    this.#appUrl = url;
  }

  async deliver(type: EnvelopeType, payload: Record<string, unknown>): Promise<DeliveryOutcome> {
    if (this.#socketMode.connections === 0) return this.#send(this.#httpDelivery(type, payload));
    const retries = type === "events_api" ? { retry_attempt: 0, retry_reason: "" } : {};
    const accepts = type !== "events_api";
    const envelope = {
      envelope_id: randomUUID(),
      type,
      accepts_response_payload: accepts,
      payload,
      ...retries,
    };
    return this.#send({ transport: "socket", url: "", headers: {}, body: JSON.stringify(envelope) });
  }

  /**
   * Sends a delivery again, to the byte unless the options say otherwise, to where the app is now.
   * Its answer is shown to nobody.
   */
  async redeliver(delivery: SlackDelivery, options: RedeliverOptions = {}): Promise<DeliveryOutcome> {
    const retryReason = options.retryReason ?? "http_timeout";
    if (delivery.transport === "http") {
      const signature = options.resign === true ? this.#sign(delivery.body) : {};
      const retry =
        options.retryNum === undefined
          ? {}
          : { "x-slack-retry-num": String(options.retryNum), "x-slack-retry-reason": retryReason };
      const url = this.#appUrl ?? delivery.url;
      return this.#send({ ...delivery, url, headers: { ...delivery.headers, ...signature, ...retry } });
    }
    if (options.resign !== true && options.retryNum === undefined) return this.#send(delivery);
    const envelope = {
      ...Envelope.parse(jsonOf(delivery.body)),
      ...(options.resign === true && { envelope_id: randomUUID() }),
      ...(options.retryNum !== undefined && { retry_attempt: options.retryNum, retry_reason: retryReason }),
    };
    return this.#send({ ...delivery, body: JSON.stringify(envelope) });
  }

  #httpDelivery(type: EnvelopeType, payload: Record<string, unknown>): SlackDelivery {
    const body = encodeBody(type, payload);
    const headers = {
      // Without a charset: that is what Slack sends and the only form Bolt's HTTP receiver reads.
      "content-type": type === "events_api" ? "application/json" : "application/x-www-form-urlencoded",
      accept: "application/json,*/*",
      "user-agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
      ...this.#sign(body),
    };
    return { transport: "http", url: this.#appUrl ?? "", headers, body };
  }

  #sign(body: string): Record<string, string> {
    return signatureHeaders(this.#signingSecret, body, this.#signingNow());
  }

  #send(delivery: SlackDelivery): Promise<DeliveryOutcome> {
    return delivery.transport === "http" ? this.#sendHttp(delivery) : this.#sendSocket(delivery);
  }

  async #sendHttp(delivery: SlackDelivery): Promise<DeliveryOutcome> {
    const signal = AbortSignal.timeout(this.#ackTimeoutMs);
    try {
      const answer = await post(delivery.url, delivery.headers, delivery.body, signal);
      const outcome = { delivery, ...answer };
      return answer.status === 200 ? outcome : { ...outcome, failure: "dispatch_failed" };
    } catch {
      const failure = signal.aborted ? "operation_timeout" : "dispatch_failed";
      return { delivery, status: 0, body: "", failure };
    }
  }

  async #sendSocket(delivery: SlackDelivery): Promise<DeliveryOutcome> {
    if (this.#socketMode.connections === 0) {
      return { delivery, status: 0, body: "", failure: "dispatch_failed" };
    }
    const envelope = Envelope.parse(jsonOf(delivery.body));
    const ack = await this.#socketMode.send(envelope, delivery.body, this.#ackTimeoutMs);
    if (ack === undefined) return { delivery, status: 0, body: "", failure: "operation_timeout" };
    return { delivery, status: 200, body: textOf(ack.payload) };
  }
}

function encodeBody(type: EnvelopeType, payload: Record<string, unknown>): string {
  if (type === "events_api") return JSON.stringify(payload);
  if (type === "interactive") return new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(payload)) fields.append(name, String(value));
  return fields.toString();
}

function textOf(payload: unknown): string {
  if (payload === undefined || payload === null) return "";
  return typeof payload === "string" ? payload : JSON.stringify(payload);
}
