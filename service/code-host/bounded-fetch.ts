import { DocsAgentError } from "../../src/core/errors.ts";

/** GitHub redirects once, to a renamed repository. More is a loop. */
const MAX_REDIRECTS = 5;
/** Others fill in texts: 30 reviews of 65,536 characters, GitHub's limit, are up to 12 MB. */
const MAX_BODY_BYTES = 20 * 1024 * 1024;
/**
 * A hundred pull requests in a list have half as many. The time that it takes to parse an answer
 * depends on these, not on its texts, and this thread serves others.
 */
const MAX_PARTS = 100_000;

/** A redirect that leads away from the API's own origin. */
export class RedirectedElsewhereError extends DocsAgentError {
  readonly code = "redirected_elsewhere";
  readonly status: number;

  constructor(status: number, to: string) {
    super(`It leads to ${to}.`);
    this.status = status;
  }
}

/**
 * `fetch` that follows redirects only within the origin of the URL, so that nothing of a request
 * gets to another host, and no other host's answer is believed. The same request is sent again,
 * whatever the redirect's status, as GitHub asks of its clients.
 */
async function fetchWithinOrigin(url: string, init?: RequestInit): Promise<Response> {
  let at = new URL(url);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const response = await fetch(at, { ...init, redirect: "manual" });
    const { status, headers } = response;
    if (status < 300 || status > 399 || status === 304) return response;
    await response.body?.cancel();
    const next = URL.parse(headers.get("location") ?? "", at.href);
    if (next === null || ![301, 302, 307, 308].includes(status)) throw new Error(`A redirect (${status})`);
    if (next.origin !== at.origin) throw new RedirectedElsewhereError(status, next.origin);
    at = next;
  }
  throw new Error("Too many redirects");
}

/**
 * {@link fetchWithinOrigin} that fails if the body is larger than 20 MiB, or is JSON of more than
 * 100,000 values.
 */
export async function boundedFetch(url: string, init?: RequestInit): Promise<Response> {
  const response = await fetchWithinOrigin(url, init);
  if (!response.body) return response;
  const count = createPartsCount();
  let bytes = 0;
  const bounded = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.length;
        if (bytes > MAX_BODY_BYTES || count(chunk) > MAX_PARTS) {
          controller.error(new Error("The answer is too large"));
        } else controller.enqueue(chunk);
      },
    }),
  );
  return new Response(bounded, response);
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
/** Each of these outside of a text begins a value: a comma and two brackets. */
const BEGINNINGS: readonly number[] = [0x2c, 0x5b, 0x7b];

/** Returns a function that takes a text's next bytes and returns how many values of JSON it has. */
function createPartsCount(): (chunk: Uint8Array) => number {
  let parts = 0;
  let isInText = false;
  let isEscaped = false;
  return (chunk) => {
    for (const byte of chunk) {
      if (isEscaped) isEscaped = false;
      else if (byte === QUOTE) isInText = !isInText;
      else if (!isInText) parts += BEGINNINGS.includes(byte) ? 1 : 0;
      else isEscaped = byte === BACKSLASH;
    }
    return parts;
  };
}
