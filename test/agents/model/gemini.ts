import { z } from "zod";
import { type Conversation, type Message, type Reply, Schema, USAGE } from "./conversation.ts";
import type { Event } from "./events.ts";

const Part = z.looseObject({
  text: z.string().optional(),
  functionCall: z.looseObject({ name: z.string() }).optional(),
  functionResponse: z.looseObject({ response: z.unknown() }).optional(),
});
const Turn = z.looseObject({ role: z.string().default("user"), parts: z.array(Part).default([]) });
const Request = z.looseObject({
  contents: z.array(Turn),
  systemInstruction: z.union([z.string(), Turn]).optional(),
  tools: z
    .array(
      z.looseObject({
        functionDeclarations: z
          .array(
            z.looseObject({
              name: z.string(),
              parameters: Schema.optional(),
              parametersJsonSchema: Schema.optional(),
            }),
          )
          .default([]),
      }),
    )
    .default([]),
  generationConfig: z
    .looseObject({ responseSchema: Schema.optional(), responseJsonSchema: Schema.optional() })
    .optional(),
});

/** Reads a call of `POST /v1beta/models/{model}:generateContent` or `:streamGenerateContent`. */
export function readGemini(body: unknown, model: string): Conversation {
  const { contents, systemInstruction: system, tools, generationConfig: config } = Request.parse(body);
  return {
    model,
    system: typeof system === "string" ? system : textOf(system?.parts ?? []),
    tools: tools.flatMap(({ functionDeclarations }) =>
      functionDeclarations.map(({ name, parameters, parametersJsonSchema }) => ({
        name,
        parameters: parametersJsonSchema ?? parameters ?? {},
      })),
    ),
    messages: contents.flatMap(({ role, parts }) =>
      parts.flatMap((part): Message[] => {
        if (part.functionCall) return [{ kind: "call", name: part.functionCall.name }];
        if (part.functionResponse) {
          return [{ kind: "result", text: JSON.stringify(part.functionResponse.response) }];
        }
        return role === "user" && part.text !== undefined ? [{ kind: "user", text: part.text }] : [];
      }),
    ),
    answerSchema: config?.responseJsonSchema ?? config?.responseSchema ?? null,
  };
}

function textOf(parts: readonly z.infer<typeof Part>[]): string {
  return parts.map(({ text }) => text ?? "").join("\n");
}

/** The answer of Gemini's API as one object. */
export function geminiAnswer(model: string, reply: Reply) {
  const part =
    reply.kind === "text"
      ? { text: reply.text }
      : { functionCall: { name: reply.name, args: reply.arguments } };
  return {
    candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }],
    usageMetadata: {
      promptTokenCount: USAGE.input,
      candidatesTokenCount: USAGE.output,
      totalTokenCount: USAGE.input + USAGE.output,
    },
    modelVersion: model,
  };
}

/** The answer of Gemini's API as a stream of events. */
export function* geminiEvents(model: string, reply: Reply): Generator<Event> {
  yield { data: geminiAnswer(model, reply) };
}
