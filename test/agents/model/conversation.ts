import { z } from "zod";

/** A JSON schema, as far as the script looks into it. */
export const Schema = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  enum: z.array(z.unknown()).optional(),
});
export type Schema = z.infer<typeof Schema>;

export type Tool = { name: string; parameters: Schema };

export type Message =
  | { kind: "user"; text: string }
  | { kind: "call"; name: string }
  | { kind: "result"; text: string };

/** One request to a model, whatever API it came by. */
export type Conversation = {
  model: string;
  system: string;
  tools: Tool[];
  messages: Message[];
  /** The schema that the answer must follow; null for plain text. */
  answerSchema: Schema | null;
};

/** The model's answer: words, or one call of a tool. */
export type Reply =
  | { kind: "text"; text: string }
  | { kind: "call"; name: string; arguments: Record<string, unknown> };

/** What an answer is said to have cost, in tokens. */
export const USAGE = { input: 1200, output: 40 } as const;
