import { promisify } from "node:util";
import { brotliDecompress, unzip, zstdDecompress } from "node:zlib";
import type { Dispatcher } from "undici";
import { codeOf, codeOrNameOf, messageOf } from "../core/errors.ts";
import { ProxyConnectError } from "../process/proxy.ts";

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

export type AnswerHeaders = Record<string, string | string[] | undefined>;

/**
 * Sends one request and reads the answer within `timeoutMs`. Never rejects, follows no redirects
 * and repeats nothing. Gives up when `signal` aborts.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Exchange> {
  return new Promise((settle) => {
    const giveUp = () => handler.giveUp("given up");
    const handler = new ExchangeHandler(timeoutMs, (exchanged) => {
      signal?.removeEventListener("abort", giveUp);
      settle(exchanged);
    });
    if (signal?.aborted === true) return giveUp();
    signal?.addEventListener("abort", giveUp);
    try {
      dispatcher.dispatch(request, handler);
    } catch (thrown) {
      handler.fail(thrown);
    }
  });
}

/**
 * undici's `request()` doesn't tell if a call failed before or after the request was written, and
 * neither do error codes: a TLS handshake ends in the same ECONNRESET as a lost answer.
 * `onRequestStart` does, because undici calls it with an open connection, right before it writes.
 */
class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #resolve: (exchange: Exchange) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #controller: Dispatcher.DispatchController | null = null;
  #answer: { status: number; headers: AnswerHeaders } | null = null;
  #over = false;

  constructor(timeoutMs: number, resolve: (exchange: Exchange) => void) {
    this.#resolve = resolve;
    this.#timer = setTimeout(() => this.giveUp(`no complete answer within ${timeoutMs} ms`), timeoutMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The call was given up while connecting and reported as never sent, so it must not be written
    // now.
    if (this.#over) return controller.abort(new Error("given up"));
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    if (status >= 200) this.#answer = { status, headers };
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_BODY_BYTES) return this.giveUp(`a body of more than ${MAX_BODY_BYTES} bytes`);
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#answer === null) return this.giveUp("an answer without a status");
    void this.#read(this.#answer);
  }

  async #read(answer: { status: number; headers: AnswerHeaders }): Promise<void> {
    const decoded = await decodeBody(Buffer.concat(this.#chunks), answer.headers["content-encoding"]);
    this.#end({ kind: "answer", ...answer, ...decoded });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
  }

  fail(thrown: unknown): void {
    const reason = thrown instanceof ProxyConnectError ? thrown.message : codeOrNameOf(thrown);
    if (reason === "UND_ERR_INVALID_ARG") return this.#end({ kind: "unsendable", reason: messageOf(thrown) });
    this.#fault(reason);
  }

  giveUp(reason: string): void {
    this.#fault(reason);
    this.#controller?.abort(new Error(reason));
  }

  #fault(reason: string): void {
    if (this.#answer !== null) return this.#end({ kind: "answer", ...this.#answer, body: null, reason });
    this.#end({ kind: "no-answer", sent: this.#controller !== null, reason });
  }

  #end(exchange: Exchange): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#timer);
    this.#resolve(exchange);
  }
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
