import { createAdaptorServer } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { closeNow, listenOnLoopback } from "../../../world/loopback-server.ts";
import { anthropicAnswer, anthropicEvents, readAnthropic } from "./anthropic.ts";
import { type Conversation, type Reply, USAGE } from "./conversation.ts";
import { streamOf } from "./events.ts";
import { geminiAnswer, geminiEvents, readGemini } from "./gemini.ts";
import { openAiChatAnswer, openAiChatEvents, readOpenAiChat } from "./openai-chat.ts";
import { openAiResponsesAnswer, openAiResponsesEvents, readOpenAiResponses } from "./openai-responses.ts";
import { nextReply, type Script, textsOf } from "./script.ts";

/** A call that the model got. */
export type ModelCall = {
  request: string;
  /** The credential that came with it. */
  key: string | null;
  tools: string[];
  /** The texts that the model was told, by the system and by the user. */
  told: string;
  /** The answers of the agent's tools so far. */
  results: string[];
  reply: Reply | null;
};

/** A running model provider. */
export type ScriptedModel = AsyncDisposable & {
  /** The address, without a slash at the end. */
  readonly url: string;
  readonly calls: readonly ModelCall[];
};

/**
 * Starts a model provider on loopback that speaks the APIs of Anthropic, OpenAI (both) and Gemini.
 * It answers by a script.
 */
export async function startScriptedModel(script: Script = nextReply): Promise<ScriptedModel> {
  const calls: ModelCall[] = [];
  let count = 0;
  const app = new Hono();

  /** Decides the answer and notes the call. `id` is new for each answer. */
  function decide(c: Context, conversation: Conversation): { reply: Reply; id: string } {
    const reply = script(conversation);
    const results = conversation.messages.flatMap((message) =>
      message.kind === "result" ? [message.text] : [],
    );
    const told = textsOf(conversation).join("\n");
    note(c, { tools: conversation.tools.map(({ name }) => name), told, results, reply });
    count += 1;
    return { reply, id: String(count).padStart(8, "0") };
  }

  function note(c: Context, more: Omit<ModelCall, "request" | "key">): void {
    const key =
      c.req.header("x-api-key") ??
      c.req.header("x-goog-api-key") ??
      c.req.header("authorization")?.replace(/^Bearer /i, "") ??
      null;
    calls.push({ request: `${c.req.method} ${c.req.path}`, key, ...more });
  }

  app.post("/v1/messages", async (c) => {
    const { conversation, isStreamed } = readAnthropic(await c.req.json());
    const { reply, id } = decide(c, conversation);
    return isStreamed
      ? streamOf(anthropicEvents(conversation.model, reply, id))
      : c.json(anthropicAnswer(conversation.model, reply, id));
  });
  app.post("/v1/messages/count_tokens", (c) => c.json({ input_tokens: USAGE.input }));
  app.post("/v1/chat/completions", async (c) => {
    const { conversation, isStreamed } = readOpenAiChat(await c.req.json());
    const { reply, id } = decide(c, conversation);
    return isStreamed
      ? streamOf(openAiChatEvents(conversation.model, reply, id))
      : c.json(openAiChatAnswer(conversation.model, reply, id));
  });
  app.post("/v1/responses", async (c) => {
    const { conversation, isStreamed } = readOpenAiResponses(await c.req.json());
    const { reply, id } = decide(c, conversation);
    return isStreamed
      ? streamOf(openAiResponsesEvents(conversation.model, reply, id))
      : c.json(openAiResponsesAnswer(conversation.model, reply, id));
  });
  app.post("/v1beta/models/:call", async (c) => {
    const [model = "", method = ""] = c.req.param("call").split(":");
    if (method === "countTokens") return c.json({ totalTokens: USAGE.input });
    const { reply } = decide(c, readGemini(await c.req.json(), model));
    return method === "streamGenerateContent"
      ? streamOf(geminiEvents(model, reply))
      : c.json(geminiAnswer(model, reply));
  });
  app.get("/v1/models", (c) => c.json({ object: "list", data: [], has_more: false }));
  app.notFound((c) => {
    note(c, { tools: [], told: "", results: [], reply: null });
    return c.json(
      { error: { type: "not_found_error", message: "The scripted model has no such call" } },
      404,
    );
  });
  app.onError((error, c) => {
    note(c, { tools: [], told: "", results: [`not understood: ${error.message}`], reply: null });
    return c.json({ error: { type: "invalid_request_error", message: "not understood" } }, 400);
  });

  const server = createAdaptorServer({ fetch: app.fetch });
  if (!("closeAllConnections" in server)) throw new Error("Not an HTTP/1 server");
  const port = await listenOnLoopback(server, 0);
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    [Symbol.asyncDispose]: () => closeNow(server),
  };
}
