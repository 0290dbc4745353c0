import { type ClientRequest, type IncomingMessage, request as startRequest } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { endToEndHeaders, pickHeaders } from "../../network/gateway/http-headers.ts";
import { KEY_HEADERS, keysIn } from "../../network/gateway/model-kinds.ts";
import { faultAnswer, ModelCallFault } from "../../network/gateway/model-trouble.ts";
import { NETWORK_LIMITS } from "../../network/limits.ts";

/** Where the door takes the calls of one piece of work, and the key that they carry there. */
export type DoorAddress = { socketPath: string; work: number; key: string };

/** What is only between the runner and the service: its key, and its lease. */
const OURS = new RegExp(`^(?:${KEY_HEADERS.join("|")}|host|cookie|content-length|docs-agent-.*)$`);
// A connection can't be reused before the rest of a body was read.
const CLOSES = { connection: "close" };
/** Answers without a body (RFC 9110). */
const WITHOUT_BODY = new Set([204, 205, 304]);

/** The key that a call of a model carries, in the form of any kind. Null if it carries none. */
export function keySent(headers: Headers): string | null {
  return keysIn(Object.fromEntries(headers))[0] ?? null;
}

/** The longest time in which the rest of a refused call's body is read. */
const REST_MS = 10_000;

/**
 * The answer to a call that doesn't get to the door, in the form of its own refusals. With
 * `isShort`, the rest of its body isn't read, so the client may miss the reason.
 */
export async function refuseCall(
  request: Request,
  { status, message, isShort = false }: { status: number; message: string; isShort?: boolean },
): Promise<Response> {
  const { headers, body } = faultAnswer(new ModelCallFault(status, message));
  const { connection: _, ...others } = headers;
  const isRead = !isShort && (await readRest(request));
  return new Response(body, { status, headers: { ...others, ...(!isRead && CLOSES) } });
}

/**
 * Hands one call to the door, and its answer back, without reading either: as much is on its way as
 * the other side takes. Rejects if there is no answer. `onEnd` is called when nothing of it is
 * under way anymore.
 */
export function passCall(
  request: Request,
  { socketPath, work, key }: DoorAddress,
  onEnd: () => void,
): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const { pathname, search } = new URL(request.url);
  const headers = pickHeaders(
    endToEndHeaders(Object.fromEntries(request.headers)),
    (name) => !OURS.test(name),
  );
  const sent = startRequest({
    socketPath,
    path: `/${work}${pathname.slice(pathname.indexOf("/models/"))}${search}`,
    method: request.method,
    headers: {
      ...headers,
      authorization: `Bearer ${key}`,
      // The rest of a body that the door doesn't read could hide its answer.
      ...(request.body !== null && { expect: "100-continue" }),
    },
    // A connection that is kept could end just when the next call begins.
    agent: false,
    signal: request.signal,
  });
  sent.on("error", reject).once("close", onEnd);
  sent.once("response", (answered) => void answerOf(answered, sent, request).then(resolve, reject));
  const { body } = request;
  if (body === null) sent.end();
  else {
    // What goes wrong is an error of the call itself, too.
    sent.once("continue", () => void pipeline(Readable.fromWeb(body), sent).catch(() => {}));
    sent.flushHeaders();
  }
  return promise;
}

/** The answer to a request, from the door's answer to what was sent of it. */
async function answerOf(answered: IncomingMessage, sent: ClientRequest, request: Request): Promise<Response> {
  const { statusCode: status = 0 } = answered;
  answered.once("end", () => sent.destroy());
  // An answer that comes before all was sent is a refusal.
  const isRead = sent.writableFinished || (await readRest(request));
  const headers = new Headers(isRead ? {} : CLOSES);
  for (const [name, value] of Object.entries(endToEndHeaders(answered.headers))) {
    for (const one of [value].flat()) headers.append(name, one);
  }
  if (WITHOUT_BODY.has(status)) {
    answered.resume();
    return new Response(null, { status, headers });
  }
  if (status >= 200 && status <= 599) {
    return new Response(Readable.toWeb(answered) as ReadableStream<Uint8Array>, { status, headers });
  }
  answered.destroy();
  throw new ModelCallFault(502, "The answer has no valid status.");
}

/** Reads and forgets what is left of a body. False if that is too much, or takes too long. */
async function readRest({ body }: Request): Promise<boolean> {
  if (body === null) return true;
  if (body.locked) return false;
  const reader = body.getReader();
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(resolve, REST_MS, null);
  try {
    for (let bytes = 0; bytes <= NETWORK_LIMITS.modelRequestBytes;) {
      const read = await Promise.race([reader.read(), late]);
      if (read === null || read.done) return read !== null;
      bytes += read.value.length;
    }
    return false;
  } catch {
    // The client is gone.
    return false;
  } finally {
    clearTimeout(timer);
  }
}
