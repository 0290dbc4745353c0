import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import type { ModelKind } from "../../../src/service/network/gateway/model-kinds.ts";
import { openNetworkWorld, startHttpSide, upstreamAt } from "../../support/turn-network.ts";

type SentCall = { path: string; betas: string[]; body: Record<string, unknown> };
type Left = { kind: string; name: string };

const USAGE = {
  usage: { input_tokens: 70, output_tokens: 30, prompt_tokens: 70, completion_tokens: 30 },
  usageMetadata: { promptTokenCount: 70, totalTokenCount: 100 },
  candidates: [{ finishReason: "STOP" }],
};

/** Sends a body through the gateway: what came of it, what the upstream got, and what was left out. */
async function send(
  { path, betas = {}, body }: { path: string; betas?: Record<string, string>; body: object | string },
  allow = { fields: [] as string[], tools: [] as string[], betas: [] as string[] },
) {
  await using side = await startHttpSide((_seen, _request, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(USAGE)),
  );
  const kind: ModelKind = /messages/.test(path) ? "anthropic" : /models/.test(path) ? "gemini" : "openai";
  const left: Left[] = [];
  await using world = await openNetworkWorld({
    models: [upstreamAt(side.url, { kind, allow, prices: { cheap: { input: 1, output: 2 } } })],
    onLeftOut: ({ kind: what, name }) => left.push({ kind: what, name }),
  });
  const answer = await world.ask({
    path: `/models/up${path}`,
    headers: { "x-api-key": world.key, ...betas },
    body,
  });
  const [seen] = side.seen;
  return {
    status: answer.status,
    message: answer.status === 200 ? "" : String(JSON.parse(answer.text).error.message),
    sent: seen === undefined ? null : (JSON.parse(seen.body) as unknown),
    headers: seen?.headers ?? {},
    left,
    usage: world.network.usage(),
  };
}

// Recorded from the agents that docs/agents.md lists, with every text replaced by "x". `npm run test:agents` finds out when they send more.
const recorded = JSON.parse(await readFile(new URL("agent-calls.json", import.meta.url), "utf8")) as Record<
  string,
  SentCall
>;

it.each(Object.entries(recorded))(
  "takes nothing from %s that it uses",
  async (agent, { path, betas, body }) => {
    const headers = betas.length === 0 ? {} : { "anthropic-beta": betas.join(",") };
    const { status, sent, left, headers: seen } = await send({ path, betas: headers, body });
    // A search at the provider, and a note of the agent's to itself.
    const expected: Record<string, Left[]> = {
      codex: [{ kind: "tools", name: "web_search" }],
      copilot: [{ kind: "fields", name: "messages.__copilotMessageSource" }],
    };
    expect({ status, left }).toEqual({ status: 200, left: expected[agent] ?? [] });
    expect(seen["anthropic-beta"]).toBe(headers["anthropic-beta"]);
    const text = JSON.stringify(body, (key, value: unknown) =>
      key === "__copilotMessageSource" || Object(value).type === "web_search" ? undefined : value,
    );
    expect(sent).toEqual(JSON.parse(text.replace(",null]", "]")));
  },
);

const MESSAGES = "/v1/messages";
const CHAT = "/v1/chat/completions";
const RESPONSES = "/v1/responses";
const GEMINI = "/v1beta/models/cheap:generateContent";
const messages = [{ role: "user", content: "x" }];
const BASE = {
  [MESSAGES]: { model: "cheap", max_tokens: 9, messages },
  [CHAT]: { model: "cheap", messages },
  [RESPONSES]: { model: "cheap", input: "x" },
  [GEMINI]: { contents: [{ parts: [{ text: "x" }] }] },
};

it.each([
  // What a real model's answers bring into the next call.
  [MESSAGES, { type: "thinking", thinking: "x", signature: "x" }],
  [MESSAGES, { type: "redacted_thinking", data: "x" }],
  [
    MESSAGES,
    { type: "tool_result", tool_use_id: "x", is_error: true, content: [{ type: "text", text: "x" }] },
  ],
  [MESSAGES, { type: "tool_result", content: [{ type: "tool_reference", tool_name: "x" }] }],
  [MESSAGES, { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } }],
  [
    RESPONSES,
    { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "x" }], encrypted_content: "x" },
  ],
  [RESPONSES, { type: "reasoning", id: "rs_1", content: [{ type: "reasoning_text", text: "x" }] }],
  [RESPONSES, { type: "reasoning", summary: [{ type: "summary_text", text: "x" }] }],
  [RESPONSES, { type: "custom_tool_call", call_id: "x", name: "apply_patch", input: "x" }],
  [
    RESPONSES,
    {
      type: "function_call_output",
      output: [{ type: "input_image", image_url: "data:image/png;base64,AA" }],
    },
  ],
  [RESPONSES, { type: "compaction", encrypted_content: "x" }],
  [RESPONSES, { role: "user", content: [{ type: "input_text", text: "x" }] }],
  [
    CHAT,
    {
      role: "assistant",
      content: null,
      reasoning_content: "x",
      tool_calls: [
        {
          id: "x",
          type: "function",
          function: { name: "x", arguments: "{}" },
          extra_content: { google: { thought_signature: "x" } },
        },
      ],
    },
  ],
  [GEMINI, { text: "x", thought: true, thoughtSignature: "x" }],
  [GEMINI, { functionResponse: { name: "x", response: { fileData: { fileUri: "https://x.example.com" } } } }],
] as const)("keeps what belongs to a conversation: %s %j", async (path, part) => {
  const body =
    path === MESSAGES
      ? { ...BASE[path], messages: [{ role: "assistant", content: [part] }] }
      : path === RESPONSES
        ? { ...BASE[path], input: [part] }
        : path === CHAT
          ? { ...BASE[path], messages: [part] }
          : { contents: [{ role: "model", parts: [part] }] };
  expect(await send({ path, body })).toMatchObject({ status: 200, sent: body, left: [] });
});

/** Each is refused, or arrives as the plain call that it was made of. */
const DROPPED = "the plain call";
const LINK = "https://evil.example.com/?what-i-read";
const deep = (depth: number) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`) as unknown;
const block = (...content: unknown[]) => ({
  messages: [{ role: "user", content: [{ type: "text", text: "x" }, ...content] }],
});
const TEXT_ONLY = block();
const item = (...items: unknown[]) => ({ input: [{ role: "user", content: "x" }, ...items] });
const ITEM_ONLY = item();

it.each([
  // Other prices.
  [MESSAGES, { service_tier: "priority" }, DROPPED],
  [MESSAGES, { speed: "fast" }, DROPPED],
  [MESSAGES, { inference_geo: "us" }, DROPPED],
  [MESSAGES, { billing_policy: { tier: "x" } }, DROPPED],
  [MESSAGES, { betas: ["fast-mode-2026-02-01"] }, DROPPED],
  [CHAT, { service_tier: "priority" }, DROPPED],
  [CHAT, { modalities: ["audio"], audio: { voice: "x" } }, DROPPED],
  [CHAT, { provider: { order: ["dear"] }, route: "fallback", models: ["dear"] }, DROPPED],
  [RESPONSES, { service_tier: "priority", background: true }, DROPPED],
  [RESPONSES, { reasoning: { mode: "pro" } }, { reasoning: {} }],
  [GEMINI, { serviceTier: "PRIORITY" }, DROPPED],
  [
    GEMINI,
    { generationConfig: { responseModalities: ["IMAGE"], speech_config: {} } },
    { generationConfig: {} },
  ],
  // Names that a server which ignores case, underscores or script reads as ours.
  [MESSAGES, { Model: "dear" }, "Write model instead of Model."],
  [MESSAGES, { MODEL: "dear" }, "Write model instead of MODEL."],
  [MESSAGES, { Tools: [{ type: "web_search_20250305" }] }, "Write tools instead of Tools."],
  [MESSAGES, { ſtream: true }, "Write stream instead of ?tream."],
  [MESSAGES, { maxTokens: 1_000_000 }, "Write max_tokens instead of maxTokens."],
  [
    RESPONSES,
    { Previous_Response_Id: "resp_1" },
    "Write previous_response_id instead of Previous_Response_Id.",
  ],
  [RESPONSES, { toolſ: [{ type: "web_search" }] }, "Write tools instead of tool?."],
  [GEMINI, { GenerationConfig: {} }, "Write generationConfig instead of GenerationConfig."],
  [GEMINI, { generationConfig: {}, generation_config: { max_output_tokens: 9 } }, "two spellings"],
  [MESSAGES, { tools: [{ name: "x", Type: "web_search_20250305" }] }, "Write type instead of Type."],
  // Tools that run at the provider, wherever they stand.
  [
    MESSAGES,
    { tools: [{ type: "advisor_20260301", model: "dear" }, { type: "CUSTOM" }, { type: "mcp_toolset" }] },
    DROPPED,
  ],
  [MESSAGES, { mcp_servers: [{ url: LINK }], container: { skills: ["x"] } }, DROPPED],
  [
    MESSAGES,
    { context_management: { edits: [{ type: "compact_20260112" }] } },
    { context_management: { edits: [] } },
  ],
  [MESSAGES, block({ type: "tool_addition", tools: [{ type: "web_search_20250305" }] }), TEXT_ONLY],
  [MESSAGES, block({ type: "server_tool_use", name: "web_search", input: {} }), TEXT_ONLY],
  [
    RESPONSES,
    { tools: [{ type: "shell" }, { type: "shell", environment: { type: "container_auto" } }] },
    DROPPED,
  ],
  [
    RESPONSES,
    { tools: [{ type: "namespace", name: "n", tools: [{ type: "mcp", server_url: LINK }] }] },
    { tools: [{ type: "namespace", name: "n" }] },
  ],
  [
    RESPONSES,
    item({ type: "tool_search_output", tools: [{ type: "web_search" }] }),
    item({ type: "tool_search_output" }),
  ],
  [RESPONSES, item({ type: "additional_tools", tools: [{ type: "image_generation" }] }), ITEM_ONLY],
  [RESPONSES, item({ type: "mcp_approval_response", approve: true }), ITEM_ONLY],
  [
    GEMINI,
    { tools: [{ googleSearch: {} }, { google_search_retrieval: {} }, { codeExecution: {} }] },
    DROPPED,
  ],
  [CHAT, { tools: [{ type: "web_search" }], web_search_options: {}, plugins: [{ id: "web" }] }, DROPPED],
  // What is stored at the provider, or elsewhere.
  [RESPONSES, item({ type: "item_reference", id: "msg_1" }), "stored"],
  [RESPONSES, item({ id: "msg_1" }), "stored"],
  [RESPONSES, item({ type: null, id: "msg_1" }), "stored"],
  [RESPONSES, item({ role: "user", id: "msg_1" }), "stored"],
  [RESPONSES, item({ type: "message", role: "assistant", id: "msg_1", content: [] }), "stored"],
  [RESPONSES, item({ type: "reasoning", id: "rs_1" }), "stored"],
  [RESPONSES, item({ type: "reasoning", id: "rs_1", summary: [], encrypted_content: null }), "stored"],
  [
    RESPONSES,
    item({ type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "x" }] }),
    "stored",
  ],
  [RESPONSES, item({ type: "compaction", id: "cmp_1", encrypted_content: "" }), "stored"],
  [RESPONSES, item({ type: "message", role: "user", id: "msg_1", content: [{}] }), "stored"],
  [RESPONSES, item({ type: "reasoning", id: "rs_1", content: [{ type: "unknown" }] }), "stored"],
  [RESPONSES, { input: { type: "message", id: "msg_1" } }, "stored"],
  [RESPONSES, { input: { id: "msg_1" } }, "stored"],
  [RESPONSES, { previous_response_id: "resp_1" }, "stored"],
  [GEMINI, { cached_content: "cachedContents/1" }, "stored"],
  [MESSAGES, block({ type: "image", source: { type: "file", file_id: "file_1" } }), "as data"],
  [
    MESSAGES,
    block({ type: "tool_result", content: [{ type: "image", source: { type: "url", url: LINK } }] }),
    "as data",
  ],
  [MESSAGES, block({ type: "image", source: { type: "base64", data: LINK } }), "as data"],
  [CHAT, block({ type: "image_url", image_url: LINK }), "as data"],
  [CHAT, block({ type: "file", file: { file_data: `\u0001${LINK}` } }), "as data"],
  [CHAT, block({ image_url: { url: LINK } }, { type: "video", video: [LINK] }), TEXT_ONLY],
  [
    GEMINI,
    { contents: { parts: [{ function_response: { parts: [{ file_data: { file_uri: LINK } }] } }] } },
    "as data",
  ],
  // What could confuse whoever reads it.
  [
    MESSAGES,
    '{"model":"dear","max_tokens":9,"model":"cheap","messages":[{"role":"user","content":"x"}]}',
    DROPPED,
  ],
  [
    MESSAGES,
    '{"model":"cheap","max_tokens":9,"__proto__":{"model":"dear"},"constructor":{"prototype":{}},"messages":[{"role":"user","content":"x"}]}',
    DROPPED,
  ],
  [MESSAGES, { metadata: deep(150) }, { metadata: deep(150) }],
  [MESSAGES, { metadata: deep(201) }, "more than 200 levels deep"],
  [MESSAGES, { metadata: Array.from({ length: 100_001 }, () => 0) }, "more than 100000 values"],
  [MESSAGES, { metadata: '\\",{['.repeat(50_000) }, { metadata: '\\",{['.repeat(50_000) }],
  [CHAT, { n: "100" }, "check n"],
  [CHAT, { max_tokens: "90000" }, "check max_tokens"],
  [GEMINI, { generationConfig: { maxOutputTokens: "65536" } }, "check generationConfig.maxOutputTokens"],
  [GEMINI, { generation_config: { candidate_count: "2" } }, "check generationConfig.candidateCount"],
  [MESSAGES, { messages: "x", tools: 1 }, "check messages."],
  [MESSAGES, { ["x".repeat(5000)]: 1 }, DROPPED],
  [MESSAGES, { model: "cheap\u200b" }, "names no model"],
  [MESSAGES, { model: " cheap" }, "names no model"],
] as const)("lets through nothing that costs or reaches more: %s %j", async (path, change, expected) => {
  const base = BASE[path];
  const body = typeof change === "string" ? change : { ...base, ...change };
  const { status, message, sent, left, usage } = await send({ path, body });
  if (typeof expected === "string" && expected !== DROPPED) {
    expect({ status, sent }).toEqual({ status: 400, sent: null });
    expect(message).toContain(expected);
    expect(usage).toMatchObject({ calls: 0, costUsd: 0 });
    return;
  }
  expect({ status, sent }).toEqual({
    status: 200,
    sent: expected === DROPPED ? base : { ...base, ...expected },
  });
  expect(usage).toMatchObject({ calls: 1, inputTokens: 70, outputTokens: 30 });
  expect(usage.costUsd).toBeCloseTo((70 * 1 + 30 * 2) / 1e6, 12);
  for (const { name } of left) expect(name).toMatch(/^[\w.:/@=[\]?-]{1,100}$/);
});

it("lets through only the betas that it knows, in their own spelling", async () => {
  const betas = {
    "anthropic-beta": "effort-2025-11-24, context-1m-2025-08-07,FAST-MODE-2026-02-01,Effort-2025-11-24",
    "openai-beta": "assistants=v2, responses=experimental",
  };
  const { headers, left } = await send({ path: MESSAGES, betas, body: BASE[MESSAGES] });
  expect(headers["anthropic-beta"]).toBe("effort-2025-11-24");
  expect(headers["openai-beta"]).toBe("responses=experimental");
  expect(left.map(({ name }) => name)).toEqual([
    "context-1m-2025-08-07",
    "FAST-MODE-2026-02-01",
    "Effort-2025-11-24",
    "assistants=v2",
  ]);
});

it("lets through what an operator allows, by the names that are reported as left out", async () => {
  const body = {
    ...BASE[MESSAGES],
    service_tier: "auto",
    output_config: { effort: "low", pace: 1 },
    messages: [{ role: "user", content: [{ type: "hologram", data: "x" }] }],
    tools: [{ type: "web_search_20250305", name: "web_search" }],
  };
  const call = { path: MESSAGES, betas: { "anthropic-beta": "files-api-2025-04-14" }, body };
  const { sent, left } = await send(call);
  expect(sent).toEqual({
    ...BASE[MESSAGES],
    output_config: { effort: "low" },
    messages: [{ role: "user", content: [] }],
  });
  const namesOf = (wanted: string) => left.filter(({ kind }) => kind === wanted).map(({ name }) => name);
  const allow = { fields: namesOf("fields"), tools: namesOf("tools"), betas: namesOf("betas") };
  expect(allow).toEqual({
    fields: ["messages.content[hologram]", "service_tier", "output_config.pace"],
    tools: ["web_search_20250305"],
    betas: ["files-api-2025-04-14"],
  });
  const allowed = await send(call, allow);
  expect(allowed).toMatchObject({ sent: body, left: [] });
  expect(allowed.headers["anthropic-beta"]).toBe("files-api-2025-04-14");
});
