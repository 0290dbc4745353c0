import { DocsAgentError } from "../../../shared/errors.ts";
import { createGiveWay } from "../../base/give-way.ts";
import { createJsonMeter } from "../../base/json-size.ts";
import { createTextCutter } from "./cut-texts.ts";

/** GitHub redirects once, to a renamed repository. More is a loop. */
const MAX_REDIRECTS = 5;
/** Others fill in texts: 30 reviews of 65,536 characters, GitHub's limit, are up to 12 MB. */
const MAX_BODY_BYTES = 20 * 1024 * 1024;
/**
 * A hundred pull requests in a list have half as many. The time that it takes to parse an answer
 * depends on these, not on its texts, and this thread serves others.
 */
const MAX_VALUES = 100_000;
/** GitHub's answers have a dozen. What writes or copies values of any depth overflows the stack. */
const MAX_DEPTH = 200;
/** Octokit reads long numbers exactly, in quadratic time. */
const MAX_DIGITS = 1000;

export type AnswerOptions = {
  /** Called with each answer, including refusals. */
  onAnswer?: (status: number, headers: Headers) => void;
  /** Called with the size of each answer's body, as far as it was read. */
  onBody?: (bytes: number) => void;
  /** Of each text of an answer, as it is sent, about so many bytes are read. @default all */
  maxTextBytes?: number;
};

/** A redirect that leads away from the API's own origin. */
export class RedirectedElsewhereError extends DocsAgentError {
  readonly code = "redirected_elsewhere";
  readonly status: number;

  constructor(status: number, to: string) {
    super(`It leads to ${to}.`);
    this.status = status;
  }
}

/** An answer that isn't read, because that would take too long on a thread that serves others. */
export class TooLargeAnswerError extends DocsAgentError {
  readonly code = "too_large_answer";

  constructor(limit: string) {
    super(`It has more than ${limit}.`);
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
 * {@link fetchWithinOrigin} with the whole body. Rejects with a {@link TooLargeAnswerError} if that
 * is larger than 20 MiB, or takes long to parse. `onAnswer` is called in any case. Texts of more
 * than `maxTextBytes` are cut.
 */
export async function boundedFetch(
  url: string,
  init?: RequestInit,
  { onAnswer, onBody, maxTextBytes = Infinity }: AnswerOptions = {},
): Promise<Response> {
  const response = await fetchWithinOrigin(url, init);
  const { body, status, statusText, headers } = response;
  onAnswer?.(status, headers);
  if (!body) return response;
  const isJson = /json/i.test(headers.get("content-type") ?? "");
  // Other text, such as a page that says that the host is down, isn't parsed.
  const take = isJson ? createTaker(maxTextBytes) : (chunk: Uint8Array) => [chunk];
  const giveWay = createGiveWay();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      await giveWay();
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) throw new TooLargeAnswerError(`${MAX_BODY_BYTES} bytes`);
      parts.push(...take(chunk));
    }
  } finally {
    onBody?.(bytes);
  }
  return new Response(Buffer.concat(parts), { status, statusText, headers });
}

/**
 * Returns a function that takes a JSON text's next bytes, and returns what is left of them with cut
 * texts. Throws if it would take long to parse.
 */
function createTaker(maxTextBytes: number): (chunk: Uint8Array) => Uint8Array[] {
  const cut = createTextCutter(maxTextBytes);
  const measure = createJsonMeter();
  return (chunk) => {
    const kept = cut(chunk);
    for (const part of kept) {
      const { values, depth, digits } = measure(part);
      if (values > MAX_VALUES) throw new TooLargeAnswerError(`${MAX_VALUES} values`);
      if (depth > MAX_DEPTH) throw new TooLargeAnswerError(`${MAX_DEPTH} levels`);
      if (digits > MAX_DIGITS) throw new TooLargeAnswerError(`${MAX_DIGITS} digits in a number`);
    }
    return kept;
  };
}
