import { isUtf8 } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Context } from "hono";
import { HttpFault, mustBe } from "./http-fault.ts";

/** Bodies that may be larger than others. */
export type LargeBodies = {
  /** Of requests to these paths. */
  path: RegExp;
  /** What has to be within the first bytes, as many as any body may have. */
  mark: string;
  maxBytes: number;
  /** How many are taken at once, over all clients; more get 429. */
  atOnce: number;
};

const RETRY_AFTER_S = 5;

/**
 * Makes a middleware that reads the body of a POST, at most `maxBytes` of it, whatever the headers say: 413 beyond, unless it is one of
 * the `large` ones. What is not UTF-8 is refused with 400: it would be read as something that nobody sent.
 *
 * Hono's own `bodyLimit` knows one limit, and hands a request without `Content-Length` on as a copy.
 */
export function boundedBody(maxBytes: number, large: LargeBodies) {
  let largeNow = 0;

  return async ({ req }: Context, next: () => Promise<void>): Promise<void> => {
    if (req.method !== "POST" || req.raw.body === null) return next();
    if (!/^(?:identity)?$/i.test(req.header("content-encoding") ?? "")) {
      throw new HttpFault(415, "Send the body as it is, without Content-Encoding.", CLOSES);
    }
    const mayBeLarge = large.path.test(req.path);
    const limit = mayBeLarge ? large.maxBytes : maxBytes;
    let isLarge = false;
    /** Called once there is more than other bodies may have. */
    const goOn = (start: Buffer): boolean => {
      if (!mayBeLarge || !start.subarray(0, maxBytes).includes(large.mark)) return false;
      if (largeNow >= large.atOnce) throw tooManyAtOnce();
      largeNow += 1;
      isLarge = true;
      return true;
    };
    try {
      if (Number(req.header("content-length") ?? 0) > limit) throw tooLarge(limit);
      const body = await readAtMost(req.raw.body, { maxBytes, goOn, limit });
      if (!isUtf8(body)) throw new HttpFault(400, mustBe("The body", "text in UTF-8"));
      // Where Hono looks before it reads a body: a new `Request` would copy it twice.
      Object.assign(req.bodyCache, { text: Promise.resolve(body.toString()) });
      // Others get their turn before so much is parsed. Sockets are read between the first and the second.
      if (isLarge) {
        await nextTurn();
        await nextTurn();
      }
      await next();
    } finally {
      if (isLarge) largeNow -= 1;
    }
  };
}

// The rest of the body is not read: the connection cannot be used again.
const CLOSES = { connection: "close" };

function tooLarge(limit: number): HttpFault {
  return new HttpFault(413, `Send at most ${limit} bytes.`, CLOSES);
}

function tooManyAtOnce(): HttpFault {
  const want = `Too many large requests at once. Try again in ${RETRY_AFTER_S} s.`;
  return new HttpFault(429, want, { ...CLOSES, "retry-after": String(RETRY_AFTER_S) });
}

type Bounds = { maxBytes: number; goOn: (start: Buffer) => boolean; limit: number };

async function readAtMost(
  body: ReadableStream<Uint8Array>,
  { maxBytes, goOn, limit }: Bounds,
): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      const before = bytes;
      bytes += chunk.length;
      chunks.push(chunk);
      if (before <= maxBytes && bytes > maxBytes && !goOn(Buffer.concat(chunks))) throw tooLarge(maxBytes);
      if (bytes > limit) throw tooLarge(limit);
    }
  } catch (thrown) {
    if (thrown instanceof HttpFault) throw thrown;
    // The client went away: nobody reads the answer, and nothing is wrong here.
    throw new HttpFault(400, "The body ended too early. Send it again.", CLOSES);
  }
  return Buffer.concat(chunks);
}
