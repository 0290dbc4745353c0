import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress, createUnzip, createZstdDecompress } from "node:zlib";
import type { Dispatcher } from "undici";
import type { AnswerUsage, CallUsage } from "./answer-usage.ts";
import { pickHeaders, type SentHeaders } from "./http-headers.ts";
import type { NetworkLimits, TrafficMeter } from "../limits.ts";
import { ModelCallFault } from "./model-trouble.ts";

type AnswerOptions = {
  key: KeyPattern | null;
  response: ServerResponse;
  signal: AbortSignal;
  limits: NetworkLimits;
  meter: TrafficMeter;
  /** Reads along. Absent or null if the answer isn't counted. */
  usage?: AnswerUsage | null;
  /** Called with the usage known so far, each time it changes. */
  onUsed?: (usage: CallUsage) => void;
};

const RESPONSE_HEADERS = new RegExp(
  String.raw`^(?:content-type|cache-control|retry-after(?:-ms)?|x-should-retry|(?:x-)?request-id|` +
    String.raw`(?:x|anthropic)-ratelimit-.*|openai-(?:model|processing-ms|version))$`,
);

/** We ask upstreams not to compress, but some do. */
const DECODERS = new Map<string, () => Duplex>([
  ["gzip", createUnzip],
  ["x-gzip", createUnzip],
  ["deflate", createUnzip],
  ["br", createBrotliDecompress],
  ["zstd", createZstdDecompress],
]);

/**
 * Passes an upstream's answer on to the agent as it arrives, without the key. Rejects if it breaks
 * off.
 */
export async function sendAnswer(
  answered: Dispatcher.ResponseData,
  { key, response, signal, limits, meter, usage = null, onUsed }: AnswerOptions,
): Promise<void> {
  // A 401 may quote the key with some characters starred out, and its text means nothing to the
  // agent.
  if (answered.statusCode === 401) {
    await answered.body.dump();
    throw new ModelCallFault(401, "The model provider refused the service's key.");
  }
  const encoding = String(answered.headers["content-encoding"] ?? "identity").toLowerCase();
  const decoder = DECODERS.get(encoding)?.();
  if (decoder === undefined && encoding !== "identity") {
    await answered.body.dump();
    throw new ModelCallFault(502, "The model provider answered in an unknown encoding.");
  }
  const scrubber = new KeyScrubber(key);
  response.writeHead(answered.statusCode, cleanHeaders(answered.headers, key));
  response.flushHeaders();

  async function* pass(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let bytes = 0;
    let reported: CallUsage | null = null;
    for await (const chunk of source) {
      bytes += chunk.length;
      meter.in(chunk.length);
      if (bytes > limits.modelAnswerBytes) throw new ModelCallFault(502, "The answer is too long.");
      usage?.take(chunk);
      const now: CallUsage | null = usage?.reported ?? reported;
      if (now !== null && now !== reported) onUsed?.(now);
      reported = now;
      const clean = scrubber.push(chunk);
      if (clean.length > 0) yield clean;
    }
    usage?.end();
    // Counted before the agent sees the end and calls again.
    if (usage !== null) onUsed?.(usage.total().usage);
    yield scrubber.flush();
  }

  const { body } = answered;
  if (decoder === undefined) await pipeline(body, pass, response, { signal });
  else await pipeline(body, decoder, pass, response, { signal });
}

function cleanHeaders(headers: Dispatcher.ResponseData["headers"], key: KeyPattern | null): SentHeaders {
  const picked = pickHeaders(headers, (name) => RESPONSE_HEADERS.test(name));
  return Object.fromEntries(
    Object.entries(picked).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map((one) => withoutKey(one, key)) : withoutKey(value, key),
    ]),
  );
}

const PLACEHOLDER = "[key]";
/** A shorter key is just a word that a local server accepts, not a secret. */
const MIN_KEY_LENGTH = 8;
const MAX_BACKSLASHES = 8;
/** The longest form of one character, however it is escaped. */
const MAX_ESCAPED_LENGTH = MAX_BACKSLASHES + "u0026".length;

/**
 * Finds a key in all forms in which an upstream could send it back: as it is, in Base64 and in hex.
 */
export type KeyPattern = { find: RegExp; maxLength: number };

/**
 * Returns null for a key that is too short to be a secret. This takes a while, so do it once per
 * key.
 */
export function keyPattern(key: string): KeyPattern | null {
  if (key.length < MIN_KEY_LENGTH) return null;
  const forms = [
    key.replaceAll(/[^]/g, (character) => escaped(character)),
    ...[0, 1, 2].map((offset) => base64Within(key, offset).replaceAll(/[+/]/g, inBase64)),
    Buffer.from(key).toString("hex"),
  ];
  // No form is longer than twice the key.
  return { find: new RegExp(forms.join("|"), "gi"), maxLength: 2 * key.length * MAX_ESCAPED_LENGTH };
}

/** Matches a character as it may be written in JSON (also in JSON within JSON) or in a URL. */
function escaped(character: string): string {
  const hex = character.charCodeAt(0).toString(16).padStart(2, "0");
  const plain = `\\\\{0,${MAX_BACKSLASHES}}${character.replace(/\W/, "\\$&")}`;
  return `(?:${plain}|\\\\{1,${MAX_BACKSLASHES}}u00${hex}|%(?:25){0,3}${hex})`;
}

/** Matches one of the two characters in which the Base64 alphabets differ. */
function inBase64(character: string): string {
  return `(?:${escaped(character)}|${character === "+" ? "-" : "_"})`;
}

/**
 * The part of the key's Base64 form that stays the same inside a longer text, such as `user:key`,
 * given how many bytes precede it in its group of three.
 */
function base64Within(key: string, offset: number): string {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(key)]);
  // Leaves out the characters at its edges that also encode bits of its neighbors. They hold a few
  // bits of the key at most.
  const from = Math.ceil((offset * 8) / 6);
  return bytes.toString("base64").slice(from, Math.floor((bytes.length * 8) / 6));
}

/** Removes a key from a short text, such as a header's value. */
function withoutKey(text: string, key: KeyPattern | null): string {
  return key === null ? text : text.replaceAll(key.find, PLACEHOLDER);
}

/** Removes a key from a stream of bytes, even if it is split over several chunks. */
export class KeyScrubber {
  readonly #key: KeyPattern | null;
  #held = "";

  constructor(key: KeyPattern | null) {
    this.#key = key;
  }

  /**
   * Returns what can be passed on: everything but the text after the last line break that could be
   * the beginning of the key.
   */
  push(chunk: Uint8Array): Buffer {
    const clean = withoutKey(this.#held + Buffer.from(chunk).toString("latin1"), this.#key);
    const end = this.#key === null ? clean.length : clean.length - this.#key.maxLength;
    const at = Math.max(0, end, clean.lastIndexOf("\n") + 1);
    this.#held = clean.slice(at);
    return Buffer.from(clean.slice(0, at), "latin1");
  }

  /** Returns what was held back. Call this once, at the end. */
  flush(): Buffer {
    return Buffer.from(this.#held, "latin1");
  }
}
