import { z } from "zod";

/** The shapes in which providers report what a call used. */
export type UsageFormat = "anthropic" | "openai-chat" | "openai-responses" | "gemini";

/** Tokens of one call. */
export type CallUsage = {
  /** All input, cached or not. */
  inputTokens: number;
  /** The part of the input that the provider had cached. */
  cachedInputTokens: number;
  outputTokens: number;
  /** What writing to the provider's cache costs on top, in input tokens. For money only. */
  surchargeTokens: number;
};

/** Usage as reported so far. */
export type UsageReport = {
  usage: CallUsage;
  /** Whether the answer had come to its end when it was reported. */
  isFinal: boolean;
};

export const NO_USAGE: CallUsage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  surchargeTokens: 0,
};

/** Anthropic's prices for cache writes that live 5 minutes and 1 hour are 1.25 and 2 times those of input. */
const SURCHARGE_5_MINUTES = 0.25;
const SURCHARGE_1_HOUR = 1;

// Providers and compatible servers leave out, null or invent fields; what isn't a count reads as none.
const Count = z.number().min(0).max(1e12).catch(0);

function part<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object(shape).nullish().catch(null);
}

const AnthropicUsage = part({
  input_tokens: Count,
  cache_creation_input_tokens: Count,
  cache_read_input_tokens: Count,
  cache_creation: part({ ephemeral_1h_input_tokens: Count }),
  output_tokens: Count,
});
const AnthropicEvent = z.object({
  type: z.string().catch(""),
  usage: AnthropicUsage,
  message: part({ usage: AnthropicUsage }),
});

const ChatEvent = z.object({
  choices: z
    .array(z.object({ delta: z.unknown().optional(), finish_reason: z.unknown().optional() }))
    .catch([]),
  usage: part({
    prompt_tokens: Count,
    completion_tokens: Count,
    total_tokens: Count,
    prompt_tokens_details: part({ cached_tokens: Count }),
    prompt_cache_hit_tokens: Count,
  }),
});

const ResponsesUsage = part({
  input_tokens: Count,
  input_tokens_details: part({ cached_tokens: Count }),
  output_tokens: Count,
});
const ResponsesEvent = z.object({
  usage: ResponsesUsage,
  response: part({ usage: ResponsesUsage, status: z.unknown().optional() }),
});

const GeminiEvent = z.object({
  usageMetadata: part({
    promptTokenCount: Count,
    toolUsePromptTokenCount: Count,
    cachedContentTokenCount: Count,
    candidatesTokenCount: Count,
    thoughtsTokenCount: Count,
    totalTokenCount: Count,
  }),
  candidates: z.array(z.object({ finishReason: z.unknown().optional() })).catch([]),
  promptFeedback: z.unknown().optional(),
});

/** What one event of a stream, or a whole answer, says about usage; null: nothing. */
export function readUsage(format: UsageFormat, event: unknown): UsageReport | null {
  switch (format) {
    case "anthropic":
      return readAnthropic(event);
    case "openai-chat":
      return readChat(event);
    case "openai-responses":
      return readResponses(event);
    case "gemini":
      return readGemini(event);
  }
}

/** Two reports of one call, which both count from its beginning. */
export function laterReport(a: UsageReport, b: UsageReport): UsageReport {
  return {
    usage: {
      inputTokens: Math.max(a.usage.inputTokens, b.usage.inputTokens),
      cachedInputTokens: Math.max(a.usage.cachedInputTokens, b.usage.cachedInputTokens),
      outputTokens: Math.max(a.usage.outputTokens, b.usage.outputTokens),
      surchargeTokens: Math.max(a.usage.surchargeTokens, b.usage.surchargeTokens),
    },
    isFinal: a.isFinal || b.isFinal,
  };
}

function readAnthropic(event: unknown): UsageReport | null {
  const { data } = AnthropicEvent.safeParse(event);
  const usage = data?.usage ?? data?.message?.usage;
  if (data === undefined || usage === null || usage === undefined) return null;
  const written = usage.cache_creation_input_tokens;
  const written1Hour = Math.min(written, usage.cache_creation?.ephemeral_1h_input_tokens ?? 0);
  return {
    usage: {
      inputTokens: usage.input_tokens + written + usage.cache_read_input_tokens,
      cachedInputTokens: usage.cache_read_input_tokens,
      outputTokens: usage.output_tokens,
      surchargeTokens: (written - written1Hour) * SURCHARGE_5_MINUTES + written1Hour * SURCHARGE_1_HOUR,
    },
    isFinal: data.type !== "message_start",
  };
}

function readChat(event: unknown): UsageReport | null {
  const { data } = ChatEvent.safeParse(event);
  const usage = data?.usage;
  if (data === undefined || usage === null || usage === undefined) return null;
  return {
    usage: {
      inputTokens: usage.prompt_tokens,
      cachedInputTokens: usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens,
      // Some servers leave reasoning out of the completion, but not out of the total.
      outputTokens: Math.max(usage.completion_tokens, usage.total_tokens - usage.prompt_tokens),
      surchargeTokens: 0,
    },
    // Some servers report with each piece.
    isFinal: !data.choices.some(({ delta, finish_reason: reason }) => isGiven(delta) && !isGiven(reason)),
  };
}

function readResponses(event: unknown): UsageReport | null {
  const { data } = ResponsesEvent.safeParse(event);
  const usage = data?.response?.usage ?? data?.usage;
  if (usage === null || usage === undefined) return null;
  return {
    usage: {
      inputTokens: usage.input_tokens,
      cachedInputTokens: usage.input_tokens_details?.cached_tokens ?? 0,
      outputTokens: usage.output_tokens,
      surchargeTokens: 0,
    },
    isFinal: data?.response?.status !== "queued" && data?.response?.status !== "in_progress",
  };
}

function readGemini(event: unknown): UsageReport | null {
  const { data } = GeminiEvent.safeParse(event);
  const usage = data?.usageMetadata;
  if (data === undefined || usage === null || usage === undefined) return null;
  const input = usage.promptTokenCount + usage.toolUsePromptTokenCount;
  return {
    usage: {
      inputTokens: input,
      cachedInputTokens: usage.cachedContentTokenCount,
      outputTokens: Math.max(
        usage.candidatesTokenCount + usage.thoughtsTokenCount,
        usage.totalTokenCount - input,
      ),
      surchargeTokens: 0,
    },
    isFinal:
      data.candidates.some(({ finishReason }) => isGiven(finishReason)) || isGiven(data.promptFeedback),
  };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}
