import { createHmac, createSecretKey, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { parse } from "node:querystring";
import { isJsonFields } from "../../../shared/text/json-fields.ts";
import type { Clock, Logger } from "../../../shared/machine/ports.ts";
import { jsonOf } from "../../../shared/text/text.ts";
import { isSlackBody } from "./slack-body.ts";
import type { HttpReceiver } from "./http-receiver.ts";
import type { SampleLine } from "./log-lines.ts";

/** The path that Slack sends its requests to. */
const PATH = "/slack/events";
const SSL_CHECK_MAX_BYTES = 1024;

type SlackListenerOptions = {
  signingSecret: string;
  /** Gets every request that is signed by Slack and has the form of Slack's requests. */
  receiver: Pick<HttpReceiver, "receive">;
  clock: Pick<Clock, "monotonicMs">;
  logger: Logger;
  sample: SampleLine;
};

/**
 * Listens to Slack. It reads bodies in bounded memory, checks signatures, and passes on only what
 * has the form of Slack's requests.
 */
export function createSlackListener(options: SlackListenerOptions) {
  const { signingSecret, receiver, clock, logger, sample } = options;
  const bodies = new RequestBodies(clock);
  const stampOf = createSignatureCheck(signingSecret);

  function refuse(response: ServerResponse, status: number, reason: string): void {
    sample(`${status} ${reason}`, (repeated) =>
      logger.warn({ status, reason, ...repeated }, "refused a request"),
    );
    response.writeHead(status).end();
  }

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers } = request;
    const stamp = stampOf(headers);
    const isStamped = typeof stamp !== "string";
    const read = await bodies.read(request, isStamped ? MAX_BYTES : SSL_CHECK_MAX_BYTES);
    if (read === "gone") return;
    if (read === "busy") return refuse(response, 503, "too many large bodies at once");
    if (typeof read === "string") {
      if (read === "far-too-large") response.setHeader("connection", "close");
      else if (!isStamped) return refuse(response, 401, stamp);
      return refuse(response, 413, "the body is too large");
    }
    const refused = isStamped ? stamp(read) : stamp;
    const isRead = refused === null || read.length <= SSL_CHECK_MAX_BYTES;
    const body = isRead ? parsed(read.toString(), headers["content-type"]) : undefined;
    // Slack's check of the certificate has no signature and asks for nothing.
    if (isJsonFields(body) && body["ssl_check"] === "1") return void response.writeHead(200).end();
    if (refused !== null) return refuse(response, 401, refused);
    if (!isSlackBody(body)) return refuse(response, 400, "the body isn't like Slack's");
    await receiver.receive(body, response);
  }

  return (request: IncomingMessage, response: ServerResponse): void => {
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

/** A command is a form. Everything else is JSON, in a form's field or alone. */
function parsed(body: string, contentType: string | undefined): unknown {
  // A proxy may add a charset, or write it in capitals.
  const [type = ""] = contentType?.split(";") ?? [];
  if (type.trim().toLowerCase() !== "application/x-www-form-urlencoded") return jsonOf(body);
  const form = parse(body);
  return typeof form["payload"] === "string" ? jsonOf(form["payload"]) : form;
}

/**
 * Slack's own limit against replays, in both directions
 * (docs.slack.dev/authentication/verifying-requests-from-slack).
 */
const MAX_APART_S = 5 * 60;
const DIGITS = /^\d{1,12}$/;
const SIGNATURE = /^v0=([0-9a-f]{64})$/;

/**
 * Creates a check that a request is Slack's. From the headers, it returns the reason why it can't
 * be, or what checks the body: that returns the reason why it isn't, or null. The rules are those
 * of Bolt's own check, which makes three keys and three digests per request, about a fifth of a
 * request's cost.
 */
function createSignatureCheck(signingSecret: string) {
  const key = createSecretKey(signingSecret, "utf8");
  return (headers: IncomingHttpHeaders): string | ((body: Buffer) => string | null) => {
    const sentAt = headers["x-slack-request-timestamp"];
    const signature = headers["x-slack-signature"];
    if (typeof sentAt !== "string" || !DIGITS.test(sentAt)) return "no readable x-slack-request-timestamp";
    if (typeof signature !== "string") return "no x-slack-signature";
    const apartS = Math.abs(Date.now() / 1000 - Number(sentAt));
    if (apartS > MAX_APART_S) return "the request's time is more than five minutes from this machine's";
    const sent = SIGNATURE.exec(signature)?.[1];
    if (sent === undefined) return "an x-slack-signature of another form";
    return (body) => {
      const right = createHmac("sha256", key).update(`v0:${sentAt}:`).update(body).digest();
      return timingSafeEqual(right, Buffer.from(sent, "hex")) ? null : "signature mismatch";
    };
  };
}

/** Slack's own requests are a few kilobytes. A form with all its text stays below this. */
const MAX_BYTES = 512 * 1024;
/** The unfinished bytes that any connection may hold. */
const SMALL_BYTES = 64 * 1024;
/**
 * How many larger bodies may be in progress at a time. This limits the memory that unfinished
 * bodies take, no matter who sends them.
 */
const MAX_LARGE = 32;
/** How far back a large body's bytes count for its place, and in what steps they are counted. */
const COUNTED_FOR_MS = 5_000;
const COUNTED_STEP_MS = 250;
/**
 * Pieces of a body are joined at this number, because each piece takes more memory than its bytes.
 */
const MAX_PIECES = 64;

/**
 * A whole body, or why there is none. `far-too-large` means that so much more would follow that the
 * connection has to be closed.
 */
type RequestBody = Buffer | "too-large" | "far-too-large" | "busy" | "gone";

/** A large body in progress. */
type LargeBody = { arrived: Arrived; giveWay: () => void };

/** Reads bodies of unverified requests in bounded memory. */
class RequestBodies {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** In the order in which they became large. */
  readonly #large = new Set<LargeBody>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /**
   * Never rejects. `maxBytes` is at most {@link MAX_BYTES}. Reads on a little after refusing a
   * body, so that the answer reaches the client.
   */
  async read(request: IncomingMessage, maxBytes: number): Promise<RequestBody> {
    const announcedBytes = Number(request.headers["content-length"] ?? 0);
    if (announcedBytes > 2 * MAX_BYTES) return "far-too-large";
    if (announcedBytes > maxBytes) {
      drop(request);
      return "too-large";
    }
    const { promise, resolve } = Promise.withResolvers<RequestBody>();
    let pieces: Buffer[] = [];
    let bytes = 0;
    const arrived = new Arrived();
    let place: LargeBody | null = null;
    const take = (piece: Buffer): void => {
      bytes += piece.length;
      if (bytes > maxBytes) return resolve("too-large");
      arrived.add(this.#clock.monotonicMs(), piece.length);
      if (bytes > SMALL_BYTES) place ??= this.#takePlace({ arrived, giveWay: () => resolve("busy") });
      pieces.push(piece);
      if (pieces.length > MAX_PIECES) pieces = [Buffer.concat(pieces)];
    };
    request.on("data", take);
    request.once("end", () => resolve(Buffer.concat(pieces)));
    request.once("close", () => resolve("gone"));
    request.once("error", () => resolve("gone"));
    try {
      return await promise;
    } finally {
      request.off("data", take);
      pieces = [];
      if (!request.readableEnded) drop(request);
      if (place !== null) this.#large.delete(place);
    }
  }

  /** If all places are taken, the body that sent least of late gives way, the oldest first. */
  #takePlace(body: LargeBody): LargeBody {
    if (this.#large.size >= MAX_LARGE) {
      const sinceMs = this.#clock.monotonicMs() - COUNTED_FOR_MS;
      const [slowest] = [...this.#large].toSorted(
        (one, other) => one.arrived.since(sinceMs) - other.arrived.since(sinceMs),
      );
      if (slowest !== undefined) {
        this.#large.delete(slowest);
        slowest.giveWay();
      }
    }
    this.#large.add(body);
    return body;
  }
}

/** Counts the bytes that arrived of late, in bounded memory. */
class Arrived {
  #steps: { atMs: number; bytes: number }[] = [];

  add(nowMs: number, bytes: number): void {
    const last = this.#steps.at(-1);
    if (last !== undefined && nowMs - last.atMs < COUNTED_STEP_MS) last.bytes += bytes;
    else {
      this.#steps = this.#steps.filter(({ atMs }) => atMs > nowMs - COUNTED_FOR_MS);
      this.#steps.push({ atMs: nowMs, bytes });
    }
  }

  since(sinceMs: number): number {
    return this.#steps.reduce((sum, { atMs, bytes }) => (atMs > sinceMs ? sum + bytes : sum), 0);
  }
}

/**
 * Reads on for a while. If the connection closed in the middle of a body, the answer might be lost.
 */
function drop(request: IncomingMessage): void {
  let leftBytes = MAX_BYTES;
  request.on("data", (piece: Buffer) => {
    leftBytes -= piece.length;
    if (leftBytes < 0) request.destroy();
  });
}
