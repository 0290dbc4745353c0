import { request as startRequest } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { endToEndHeaders, pickHeaders } from "../../network/gateway/http-headers.ts";
import { KEY_HEADERS, keysIn } from "../../network/gateway/model-kinds.ts";
import { faultAnswer, ModelCallFault } from "../../network/gateway/model-trouble.ts";

/** Where the door takes the calls of one piece of work, and the key that they carry there. */
export type DoorAddress = { socketPath: string; work: number; key: string };

/** What is only between the runner and the service: its key, and its lease. */
const OURS = new RegExp(`^(?:${KEY_HEADERS.join("|")}|host|cookie|content-length|docs-agent-.*)$`);
/** Answers without a body (RFC 9110). */
const WITHOUT_BODY = new Set([204, 205, 304]);

/** The key that a call of a model carries, in the form of any kind. Null if it carries none. */
export function keySent(headers: Headers): string | null {
  return keysIn(Object.fromEntries(headers))[0] ?? null;
}

/** The answer to a call that doesn't get to the door, in the form of its own refusals. */
export function refuseCall(status: number, message: string): Response {
  const { headers, body } = faultAnswer(new ModelCallFault(status, message));
  return new Response(body, { status, headers });
}

/**
 * Hands one call to the door, and its answer back, without reading either: as much is on its way as
 * the other side takes. Rejects if there is no answer. `onEnd` is called when nothing of it is under
 * way anymore.
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
    headers: { ...headers, authorization: `Bearer ${key}` },
    // A connection that is kept could end just when the next call begins.
    agent: false,
    signal: request.signal,
  });
  sent.on("error", reject).once("close", onEnd);
  sent.once("response", (answered) => {
    const { statusCode: status = 0 } = answered;
    const given = new Headers();
    for (const [name, value] of Object.entries(endToEndHeaders(answered.headers))) {
      for (const one of [value].flat()) given.append(name, one);
    }
    if (WITHOUT_BODY.has(status)) {
      answered.resume();
      resolve(new Response(null, { status, headers: given }));
    } else if (status < 200 || status > 599) {
      answered.destroy();
      reject(new ModelCallFault(502, "The answer has no valid status."));
    } else {
      resolve(
        new Response(Readable.toWeb(answered) as ReadableStream<Uint8Array>, { status, headers: given }),
      );
    }
  });
  if (request.body === null) sent.end();
  // What goes wrong is an error of the call itself, too.
  else pipeline(Readable.fromWeb(request.body), sent).catch(() => {});
  return promise;
}
