import { z } from "zod";
import { type Conversation, type Message, type Reply, Schema, USAGE } from "./conversation.ts";
import type { Event } from "./events.ts";

const Content = z.union([z.string(), z.array(z.looseObject({ text: z.string().optional() }))]).nullish();
const Request = z.looseObject({
  model: z.string(),
  stream: z.boolean().default(false),
  messages: z.array(
    z.looseObject({
      role: z.string(),
      content: Content,
      tool_calls: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).nullish(),
    }),
  ),
  tools: z
    .array(z.looseObject({ function: z.looseObject({ name: z.string(), parameters: Schema }).optional() }))
    .default([]),
  response_format: z.looseObject({ json_schema: z.looseObject({ schema: Schema }).optional() }).optional(),
});

/** Reads a call of `POST /v1/chat/completions`. */
export function readOpenAiChat(body: unknown): { conversation: Conversation; isStreamed: boolean } {
  const { model, stream, messages, tools, response_format: format } = Request.parse(body);
  const isSystem = ({ role }: { role: string }) => role === "system" || role === "developer";
  return {
    isStreamed: stream,
    conversation: {
      model,
      system: messages
        .filter(isSystem)
        .map(({ content }) => textOf(content))
        .join("\n"),
      tools: tools.flatMap(({ function: tool }) => (tool ? [tool] : [])),
      messages: messages.flatMap(({ role, content, tool_calls: calls }): Message[] => {
        if (role === "user") return [{ kind: "user", text: textOf(content) }];
        if (role === "tool") return [{ kind: "result", text: textOf(content) }];
        return (calls ?? []).map((call) => ({ kind: "call", name: call.function.name }));
      }),
      answerSchema: format?.json_schema?.schema ?? null,
    },
  };
}

function textOf(content: z.infer<typeof Content>): string {
  if (typeof content === "string") return content;
  return (content ?? []).map(({ text }) => text ?? "").join("\n");
}

const usage = {
  prompt_tokens: USAGE.input,
  completion_tokens: USAGE.output,
  total_tokens: USAGE.input + USAGE.output,
};

/** The answer of the Chat Completions API as one object. */
export function openAiChatAnswer(model: string, reply: Reply, id: string) {
  return {
    id: `chatcmpl-${id}`,
    object: "chat.completion",
    created: 0,
    model,
    choices: [
      {
        index: 0,
        message:
          reply.kind === "text"
            ? { role: "assistant", content: reply.text }
            : { role: "assistant", content: null, tool_calls: [toolCall(reply, id)] },
        finish_reason: reply.kind === "text" ? "stop" : "tool_calls",
      },
    ],
    usage,
  };
}

/** The answer of the Chat Completions API as a stream of events. */
export function* openAiChatEvents(model: string, reply: Reply, id: string): Generator<Event> {
  const chunk = (delta: object, finish: string | null, more: object = {}): Event => ({
    data: {
      id: `chatcmpl-${id}`,
      object: "chat.completion.chunk",
      created: 0,
      model,
      choices: [{ index: 0, delta, finish_reason: finish }],
      ...more,
    },
  });
  yield chunk({ role: "assistant", content: "" }, null);
  if (reply.kind === "text") yield chunk({ content: reply.text }, null);
  else yield chunk({ tool_calls: [{ index: 0, ...toolCall(reply, id) }] }, null);
  yield chunk({}, reply.kind === "text" ? "stop" : "tool_calls", { usage });
  yield { data: "[DONE]" };
}

function toolCall(reply: Extract<Reply, { kind: "call" }>, id: string) {
  return {
    id: `call_${id}`,
    type: "function",
    function: { name: reply.name, arguments: JSON.stringify(reply.arguments) },
  };
}
