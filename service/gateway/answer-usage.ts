import { StringDecoder } from "node:string_decoder";
import { createParser, type EventSourceParser } from "eventsource-parser";
import {
  type CallUsage,
  laterReport,
  NO_USAGE,
  readUsage,
  type UsageFormat,
  type UsageReport,
} from "./usage-formats.ts";

/** Without a report, this many bytes of a request or an answer count as a token. */
const BYTES_PER_TOKEN = 4;
/** More of one event, or of an answer that isn't a stream, is not kept: its usage is estimated. */
const MAX_KEPT_CHARACTERS = 8 * 1024 ** 2;

/** An estimate of what so many bytes are in tokens. */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/**
 * Reads what a call used from its answer, as it passes. Keeps at most one event, or the whole of an
 * answer that isn't a stream.
 */
export class AnswerUsage {
  readonly #format: UsageFormat;
  readonly #expected: CallUsage;
  readonly #decoder = new StringDecoder("utf8");
  readonly #events: EventSourceParser | null;
  #text: string | null = "";
  #answerBytes = 0;
  #report: UsageReport | null = null;
  #hasEnded = false;

  /** `expected` is what the call may use, as far as its request shows. */
  constructor(format: UsageFormat, expected: CallUsage, contentType: string) {
    this.#format = format;
    this.#expected = expected;
    this.#events = /^text\/event-stream\b/i.test(contentType)
      ? createParser({
          maxBufferSize: MAX_KEPT_CHARACTERS,
          onEvent: ({ data }) => this.#readJson(data),
          onError: ({ type }) => {
            if (type === "max-buffer-size-exceeded") this.#text = null;
          },
        })
      : null;
  }

  /** Takes the next piece of the answer, decompressed. */
  take(chunk: Uint8Array): void {
    this.#answerBytes += chunk.length;
    if (this.#text === null) return;
    const text = this.#decoder.write(chunk);
    if (this.#events !== null) this.#events.feed(text);
    else if (this.#text.length + text.length > MAX_KEPT_CHARACTERS) this.#text = null;
    else this.#text += text;
  }

  /** The answer has come to its end, which an interrupted one never does. */
  end(): void {
    this.#hasEnded = true;
    // What stands after the last event's empty line is still one.
    if (this.#events !== null && this.#text !== null) this.#events.feed("\n\n");
    else if (this.#text !== null) this.#readJson(this.#text);
  }

  /** What the provider has reported so far; null: nothing. */
  get reported(): CallUsage | null {
    return this.#report?.usage ?? null;
  }

  /** What the call counts as: what was reported, and estimates for what was not. */
  total(): { usage: CallUsage; isEstimate: boolean } {
    const usage = this.#report?.usage ?? NO_USAGE;
    // No call is without input: a report that says so says nothing.
    const isReported = this.#report?.isFinal === true && usage.inputTokens > 0;
    if (isReported && this.#hasEnded) return { usage, isEstimate: false };
    // The provider may finish an answer that nobody reads to its end, and charge for it.
    const unread = isReported || this.#hasEnded ? 0 : this.#expected.outputTokens;
    return {
      usage: {
        ...usage,
        inputTokens: usage.inputTokens > 0 ? usage.inputTokens : this.#expected.inputTokens,
        outputTokens: Math.max(usage.outputTokens, estimateTokens(this.#answerBytes), unread),
      },
      isEstimate: true,
    };
  }

  #readJson(text: string): void {
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      // `[DONE]`, or not for us to judge: the agent gets it as it is.
      return;
    }
    // Gemini streams an array where it isn't asked for events.
    for (const event of Array.isArray(json) ? json : [json]) {
      const report = readUsage(this.#format, event);
      if (report !== null) this.#report = this.#report === null ? report : laterReport(this.#report, report);
    }
  }
}
