import type { ModelKind } from "../../../src/service/network/gateway/model-kinds.ts";

/** How a provider answers, after its documentation: 1,000 tokens of input (200 of them cached) and 50 of output. */
export type ScriptedAnswer = {
  title: string;
  kind: ModelKind;
  /** Below the gateway's address of the upstream, and below the upstream's own. */
  path: string;
  upstreamPath: string;
  body: object;
  contentType: string;
  text: string;
};

const SSE = "text/event-stream; charset=utf-8";
const JSON_TYPE = "application/json";

function events(...data: (object | string)[]): string {
  return data
    .map((one) => {
      const type = typeof one === "object" && "type" in one ? `event: ${String(one.type)}\n` : "";
      return `${type}data: ${typeof one === "string" ? one : JSON.stringify(one)}\n\n`;
    })
    .join("");
}

const anthropicInput = { input_tokens: 800, cache_creation_input_tokens: 0, cache_read_input_tokens: 200 };
const chatUsage = {
  prompt_tokens: 1000,
  completion_tokens: 50,
  total_tokens: 1050,
  prompt_tokens_details: { cached_tokens: 200 },
};
const responsesUsage = {
  input_tokens: 1000,
  input_tokens_details: { cached_tokens: 200 },
  output_tokens: 50,
};
const geminiUsage = {
  promptTokenCount: 1000,
  cachedContentTokenCount: 200,
  candidatesTokenCount: 40,
  thoughtsTokenCount: 10,
  totalTokenCount: 1050,
};
const geminiPart = {
  candidates: [{ content: { parts: [{ text: "Hé" }] } }],
  usageMetadata: { ...geminiUsage, candidatesTokenCount: 1 },
};
const geminiEnd = { candidates: [{ finishReason: "STOP" }], usageMetadata: geminiUsage };

const anthropic = {
  kind: "anthropic" as const,
  path: "/v1/messages?beta=true",
  upstreamPath: "/v1/messages?beta=true",
  body: { model: "claude-x", max_tokens: 100, messages: [] },
};
const chat = {
  kind: "openai" as const,
  path: "/v1/chat/completions",
  upstreamPath: "/chat/completions",
  body: { model: "gpt-x", messages: [] },
};
const responses = {
  ...chat,
  path: "/v1/responses",
  upstreamPath: "/responses",
  body: { model: "gpt-x", input: "x" },
};
const gemini = {
  kind: "gemini" as const,
  path: "/v1beta/models/gemini-x:generateContent",
  upstreamPath: "/v1beta/models/gemini-x:generateContent",
  body: { contents: [] },
};
const geminiStream = gemini.path.replace(":generate", ":streamGenerate");

export const ANSWERS: ScriptedAnswer[] = [
  {
    ...anthropic,
    title: "anthropic, streamed",
    body: { ...anthropic.body, stream: true },
    contentType: SSE,
    text: events(
      { type: "message_start", message: { usage: { ...anthropicInput, output_tokens: 1 } } },
      { type: "content_block_delta", delta: { type: "text_delta", text: "Hé" } },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 50 } },
      { type: "message_stop" },
    ),
  },
  {
    ...anthropic,
    title: "anthropic",
    contentType: JSON_TYPE,
    text: JSON.stringify({ type: "message", usage: { ...anthropicInput, output_tokens: 50 } }),
  },
  {
    ...chat,
    title: "openai chat, streamed",
    body: { ...chat.body, stream: true },
    contentType: SSE,
    text: events(
      { choices: [{ delta: { content: "Hé" } }], usage: null },
      { choices: [], usage: chatUsage },
      "[DONE]",
    ),
  },
  {
    ...chat,
    title: "openai chat",
    contentType: JSON_TYPE,
    text: JSON.stringify({ choices: [{ message: {} }], usage: chatUsage }),
  },
  {
    ...responses,
    title: "openai responses, streamed",
    body: { ...responses.body, stream: true },
    contentType: SSE,
    text: events(
      { type: "response.created", response: { usage: null } },
      { type: "response.output_text.delta", delta: "Hé" },
      { type: "response.completed", response: { usage: responsesUsage } },
    ),
  },
  {
    ...responses,
    title: "openai responses",
    contentType: JSON_TYPE,
    text: JSON.stringify({ object: "response", usage: responsesUsage }),
  },
  {
    ...gemini,
    title: "gemini, streamed as events",
    path: `${geminiStream}?alt=sse`,
    upstreamPath: `${geminiStream}?alt=sse`,
    contentType: SSE,
    text: events(geminiPart, geminiEnd),
  },
  {
    ...gemini,
    title: "gemini, streamed as an array",
    path: geminiStream,
    upstreamPath: geminiStream,
    contentType: JSON_TYPE,
    text: `[${JSON.stringify(geminiPart)}\n,\r\n${JSON.stringify(geminiEnd)}]`,
  },
  { ...gemini, title: "gemini", contentType: JSON_TYPE, text: JSON.stringify(geminiEnd) },
];
