import type { IncomingMessage, ServerResponse } from "node:http";
import type { BufferedIncomingMessage } from "@slack/bolt";
import { parseHTTPRequestBody } from "./bolt.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { SampleLine } from "./line-sampler.ts";
import { RequestBodies } from "./request-body.ts";
import { isSlackBody } from "./slack-body.ts";
import { createSignatureCheck } from "./signature.ts";

/** The path that Slack sends its requests to. */
const PATH = "/slack/events";
const SSL_CHECK_MAX_BYTES = 1024;

type SlackListenerOptions = {
  signingSecret: string;
  /** Handles a request whose body is read, signed by Slack and in the form of Slack's requests. */
  accept: (request: BufferedIncomingMessage, response: ServerResponse) => void;
  logger: Logger;
  sample: SampleLine;
};

/**
 * The HTTP front of Bolt. It reads bodies in bounded memory, checks signatures, and passes on only
 * what Bolt can handle: a signed JSON `null` would end the process in Bolt's receiver (5.1).
 */
export function createSlackListener({
  signingSecret,
  accept,
  logger,
  sample,
}: SlackListenerOptions): (request: IncomingMessage, response: ServerResponse) => void {
  const bodies = new RequestBodies();
  const whyNotSlacks = createSignatureCheck(signingSecret);

  function refuse(response: ServerResponse, status: number, reason: string): void {
    sample(`${status} ${reason}`, (repeated) =>
      logger.warn({ status, reason, ...repeated }, "refused a request"),
    );
    response.writeHead(status).end();
  }

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const read = await bodies.read(request);
    if (read.kind === "too-large") {
      if (read.isFar) response.setHeader("connection", "close");
      return refuse(response, 413, "the body is too large");
    }
    if (read.kind === "busy") return refuse(response, 503, "too many large bodies at once");
    if (read.kind === "gone") return;
    const buffered = Object.assign(request, { rawBody: read.body });
    const refused = whyNotSlacks(request.headers, read.body);
    const body = refused === null || read.body.length <= SSL_CHECK_MAX_BYTES ? parsed(buffered) : undefined;
    // Slack's check of the certificate has no signature and asks for nothing.
    if (isSslCheck(body)) {
      response.writeHead(200).end();
      return;
    }
    if (refused !== null) return refuse(response, 401, refused);
    if (!isSlackBody(body)) return refuse(response, 400, "the body isn't like Slack's");
    accept(buffered, response);
  }

  return (request, response) => {
    if (request.url?.split("?")[0] !== PATH || request.method !== "POST") {
      response.writeHead(404).end();
      return;
    }
    take(request, response).catch((thrown: unknown) => {
      logger.error({ err: thrown }, "could not take a request");
      if (!response.headersSent) response.writeHead(500).end();
    });
  };
}

function parsed(request: BufferedIncomingMessage): unknown {
  try {
    return parseHTTPRequestBody(request);
  } catch {
    return undefined;
  }
}

function isSslCheck(body: unknown): boolean {
  return typeof body === "object" && body !== null && "ssl_check" in body && body.ssl_check === "1";
}
