import { randomUUID } from "node:crypto";
import * as z from "zod";
import { post } from "./post.ts";
import { signatureHeaders } from "./signing.ts";
import type { EnvelopeType, SocketModeSide } from "./socket-mode.ts";
import { jsonOf } from "../../src/shared/text/text.ts";

/**
 * One request to the app, byte for byte: an HTTP request, or the text of a Socket Mode envelope.
 */
export type SlackDelivery = {
  transport: "http" | "socket";
  /** The address that it went to. Empty for Socket Mode. */
  url: string;
  headers: Record<string, string>;
  body: string;
};

/** The app's answer to a delivery. */
export type DeliveryOutcome = {
  delivery: SlackDelivery;
  /** The HTTP status. A Socket Mode ack counts as 200, and 0 means that no answer came. */
  status: number;
  /** The answer's body or the ack's payload. Empty if there was none. */
  body: string;
  /** Slack's word for the failure of a delivery. */
  failure?: "operation_timeout" | "dispatch_failed";
};

export type RedeliverOptions = {
  /**
   * True to sign again with the present time. In Socket Mode, the envelope gets a new id.
   * @default false
   */
  resign?: boolean;
  /** The number with which it is marked as a retry of Slack's. */
  retryNum?: number;
  /** Slack's word for the reason of the retry. @default "http_timeout" */
  retryReason?: string;
};

const Envelope = z.looseObject({ envelope_id: z.string() });

/**
 * Sends to the app what Slack sends to it: over its Socket Mode connection if it has one, otherwise
 * as signed HTTP.
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
    /** Epoch milliseconds for signatures. */
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
   * Sends a delivery again to the app's present address, byte for byte unless the options say
   * otherwise. The answer is shown to nobody.
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
      // Slack sends no charset, and Bolt's HTTP receiver reads no other form.
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
