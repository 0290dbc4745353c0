import { StringDecoder } from "node:string_decoder";
import { createParser, type EventSourceParser } from "eventsource-parser";
import { jsonOf } from "../../../shared/text/text.ts";

/** If usage isn't reported, this many bytes of a request or an answer count as one token. */
const BYTES_PER_TOKEN = 4;
/**
 * A longer event, or a longer answer that isn't a stream, isn't kept, and its usage is estimated.
 */
const MAX_KEPT_CHARACTERS = 8 * 1024 ** 2;

/** Estimates how many tokens this many bytes are. */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/**
 * Reads a call's usage from its answer as it passes. Keeps at most one event, or the whole of an
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

  /** `expected` is the most that the call may use, as far as the request shows. */
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

  /** Call this at the answer's end. For an interrupted answer, don't. */
  end(): void {
    this.#hasEnded = true;
    // Text after the last empty line is an event, too.
    if (this.#events !== null && this.#text !== null) this.#events.feed("\n\n");
    else if (this.#text !== null) this.#readJson(this.#text);
  }

  /** What the provider has reported so far, or null. */
  get reported(): CallUsage | null {
    return this.#report?.usage ?? null;
  }

  /** The usage that the call counts as: what was reported, with estimates for the rest. */
  total(): { usage: CallUsage; isEstimate: boolean } {
    const usage = this.#report?.usage ?? NO_USAGE;
    // Every call has input, so a report without any can't be right.
    const isReported = this.#report?.isFinal === true && usage.inputTokens > 0;
    if (isReported && this.#hasEnded) return { usage, isEstimate: false };
    // The provider may finish an answer although nobody reads it to the end, and charge for it.
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
    // What isn't JSON is `[DONE]`, or not for us to judge: the agent gets it as it is.
    const json = jsonOf(text);
    // Gemini streams an array if it isn't asked for events.
    for (const event of Array.isArray(json) ? json : [json]) {
      const report = READERS[this.#format](event);
      if (report !== null) this.#report = this.#report === null ? report : laterReport(this.#report, report);
    }
  }
}

/** The formats in which providers report a call's usage. */
export type UsageFormat = "anthropic" | "openai-chat" | "openai-responses" | "gemini";

/** The tokens of one call. */
export type CallUsage = {
  /** All input tokens, cached or not. */
  inputTokens: number;
  /** The input tokens that came from the provider's cache. */
  cachedInputTokens: number;
  outputTokens: number;
  /** The extra cost of writing to the provider's cache, in input tokens. Only for the price. */
  surchargeTokens: number;
};

/** The usage reported so far. */
type UsageReport = {
  usage: CallUsage;
  /** True if the answer was complete when this was reported. */
  isFinal: boolean;
};

export const NO_USAGE: CallUsage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  surchargeTokens: 0,
};

/**
 * Anthropic charges 1.25 and 2 times the input price for cache entries that live 5 minutes and 1
 * hour.
 */
const SURCHARGE_5_MINUTES = 0.25;
const SURCHARGE_1_HOUR = 1;

/** Read the usage that an event of a stream or a whole answer reports. Null if it reports none. */
export const READERS: Readonly<Record<UsageFormat, (event: unknown) => UsageReport | null>> = {
  anthropic(event) {
    const usage = partOf(event, "usage") ?? partOf(event, "message", "usage");
    if (usage === null) return null;
    const written = count(usage, "cache_creation_input_tokens");
    const written1Hour = Math.min(written, count(usage, "cache_creation", "ephemeral_1h_input_tokens"));
    const cachedInputTokens = count(usage, "cache_read_input_tokens");
    return {
      usage: {
        inputTokens: count(usage, "input_tokens") + written + cachedInputTokens,
        cachedInputTokens,
        outputTokens: count(usage, "output_tokens"),
        surchargeTokens: (written - written1Hour) * SURCHARGE_5_MINUTES + written1Hour * SURCHARGE_1_HOUR,
      },
      isFinal: valueOf(event, "type") !== "message_start",
    };
  },

  "openai-chat"(event) {
    const usage = partOf(event, "usage");
    if (usage === null) return null;
    const inputTokens = count(usage, "prompt_tokens");
    const hasDetails = partOf(usage, "prompt_tokens_details") !== null;
    const unreportedReasoning = count(usage, "total_tokens") - inputTokens;
    return {
      usage: {
        ...NO_USAGE,
        inputTokens,
        cachedInputTokens: hasDetails
          ? count(usage, "prompt_tokens_details", "cached_tokens")
          : count(usage, "prompt_cache_hit_tokens"),
        // Some servers leave reasoning tokens out of the completion, but not out of the total.
        outputTokens: Math.max(count(usage, "completion_tokens"), unreportedReasoning),
      },
      // Some servers report usage with every chunk.
      isFinal: !listOf(event, "choices").some(
        (choice) => isGiven(choice, "delta") && !isGiven(choice, "finish_reason"),
      ),
    };
  },

  "openai-responses"(event) {
    const usage = partOf(event, "response", "usage") ?? partOf(event, "usage");
    if (usage === null) return null;
    const status = valueOf(event, "response", "status");
    return {
      usage: {
        ...NO_USAGE,
        inputTokens: count(usage, "input_tokens"),
        cachedInputTokens: count(usage, "input_tokens_details", "cached_tokens"),
        outputTokens: count(usage, "output_tokens"),
      },
      isFinal: status !== "queued" && status !== "in_progress",
    };
  },

  gemini(event) {
    const usage = partOf(event, "usageMetadata");
    if (usage === null) return null;
    const inputTokens = count(usage, "promptTokenCount") + count(usage, "toolUsePromptTokenCount");
    const written = count(usage, "candidatesTokenCount") + count(usage, "thoughtsTokenCount");
    return {
      usage: {
        ...NO_USAGE,
        inputTokens,
        cachedInputTokens: count(usage, "cachedContentTokenCount"),
        outputTokens: Math.max(written, count(usage, "totalTokenCount") - inputTokens),
      },
      isFinal:
        listOf(event, "candidates").some((candidate) => isGiven(candidate, "finishReason")) ||
        isGiven(event, "promptFeedback"),
    };
  },
};

/** Merges two reports of one call. Both count from its beginning. */
function laterReport(a: UsageReport, b: UsageReport): UsageReport {
  return { usage: combined(a.usage, b.usage, Math.max), isFinal: a.isFinal || b.isFinal };
}

/** Combines two usages, count by count. */
export function combined(a: CallUsage, b: CallUsage, combine: (a: number, b: number) => number): CallUsage {
  return {
    inputTokens: combine(a.inputTokens, b.inputTokens),
    cachedInputTokens: combine(a.cachedInputTokens, b.cachedInputTokens),
    outputTokens: combine(a.outputTokens, b.outputTokens),
    surchargeTokens: combine(a.surchargeTokens, b.surchargeTokens),
  };
}

function valueOf(from: unknown, ...path: string[]): unknown {
  return path.reduce((value: unknown, name): unknown => Object(value)[name], from);
}

function isGiven(from: unknown, name: string): boolean {
  return (valueOf(from, name) ?? null) !== null;
}

function partOf(from: unknown, ...path: string[]): object | null {
  const part = valueOf(from, ...path);
  return typeof part === "object" ? part : null;
}

function listOf(from: unknown, name: string): unknown[] {
  const list = valueOf(from, name);
  return Array.isArray(list) ? list : [];
}

/**
 * Providers and compatible servers omit, null or invent fields. Anything that isn't a count is read
 * as 0.
 */
function count(from: unknown, ...path: string[]): number {
  const value = valueOf(from, ...path);
  return typeof value === "number" && value >= 0 && value <= 1e12 ? value : 0;
}
