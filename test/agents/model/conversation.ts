import { z } from "zod";

/** The parts of a JSON schema that the script looks at. */
export const Schema = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  enum: z.array(z.unknown()).optional(),
});
export type Schema = z.infer<typeof Schema>;

/** A tool that the agent offers to the model. */
export type Tool = { name: string; parameters: Schema };

/** A message of a conversation: by the user, by the model, or a tool's answer. */
export type Message =
  | { kind: "user"; text: string }
  | { kind: "call"; name: string }
  | { kind: "result"; text: string };

/** A request to a model, in the same form for every API. */
export type Conversation = {
  model: string;
  system: string;
  tools: Tool[];
  messages: Message[];
  /** The schema that the answer must follow, or null for plain text. */
  answerSchema: Schema | null;
};

/** The model's answer: words, or one call of a tool. */
export type Reply =
  | { kind: "text"; text: string }
  | { kind: "call"; name: string; arguments: Record<string, unknown> };

/** The cost of every answer, in tokens. */
export const USAGE = { input: 1200, output: 40 } as const;
