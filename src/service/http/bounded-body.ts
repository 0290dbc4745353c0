import { isUtf8 } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Context } from "hono";
import {
  type Attachment,
  ATTACHMENT_LIMITS,
  attachmentKindOf,
  isOfMediaType,
} from "../../shared/contract/attachment.ts";
import { CRUMBS, isInCrumbs } from "../../shared/machine/listen.ts";
import type { NewAttachment } from "../jobs/attachment-files.ts";
import { HttpFault, mustBe } from "./http-fault.ts";

/** The most bytes of a request's body. */
export const MAX_BODY_BYTES = 256 * 1024;
/** The same for a request with attachments, which are larger in base64. */
export const MAX_BODY_BYTES_WITH_ATTACHMENTS = 12 * 1024 ** 2;

/**
 * Only creates and messages with attachments may have larger bodies. Each takes several times its
 * size in memory. All addresses of this form need a key.
 */
const MAY_BE_LARGE = /^\/v2\/agent\/[^/]+\/job(?:\/[^/]+\/message)?$/;
/** This must appear within the first bytes of a large body, as many as any body may have. */
const MARK = '"attachments"';
/**
 * Webhooks come without a key. They contain the pull request and the review, with 64 KB of text
 * each.
 */
const WEBHOOK = /^\/webhooks\//;
const MAX_WEBHOOK_BYTES = 1024 ** 2;
/** The most large bodies at once, over all clients. As many large webhooks are accepted besides. */
const MAX_LARGE_AT_ONCE = 4;
const RETRY_AFTER_S = 5;

/**
 * Makes a middleware that reads the body of a POST, whatever the headers say: 413 for one that is
 * too large. What is not UTF-8 is refused with 400: it would be read as something that nobody sent.
 *
 * Hono's own `bodyLimit` knows one limit, and hands a request without `Content-Length` on as a
 * copy.
 */
export function boundedBody() {
  const largeNow = { keyed: 0, webhook: 0 };

  return async ({ req }: Context, next: () => Promise<void>): Promise<void> => {
    if (req.method !== "POST" || req.raw.body === null) return next();
    if (!/^(?:identity)?$/i.test(req.header("content-encoding") ?? "")) {
      throw new HttpFault(415, "Send the body as it is, without Content-Encoding.", CLOSES);
    }
    const mayBeLarge = MAY_BE_LARGE.test(req.path);
    const kind = WEBHOOK.test(req.path) ? "webhook" : "keyed";
    const ofKeyed = mayBeLarge ? MAX_BODY_BYTES_WITH_ATTACHMENTS : MAX_BODY_BYTES;
    const limit = kind === "webhook" ? MAX_WEBHOOK_BYTES : ofKeyed;
    let isLarge = false;
    /** Called once the body is larger than others may be. */
    const admitLarge = (start: Buffer): void => {
      const isMeant = mayBeLarge && start.subarray(0, MAX_BODY_BYTES).includes(MARK);
      if (kind === "keyed" && !isMeant) throw tooLarge(MAX_BODY_BYTES);
      if (largeNow[kind] >= MAX_LARGE_AT_ONCE) {
        const want = `Too many large requests at once. Try again in ${RETRY_AFTER_S} s.`;
        throw new HttpFault(429, want, { ...CLOSES, "retry-after": String(RETRY_AFTER_S) });
      }
      largeNow[kind] += 1;
      isLarge = true;
    };
    try {
      if (Number(req.header("content-length") ?? 0) > limit) throw tooLarge(limit);
      const body = await readAtMost(req.raw.body, limit, admitLarge);
      if (!isUtf8(body)) throw new HttpFault(400, mustBe("The body", "text in UTF-8"));
      // Hono looks here before it reads a body. A new `Request` would copy it twice.
      Object.assign(req.bodyCache, { text: Promise.resolve(body.toString()) });
      // Lets other requests run before so much is parsed. Sockets are read between the first and
      // the second.
      if (isLarge) {
        await nextTurn();
        await nextTurn();
      }
      await next();
    } finally {
      if (isLarge) largeNow[kind] -= 1;
    }
  };
}

// The rest of the body isn't read, so the connection can't be reused.
const CLOSES = { connection: "close" };

function tooLarge(limit: number): HttpFault {
  return new HttpFault(413, `Send at most ${limit} bytes.`, CLOSES);
}

/**
 * Reads a body of at most `limit` bytes, whatever its headers say. Rejects with an
 * {@link HttpFault}. `admitLarge` is called once it is larger than most bodies may be.
 */
export async function readAtMost(
  body: ReadableStream<Uint8Array>,
  limit: number,
  admitLarge: (start: Buffer) => void = () => {},
): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      const before = bytes;
      bytes += chunk.length;
      chunks.push(chunk);
      if (isInCrumbs(chunks.length, bytes)) throw new HttpFault(400, CRUMBS, CLOSES);
      if (before <= MAX_BODY_BYTES && bytes > MAX_BODY_BYTES) admitLarge(Buffer.concat(chunks));
      if (bytes > limit) throw tooLarge(limit);
    }
  } catch (thrown) {
    if (thrown instanceof HttpFault) throw thrown;
    // The client is gone, so nobody reads this answer, and nothing is wrong here.
    throw new HttpFault(400, "The body ended too early. Send it again.", CLOSES);
  }
  return Buffer.concat(chunks);
}

const { bytes: MAX_BYTES, totalBytes: MAX_TOTAL_BYTES } = ATTACHMENT_LIMITS;

/**
 * Decodes the attachments' files. Rejects with an {@link HttpFault} if one is too large or doesn't
 * match its media type.
 */
export async function decodeAttachments(wire: readonly Attachment[]): Promise<NewAttachment[]> {
  const decoded: NewAttachment[] = [];
  for (const [index, { name, mediaType, data }] of wire.entries()) {
    // Lets other requests run before each of them.
    await nextTurn();
    const content = Buffer.from(data, "base64");
    const want = wantOf(mediaType, data, content);
    if (want !== null) throw new HttpFault(400, mustBe(`attachments.${index}.data`, want));
    decoded.push({ name, mediaType, content });
  }
  const bytes = decoded.reduce((sum, { content }) => sum + content.length, 0);
  if (bytes > MAX_TOTAL_BYTES) {
    throw new HttpFault(400, mustBe("attachments", `at most ${MAX_TOTAL_BYTES} bytes, all of them together`));
  }
  return decoded;
}

/** What should be there instead, or null if it is right. */
function wantOf(mediaType: string, data: string, content: Buffer): string | null {
  if (content.length !== decodedBytes(data)) return "base64, with padding and without white space";
  if (content.length === 0 || content.length > MAX_BYTES) return `a file of 1 to ${MAX_BYTES} bytes`;
  if (isOfMediaType(mediaType, content)) return null;
  return attachmentKindOf(mediaType) === "text"
    ? "text in UTF-8, without zero bytes"
    : `a file of the type ${mediaType}`;
}

/** The size of the data that a base64 text stands for. A text that isn't base64 decodes to less. */
function decodedBytes(data: string): number {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return (data.length / 4) * 3 - padding;
}
