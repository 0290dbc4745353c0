import { z } from "zod";
import { type Conversation, type Message, type Reply, Schema, USAGE } from "./conversation.ts";
import type { Event } from "./events.ts";

const Block = z.looseObject({ type: z.string(), text: z.string().optional(), name: z.string().optional() });
const Content = z.union([z.string(), z.array(Block)]);
const Request = z.looseObject({
  model: z.string(),
  stream: z.boolean().default(false),
  system: Content.default(""),
  messages: z.array(z.looseObject({ role: z.string(), content: Content })),
  tools: z.array(z.looseObject({ name: z.string(), input_schema: Schema.optional() })).default([]),
  output_config: z.looseObject({ format: z.looseObject({ schema: Schema }).optional() }).optional(),
});

/** Reads a call of `POST /v1/messages`. */
export function readAnthropic(body: unknown): { conversation: Conversation; isStreamed: boolean } {
  const { model, stream, system, messages, tools, output_config: output } = Request.parse(body);
  return {
    isStreamed: stream,
    conversation: {
      model,
      system: textOf(system),
      tools: tools.flatMap(({ name, input_schema: parameters }) =>
        parameters ? [{ name, parameters }] : [],
      ),
      messages: messages.flatMap(({ role, content }) => messagesOf(role, content)),
      answerSchema: output?.format?.schema ?? null,
    },
  };
}

function messagesOf(role: string, content: z.infer<typeof Content>): Message[] {
  if (typeof content === "string") return role === "user" ? [{ kind: "user", text: content }] : [];
  return content.flatMap((block): Message[] => {
    if (block.type === "tool_use") return [{ kind: "call", name: block.name ?? "" }];
    if (block.type === "tool_result")
      return [{ kind: "result", text: JSON.stringify(block["content"] ?? "") }];
    return role === "user" && block.text !== undefined ? [{ kind: "user", text: block.text }] : [];
  });
}

function textOf(content: z.infer<typeof Content>): string {
  return typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("\n");
}

/** The answer of the Messages API as one object. */
export function anthropicAnswer(model: string, reply: Reply, id: string) {
  return {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model,
    content: [
      reply.kind === "text"
        ? { type: "text", text: reply.text }
        : { type: "tool_use", id: `toolu_${id}`, name: reply.name, input: reply.arguments },
    ],
    stop_reason: reply.kind === "text" ? "end_turn" : "tool_use",
    stop_sequence: null,
    usage: { input_tokens: USAGE.input, output_tokens: USAGE.output },
  };
}

/** The answer of the Messages API as a stream of events. */
export function* anthropicEvents(model: string, reply: Reply, id: string): Generator<Event> {
  const whole = anthropicAnswer(model, reply, id);
  const event = (data: { type: string; [key: string]: unknown }): Event => ({ event: data.type, data });
  yield event({
    type: "message_start",
    message: { ...whole, content: [], stop_reason: null, usage: { ...whole.usage, output_tokens: 1 } },
  });
  const start =
    reply.kind === "text"
      ? { type: "text", text: "" }
      : { type: "tool_use", id: `toolu_${id}`, name: reply.name, input: {} };
  const delta =
    reply.kind === "text"
      ? { type: "text_delta", text: reply.text }
      : { type: "input_json_delta", partial_json: JSON.stringify(reply.arguments) };
  yield event({ type: "content_block_start", index: 0, content_block: start });
  yield event({ type: "content_block_delta", index: 0, delta });
  yield event({ type: "content_block_stop", index: 0 });
  yield event({
    type: "message_delta",
    delta: { stop_reason: whole.stop_reason, stop_sequence: null },
    usage: whole.usage,
  });
  yield event({ type: "message_stop" });
}
