import { promisify } from "node:util";
import { brotliDecompress, unzip, zstdDecompress } from "node:zlib";
import type { Dispatcher } from "undici";
import { codeOf, codeOrNameOf, messageOf } from "../../shared/errors.ts";
import { ProxyConnectError } from "../../shared/machine/proxy.ts";

const MAX_BODY_BYTES = 1_048_576;

/**
 * The result of one HTTP request.
 *
 * - `answer`: a status and headers arrived. `body` is decompressed. It is null, with the `reason`,
 *   if it was cut off, came too slowly, is over 1 MiB (also once decompressed) or can't be
 *   decompressed.
 * - `no-answer`: none arrived. `sent` is false only if not one byte of the request was written.
 * - `unsendable`: the request itself isn't valid HTTP, so it can never be sent.
 */
export type Exchange =
  | ({ kind: "answer"; status: number; headers: AnswerHeaders } & Decoded)
  | { kind: "no-answer"; sent: boolean; reason: string }
  | { kind: "unsendable"; reason: string };

type AnswerHeaders = Record<string, string | string[] | undefined>;

/**
 * Sends one request and reads the answer within `timeoutMs`. Never rejects, follows no redirects
 * and repeats nothing. Gives up when `signal` aborts.
 *
 * undici's `request()` doesn't tell if a call failed before or after the request was written, and
 * neither do error codes: a TLS handshake ends in the same ECONNRESET as a lost answer.
 * `onRequestStart` does, because undici calls it with an open connection, right before it writes.
 */
export async function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Exchange> {
  const { promise: exchanged, resolve } = Promise.withResolvers<Exchange>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  let controller: Dispatcher.DispatchController | null = null;
  let answer: { status: number; headers: AnswerHeaders } | null = null;
  let isOver = false;

  /** The first end counts. */
  function end(exchange: Exchange): void {
    isOver = true;
    resolve(exchange);
  }

  function fault(reason: string): void {
    if (answer !== null) return end({ kind: "answer", ...answer, body: null, reason });
    end({ kind: "no-answer", sent: controller !== null, reason });
  }

  function fail(thrown: unknown): void {
    const reason = thrown instanceof ProxyConnectError ? thrown.message : codeOrNameOf(thrown);
    if (reason === "UND_ERR_INVALID_ARG") return end({ kind: "unsendable", reason: messageOf(thrown) });
    fault(reason);
  }

  function giveUp(reason: string): void {
    fault(reason);
    controller?.abort(new Error(reason));
  }
  const onAbort = () => giveUp("given up");
  const timer = setTimeout(() => giveUp(`no complete answer within ${timeoutMs} ms`), timeoutMs);

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      // The call was given up while connecting and reported as never sent, so it must not be
      // written now.
      if (isOver) started.abort(new Error("given up"));
      else controller = started;
    },
    onResponseStart(_, status, headers) {
      if (status >= 200) answer = { status, headers };
    },
    onResponseData(_, chunk) {
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) return giveUp(`a body of more than ${MAX_BODY_BYTES} bytes`);
      chunks.push(chunk);
    },
    onResponseEnd() {
      if (answer === null) return giveUp("an answer without a status");
      const answered = answer;
      void decodeBody(Buffer.concat(chunks), answered.headers["content-encoding"]).then((decoded) =>
        end({ kind: "answer", ...answered, ...decoded }),
      );
    },
    onResponseError: (_, error) => fail(error),
  };

  try {
    if (signal?.aborted === true) onAbort();
    else dispatcher.dispatch(request, handler);
    signal?.addEventListener("abort", onAbort);
  } catch (thrown) {
    fail(thrown);
  }
  return exchanged.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  });
}

type Decoded = { body: string; reason: null } | { body: null; reason: string };

type Decompress = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;
/** The app asks for `identity` alone, but something in between may compress all the same. */
const DECOMPRESS = new Map<string, Decompress>([
  ["gzip", promisify(unzip)],
  ["x-gzip", promisify(unzip)],
  ["deflate", promisify(unzip)],
  ["br", promisify(brotliDecompress)],
  ["zstd", promisify(zstdDecompress)],
]);

/** Decodes a body with this `Content-Encoding` to text, or returns why it can't. Never rejects. */
async function decodeBody(bytes: Buffer, encoding: string | string[] = ""): Promise<Decoded> {
  const name = String(encoding).trim().toLowerCase();
  if (bytes.length === 0 || name === "" || name === "identity") return textOf(bytes);
  const decompress = DECOMPRESS.get(name);
  if (decompress === undefined) return { body: null, reason: "a body in an encoding that isn't supported" };
  try {
    return textOf(await decompress(bytes, { maxOutputLength: MAX_BODY_BYTES }));
  } catch (thrown) {
    const isLarge = codeOf(thrown) === "ERR_BUFFER_TOO_LARGE";
    const what = isLarge ? `of more than ${MAX_BODY_BYTES} bytes` : `that can't be decompressed (${name})`;
    return { body: null, reason: `a body ${what}` };
  }
}

function textOf(bytes: Buffer): Decoded {
  return { body: new TextDecoder().decode(bytes), reason: null };
}
