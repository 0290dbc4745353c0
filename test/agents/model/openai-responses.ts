import { z } from "zod";
import { type Conversation, type Message, type Reply, Schema, USAGE } from "./conversation.ts";
import type { Event } from "./events.ts";

const Content = z.union([z.string(), z.array(z.looseObject({ text: z.string().optional() }))]).nullish();
const Item = z.looseObject({
  type: z.string().default("message"),
  role: z.string().optional(),
  name: z.string().optional(),
  content: Content,
  output: z.unknown().optional(),
});
const Request = z.looseObject({
  model: z.string(),
  stream: z.boolean().default(false),
  instructions: z.string().nullish(),
  input: z.union([z.string(), z.array(Item)]),
  tools: z
    .array(z.looseObject({ type: z.string(), name: z.string().optional(), parameters: Schema.optional() }))
    .nullish(),
  text: z.looseObject({ format: z.looseObject({ schema: Schema.optional() }).nullish() }).nullish(),
});

/** Reads a call of `POST /v1/responses`. */
export function readOpenAiResponses(body: unknown): { conversation: Conversation; isStreamed: boolean } {
  const { model, stream, instructions, input, tools, text } = Request.parse(body);
  const items = typeof input === "string" ? [Item.parse({ role: "user", content: input })] : input;
  const isSystem = ({ role }: z.infer<typeof Item>) => role === "system" || role === "developer";
  return {
    isStreamed: stream,
    conversation: {
      model,
      system: [instructions ?? "", ...items.filter(isSystem).map(({ content }) => textOf(content))].join(
        "\n",
      ),
      tools: (tools ?? []).flatMap(({ name, parameters }) =>
        name !== undefined && parameters !== undefined ? [{ name, parameters }] : [],
      ),
      messages: items.flatMap(messagesOf),
      answerSchema: text?.format?.schema ?? null,
    },
  };
}

function messagesOf({ type, role, name, content, output }: z.infer<typeof Item>): Message[] {
  if (type === "message") return role === "user" ? [{ kind: "user", text: textOf(content) }] : [];
  if (type.endsWith("_call_output")) return [{ kind: "result", text: JSON.stringify(output ?? "") }];
  return type.endsWith("_call") ? [{ kind: "call", name: name ?? type }] : [];
}

function textOf(content: z.infer<typeof Content>): string {
  if (typeof content === "string") return content;
  return (content ?? []).map(({ text }) => text ?? "").join("\n");
}

/** The answer of the Responses API as one object. */
export function openAiResponsesAnswer(model: string, reply: Reply, id: string) {
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: 0,
    status: "completed",
    model,
    output: [itemOf(reply, id)],
    parallel_tool_calls: false,
    tool_choice: "auto",
    tools: [],
    usage: {
      input_tokens: USAGE.input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: USAGE.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: USAGE.input + USAGE.output,
    },
  };
}

/** The answer of the Responses API as a stream of events. */
export function* openAiResponsesEvents(model: string, reply: Reply, id: string): Generator<Event> {
  const whole = openAiResponsesAnswer(model, reply, id);
  let sequence = 0;
  const event = (type: string, more: object): Event => ({
    event: type,
    data: { type, sequence_number: sequence++, ...more },
  });
  const item = itemOf(reply, id);
  const place = { output_index: 0, item_id: item.id };
  yield event("response.created", { response: { ...whole, status: "in_progress", output: [], usage: null } });
  if (item.type === "message") {
    const text = reply.kind === "text" ? reply.text : "";
    const part = { type: "output_text", text: "", annotations: [] };
    yield event("response.output_item.added", {
      output_index: 0,
      item: { ...item, status: "in_progress", content: [] },
    });
    yield event("response.content_part.added", { ...place, content_index: 0, part });
    yield event("response.output_text.delta", { ...place, content_index: 0, delta: text, logprobs: [] });
    yield event("response.output_text.done", { ...place, content_index: 0, text, logprobs: [] });
    yield event("response.content_part.done", { ...place, content_index: 0, part: { ...part, text } });
  } else {
    yield event("response.output_item.added", {
      output_index: 0,
      item: { ...item, status: "in_progress", arguments: "" },
    });
    yield event("response.function_call_arguments.delta", { ...place, delta: item.arguments });
    yield event("response.function_call_arguments.done", { ...place, arguments: item.arguments });
  }
  yield event("response.output_item.done", { output_index: 0, item });
  yield event("response.completed", { response: whole });
}

function itemOf(reply: Reply, id: string) {
  if (reply.kind === "text") {
    return {
      type: "message",
      id: `msg_${id}`,
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: reply.text, annotations: [] }],
    } as const;
  }
  return {
    type: "function_call",
    id: `fc_${id}`,
    call_id: `call_${id}`,
    status: "completed",
    name: reply.name,
    arguments: JSON.stringify(reply.arguments),
  } as const;
}
