import { isUtf8 } from "node:buffer";
import type { Context } from "hono";
import { HttpFault } from "./http-fault.ts";

/**
 * Makes a middleware that reads the body of a POST, at most `maxBytes` of it, whatever the headers say: 413 beyond. What is not UTF-8 is
 * refused with 400: it would be read as something that nobody sent.
 *
 * Hono's own `bodyLimit` hands a request without `Content-Length` on as a copy made of the server's lightweight request,
 * which only works while Node's global `Request` is replaced.
 */
export function boundedBody(maxBytes: number) {
  // The rest of the body is not read: the connection cannot be used again.
  const tooLarge = () => new HttpFault(413, `Send at most ${maxBytes} bytes`, { connection: "close" });

  return async ({ req }: Context, next: () => Promise<void>): Promise<void> => {
    if (req.method === "POST" && req.raw.body !== null) {
      if (Number(req.header("content-length") ?? 0) > maxBytes) throw tooLarge();
      const body = await readAtMost(req.raw.body, maxBytes);
      if (body === null) throw tooLarge();
      if (!isUtf8(body)) throw new HttpFault(400, "the body: put text in UTF-8");
      const { method, headers } = req.raw;
      req.raw = new Request(req.url, { method, headers, body });
    }
    await next();
  };
}

/** Null: there is more. */
async function readAtMost(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
): Promise<Buffer<ArrayBuffer> | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > maxBytes) return null;
      chunks.push(chunk);
    }
  } catch {
    // The client went away: nobody reads the answer, and nothing is wrong here.
    throw new HttpFault(400, "the body: it ended too early", { connection: "close" });
  }
  return Buffer.concat(chunks);
}
