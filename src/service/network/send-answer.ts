import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";
import type { Dispatcher } from "undici";
import type { AnswerUsage } from "./answer-usage.ts";
import { pickHeaders, type SentHeaders } from "./http-headers.ts";
import type { NetworkLimits } from "./limits.ts";
import { ModelCallFault } from "./model-call-fault.ts";
import { type KeyPattern, KeyScrubber, withoutKey } from "./scrub-key.ts";
import type { TrafficMeter } from "./traffic.ts";
import type { CallUsage } from "./usage-formats.ts";

type AnswerOptions = {
  key: KeyPattern | null;
  response: ServerResponse;
  signal: AbortSignal;
  limits: NetworkLimits;
  meter: TrafficMeter;
  /** Reads along; null: the answer isn't counted. */
  usage: AnswerUsage | null;
  /** Called with what is known of the usage, each time that changes. */
  onUsed?: (usage: CallUsage) => void;
};

const RESPONSE_HEADERS =
  /^(?:content-type|cache-control|retry-after(?:-ms)?|x-should-retry|(?:x-)?request-id|(?:x|anthropic)-ratelimit-.*|openai-(?:model|processing-ms|version))$/;

/** Hands an upstream's answer on to the agent as it arrives, without the key. Rejects if it breaks off. */
export async function sendAnswer(
  answered: Dispatcher.ResponseData,
  { key, response, signal, limits, meter, usage, onUsed }: AnswerOptions,
): Promise<void> {
  // It may quote the key with some characters starred out, and means nothing to the agent.
  if (answered.statusCode === 401) {
    await answered.body.dump();
    throw new ModelCallFault(401, "The model provider refused the service's key.");
  }
  const decoder = decoderFor(answered.headers["content-encoding"]);
  if (decoder === "unknown") {
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
      if (usage !== null && usage.reported !== null && usage.reported !== reported) {
        reported = usage.reported;
        onUsed?.(reported);
      }
      const clean = scrubber.push(chunk);
      if (clean.length > 0) yield clean;
    }
    usage?.end();
    // Before the agent sees the end and calls again.
    if (usage !== null) onUsed?.(usage.total().usage);
    yield scrubber.flush();
  }

  const { body } = answered;
  if (decoder === null) await pipeline(body, pass, response, { signal });
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

/** Upstreams were asked for none, but some compress all the same. Null: there is nothing to decode. */
function decoderFor(encoding: string | string[] | undefined): Duplex | "unknown" | null {
  switch (String(encoding ?? "identity").toLowerCase()) {
    case "identity":
      return null;
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "deflate":
      return createInflate();
    case "br":
      return createBrotliDecompress();
    case "zstd":
      return createZstdDecompress();
    default:
      return "unknown";
  }
}
