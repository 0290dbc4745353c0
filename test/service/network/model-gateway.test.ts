import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { expect, it } from "vitest";
import { ConnectProxy } from "../../../world/faults/connect-proxy.ts";
import { startRawSide } from "../../../world/job-service/raw-side.ts";
import {
  type NetworkWorld,
  openNetworkWorld,
  readAll,
  REAL_KEY,
  type Seen,
  startHttpSide,
  upstreamAt,
} from "../../support/turn-network.ts";
import { ANSWERS } from "./model-answers.ts";

const PRICES = { "*-x": { input: 3, output: 15, cachedInput: 0.3 } };
const BETA = "interleaved-thinking-2025-05-14";
const MESSAGES = "/models/up/v1/messages";
const CALL = { model: "claude-x", max_tokens: 100, messages: [{ role: "user", content: "hello" }] };

function jsonAnswer(body: object, status = 200) {
  return (_seen: Seen, _request: unknown, response: ServerResponse) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function usageAnswer(inputTokens: number, outputTokens: number) {
  return jsonAnswer({ type: "message", usage: { input_tokens: inputTokens, output_tokens: outputTokens } });
}

function auth(world: NetworkWorld) {
  return { "x-api-key": world.key, "content-type": "application/json" };
}

it.each(ANSWERS)("$title: passes it on as it is, with the real key, and counts it", async (scripted) => {
  await using side = await startHttpSide((_seen, _request, response) => {
    response.writeHead(200, {
      "content-type": scripted.contentType,
      "request-id": "r1",
      "set-cookie": "a=b",
    });
    // In pieces that end in the middle of words and characters.
    for (const byte of Buffer.from(scripted.text)) response.write(Buffer.of(byte));
    response.end();
  });
  const model = upstreamAt(`${side.url}/base/`, { kind: scripted.kind, prices: PRICES });
  await using world = await openNetworkWorld({ models: [model] });
  const answer = await world.ask({
    path: `/models/up${scripted.path}`,
    headers: { authorization: `Bearer ${world.key}`, "openai-organization": "other", "anthropic-beta": BETA },
    body: scripted.body,
  });
  expect(answer).toMatchObject({ status: 200, text: scripted.text });
  expect(answer.headers).toMatchObject({ "content-type": scripted.contentType, "request-id": "r1" });
  expect(answer.headers).not.toHaveProperty("set-cookie");
  expect(answer.headers).not.toHaveProperty("broken");

  const [seen] = side.seen;
  expect(seen?.url).toBe(`/base${scripted.upstreamPath}`);
  expect(JSON.stringify(seen)).not.toContain(world.key);
  expect(JSON.parse(seen?.body ?? "")).toMatchObject(scripted.body);
  expect(seen?.headers).toMatchObject({ "accept-encoding": "identity", "anthropic-beta": BETA });
  expect(seen?.headers).not.toHaveProperty("openai-organization");
  const sent = { anthropic: "x-api-key", openai: "authorization", gemini: "x-goog-api-key" }[scripted.kind];
  expect(seen?.headers[sent]).toBe(scripted.kind === "openai" ? `Bearer ${REAL_KEY}` : REAL_KEY);

  await expect.poll(() => world.network.usage().inputTokens).toBe(1000);
  const usage = world.network.usage();
  expect(usage).toMatchObject({ calls: 1, inputTokens: 1000, outputTokens: 50, cachedInputTokens: 200 });
  expect(usage.costUsd).toBeCloseTo((800 * 3 + 200 * 0.3 + 50 * 15) / 1e6, 10);
  expect(world.network.traffic.total).toEqual({
    bytesIn: Buffer.byteLength(scripted.text),
    bytesOut: seen?.body.length,
  });
  expect(world.logger.text("info")).toContain('"is_estimate":false');
  expect(JSON.stringify(world.logger.lines)).not.toContain(REAL_KEY);
});

it("takes paths with and without a version, as SDKs differ", async () => {
  await using side = await startHttpSide(usageAnswer(1, 1));
  const models = [
    upstreamAt(`${side.url}/a/v1`, { name: "a" }),
    upstreamAt(`${side.url}/o/v4`, { name: "o", kind: "openai" }),
    upstreamAt(`${side.url}/g/v1beta`, { name: "g", kind: "gemini" }),
  ];
  await using world = await openNetworkWorld({ models });
  for (const [path, url] of [
    ["/models/a/messages", "/a/v1/messages"],
    ["/models/a/v1/messages", "/a/v1/messages"],
    ["/models/o/chat/completions", "/o/v4/chat/completions"],
    ["/models/o/v1/chat/completions", "/o/v4/chat/completions"],
    ["/models/g/models/m:generateContent", "/g/v1beta/models/m:generateContent"],
    ["/models/g/v1alpha/models/m:generateContent", "/g/v1alpha/models/m:generateContent"],
  ]) {
    expect((await world.ask({ path: path ?? "", headers: auth(world), body: CALL })).status).toBe(200);
    expect(side.seen.at(-1)?.url).toBe(url);
  }
  const list = await world.ask({
    method: "GET",
    path: `/models/g/v1beta/models?key=${world.key}&pageSize=5`,
  });
  expect(list.status).toBe(200);
  expect(side.seen.at(-1)?.url).toBe("/g/v1beta/models?pageSize=5");
  // Neither a list nor counting tokens is a call.
  await world.ask({ path: "/models/a/v1/messages/count_tokens", headers: auth(world), body: CALL });
  expect(world.network.usage().calls).toBe(6);
});

it("answers nobody without the turn's key, and tells nobody what there is", async () => {
  await using side = await startHttpSide(usageAnswer(1, 1));
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
  for (const headers of [
    {},
    { authorization: "Bearer" },
    { authorization: `Basic ${world.key}` },
    { "x-api-key": `${world.key}x` },
    { "x-api-key": world.key.slice(1) },
    { "x-api-key": REAL_KEY.slice(0, 10) },
  ]) {
    for (const path of [MESSAGES, "/models/other/v1/messages", `${MESSAGES}?key=x`]) {
      expect((await world.ask({ path, headers: { ...headers }, body: CALL })).status).toBe(401);
    }
  }
  expect(side.seen).toEqual([]);
});

it.each([
  "/",
  "/models/up",
  "/models/other/v1/messages",
  "/models/up/v1/messages/batches",
  "/models/up/v1/files",
  "/models/up/v1/organizations/me",
  "/models/up/../up/v1/messages",
  "/models/up/v1/../messages",
  "/models/up/v1/%2e%2e/messages",
  "/models/up/v1/./messages",
  "/models/up//messages",
  "/models/up/v1//messages",
  "/models/up/v1/messages/",
  "/models/up/v1/messages%00",
  "/models/up/v1\\messages",
  "/models/up/@evil.test/v1/messages",
  "/models/up/v1/v1/messages",
  "//evil.test/v1/messages",
  "/models/UP/v1/messages",
])("does not forward %s", async (path) => {
  await using side = await startHttpSide(usageAnswer(1, 1));
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
  const { status, text } = await world.ask({ path, headers: auth(world), body: CALL });
  expect(status).toBe(404);
  expect(JSON.parse(text)).toMatchObject({ type: "error", error: { type: "not_found_error" } });
  expect((await world.ask({ method: "DELETE", path: MESSAGES, headers: auth(world) })).status).toBe(404);
  expect(side.seen).toEqual([]);
});

it.each([
  "..",
  ".",
  "%2e%2e",
  "..%2ffiles",
  "x%2f..%2f..%2ffiles",
  "x;y",
  "x\\\\..",
  "x/../../files",
  "x/",
  "a/b",
])("does not read %s as the name of a model", async (name) => {
  await using side = await startHttpSide(jsonAnswer({}));
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
  const path = `/models/up/v1/models/${name}`;
  expect((await world.ask({ method: "GET", path, headers: auth(world) })).status).toBe(404);
  expect(side.seen).toEqual([]);
});

it("refuses a WebSocket so that agents go on over HTTP at once", async () => {
  await using side = await startHttpSide(usageAnswer(1, 1));
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url, { kind: "openai" })] });
  const socket = await world.dial();
  const handshake = [
    "GET /models/up/v1/responses HTTP/1.1",
    "host: gateway",
    `authorization: Bearer ${world.key}`,
    "connection: Upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
  ];
  socket.write(`${handshake.join("\r\n")}\r\n\r\n`);
  const answer = (await readAll(socket)).toString();
  expect(answer).toMatch(/^HTTP\/1\.1 426 Upgrade Required\r\n/);
  expect(answer).toMatch(/\r\nupgrade: HTTP\/1\.1\r\n/i);
  expect(answer).toContain("WebSockets aren't available here. Use HTTP.");
  expect(side.seen).toEqual([]);
});

it("does not take a URL in place of a path", async () => {
  await using side = await startHttpSide(usageAnswer(1, 1));
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
  const answer = await world.ask({ path: `${side.url}${MESSAGES}`, headers: auth(world), body: CALL });
  // That is a request to the proxy, whose list is empty.
  expect(answer.status).toBe(403);
  expect(side.seen).toEqual([]);
});

it.each(["", "x", "[]", "1", "{}", '{"model":1}', '{"model":"m","tools":1}', '{"model":"m","stream":"yes"}'])(
  "refuses a call with the body %j",
  async (body) => {
    await using side = await startHttpSide(usageAnswer(1, 1));
    await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
    expect((await world.ask({ path: MESSAGES, headers: auth(world), body })).status).toBe(400);
    expect(side.seen).toEqual([]);
  },
);

it("refuses bodies that are too long or compressed", async () => {
  await using side = await startHttpSide(usageAnswer(1, 1));
  const models = [upstreamAt(side.url, { kind: "openai" })];
  await using world = await openNetworkWorld({ models, limits: { modelRequestBytes: 1000 } });
  const headers = { authorization: `Bearer ${world.key}` };
  const path = "/models/up/v1/responses";
  expect((await world.ask({ path, headers, body: "x".repeat(1001) })).status).toBe(413);
  expect((await world.ask({ path, headers: { ...headers, "content-encoding": "gzip" } })).status).toBe(415);
  expect(side.seen).toEqual([]);
});

it("sends on what it read: of two fields with one name, the one that was counted", async () => {
  await using side = await startHttpSide(usageAnswer(1, 1));
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
  const body = '{"model":"dear-x","max_tokens":1,"model":"cheap-x","messages":[]}';
  await world.ask({ path: MESSAGES, headers: auth(world), body });
  expect(side.seen[0]?.body).toBe('{"model":"cheap-x","max_tokens":1,"messages":[]}');
});

it("takes out the tools with which the provider would reach the web for the agent", async () => {
  await using side = await startHttpSide(usageAnswer(1, 1));
  const models = [
    upstreamAt(side.url),
    upstreamAt(side.url, { name: "o", kind: "openai" }),
    upstreamAt(side.url, { name: "g", kind: "gemini" }),
  ];
  await using world = await openNetworkWorld({ models });
  async function sent(path: string, body: object): Promise<unknown> {
    await world.ask({ path, headers: auth(world), body });
    return JSON.parse(side.seen.at(-1)?.body ?? "");
  }
  const own = [
    { name: "edit", input_schema: {} },
    { type: "custom", name: "run" },
    { type: "bash_20250124", name: "bash" },
  ];
  const foreign = [
    "web_search_20250305",
    "web_fetch_20250910",
    "code_execution_20250825",
    "mcp_toolset",
    "new_tool",
  ];
  const web = { mcp_servers: [{ url: "https://evil.test" }], plugins: [{ id: "web" }], enable_search: true };
  const tools = [...own, ...foreign.map((type) => ({ type })), "x", null];
  expect(await sent(MESSAGES, { ...CALL, ...web, tools })).toEqual({ ...CALL, tools: own });

  const fn = { type: "function", name: "edit" };
  const local = { type: "shell", environment: { type: "local" } };
  const body = { model: "m", input: "x" };
  expect(
    await sent("/models/o/v1/responses", {
      ...body,
      tools: [
        fn,
        local,
        { type: "shell", environment: { type: "container_auto" } },
        { type: "web_search" },
        { type: "mcp", server_url: "https://evil.test" },
        { type: "namespace", name: "n", tools: [fn, { type: "mcp" }] },
      ],
    }),
  ).toEqual({ ...body, tools: [fn, local, { type: "namespace", name: "n", tools: [fn] }] });
  expect(await sent("/models/o/v1/responses", { ...body, tools: [{ type: "web_search" }] })).toEqual(body);

  const functions = { functionDeclarations: [{ name: "edit" }] };
  expect(
    await sent("/models/g/v1beta/models/m:generateContent", {
      contents: [],
      tools: [{ ...functions, googleSearch: {} }, { urlContext: {} }],
    }),
  ).toEqual({ contents: [], tools: [functions] });
});

it("lets no provider follow a link for the agent, but takes data, and tools that speak of links", async () => {
  await using side = await startHttpSide(usageAnswer(1, 1));
  const models = [
    upstreamAt(side.url, { name: "anthropic" }),
    upstreamAt(side.url, { name: "openai", kind: "openai" }),
    upstreamAt(side.url, { name: "gemini", kind: "gemini" }),
  ];
  await using world = await openNetworkWorld({ models });
  const link = "https://evil.test/?what-i-read";
  const data = "data:image/png;base64,AAAA";
  const message = (content: unknown) => ({ ...CALL, messages: [{ role: "user", content }] });
  const responses = (...content: unknown[]) => ({ model: "m", input: [{ role: "user", content }] });
  const gemini = (...parts: unknown[]) => ({ contents: [{ parts }] });
  const image = (source: object) => ({ type: "image", source });
  for (const [path, body, status] of [
    ["anthropic/messages", message([image({ type: "url", url: link })]), 400],
    ["anthropic/messages", message([{ type: "document", source: { type: "url", url: link } }]), 400],
    [
      "anthropic/messages",
      message([{ type: "tool_result", content: [image({ type: "url", url: link })] }]),
      400,
    ],
    ["anthropic/messages", message([image({ type: "base64", data: "AAAA" })]), 200],
    ["anthropic/messages", message([{ type: "tool_use", input: { type: "url", url: link } }]), 200],
    ["anthropic/messages", message(`read ${link}`), 200],
    ["openai/chat/completions", message([{ type: "image_url", image_url: { url: link } }]), 400],
    ["openai/chat/completions", message([{ type: "file", file: { file_data: link } }]), 400],
    ["openai/chat/completions", message([{ type: "image_url", image_url: { url: data } }]), 200],
    ["openai/responses", responses({ type: "input_image", image_url: link }), 400],
    ["openai/responses", responses({ type: "input_file", file_url: link }), 400],
    [
      "openai/responses",
      {
        model: "m",
        input: [{ type: "function_call_output", output: [{ type: "input_image", image_url: link }] }],
      },
      400,
    ],
    ["openai/responses", responses({ type: "input_image", image_url: data }), 200],
    ["gemini/models/m:generateContent", gemini({ fileData: { fileUri: link } }), 400],
    ["gemini/models/m:generateContent", gemini({ file_data: { file_uri: link } }), 400],
    ["gemini/models/m:generateContent", gemini({ inlineData: { data: "AAAA" } }), 200],
    [
      "gemini/models/m:generateContent",
      gemini({ functionCall: { args: { fileData: { fileUri: link } } } }),
      200,
    ],
    [
      "openai/responses",
      {
        model: "m",
        input: [{ type: "computer_call_output", output: { type: "computer_screenshot", image_url: link } }],
      },
      400,
    ],
    ["openai/responses", { type: "tool_use", ...responses({ type: "input_image", image_url: link }) }, 400],
    ["openai/responses", responses({ type: "input_image", image_url: ` ${data}` }), 200],
    ["openai/responses", responses({ type: "input_file", file_id: "file-1" }), 400],
    [
      "openai/responses",
      responses({ type: "input_file", file_id: null, file_url: "", file_data: data }),
      200,
    ],
    ["openai/chat/completions", message([{ type: "image_url", image_url: { url: ` ${link}` } }]), 400],
    ["openai/chat/completions", message([{ type: "image_url", image_url: { url: "//evil.test/" } }]), 400],
    ["openai/chat/completions", message([{ type: "image_url", imageUrl: link }]), 400],
    ["openai/chat/completions", message([{ type: "audio_url", audio_url: { url: link } }]), 400],
    ["openai/chat/completions", message([{ type: "input_audio", input_audio: { data: link } }]), 400],
    ["openai/chat/completions", message([{ type: "input_audio", input_audio: { data: "//uQxAAA" } }]), 200],
    [
      "openai/chat/completions",
      message([{ type: "text", text: link, annotations: [{ type: "url_citation", url: link }] }]),
      200,
    ],
    [
      "openai/chat/completions",
      {
        ...message("x"),
        tools: [{ type: "function", function: { parameters: { default: { url: link } } } }],
      },
      200,
    ],
    ["anthropic/messages", message([{ type: "container_upload", file_id: "file_1" }]), 400],
    [
      "anthropic/messages",
      message([{ type: "document", source: { type: "text", data: "https: is a scheme" } }]),
      200,
    ],
    ["anthropic/messages/count_tokens", message([image({ type: "url", url: link })]), 400],
    ["anthropic/messages/count_tokens", message([image({ type: "base64", data: "AAAA" })]), 200],
    ["gemini/models/m:countTokens", { generateContentRequest: gemini({ fileData: { fileUri: link } }) }, 400],
  ] as const) {
    const answer = await world.ask({ path: `/models/${path}`, headers: auth(world), body });
    expect([path, body, answer.status]).toEqual([path, body, status]);
  }
});

it.each([
  ["openai", "responses", { previous_response_id: "resp_1" }],
  ["openai", "responses", { conversation: "conv_1" }],
  ["openai", "responses", { conversation: { id: "conv_1" } }],
  ["openai", "responses", { prompt: { id: "pmpt_1" } }],
  ["openai", "responses", { input: [{ type: "item_reference", id: "msg_1" }] }],
  ["openai", "responses", { input: [{ id: "msg_1" }] }],
  ["gemini", "models/m:generateContent", { cachedContent: "cachedContents/1" }],
] as const)("leads %s by %s to nothing that is stored at the provider (%j)", async (kind, path, fields) => {
  await using side = await startHttpSide(usageAnswer(1, 1));
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url, { kind })] });
  const [name = ""] = Object.keys(fields);
  const refused = await world.ask({
    path: `/models/up/${path}`,
    headers: auth(world),
    body: { ...CALL, ...fields },
  });
  expect(refused.status).toBe(400);
  expect(JSON.parse(refused.text).error.message).toContain(`eave out ${name}.`);
  expect(side.seen).toEqual([]);
  const body = { ...CALL, [name]: null };
  expect((await world.ask({ path: `/models/up/${path}`, headers: auth(world), body })).status).toBe(200);
});

it("leads a call to no other model than the one whose price counts", async () => {
  await using side = await startHttpSide(usageAnswer(1, 1));
  const models = [upstreamAt(side.url, { kind: "openai", prices: PRICES })];
  await using world = await openNetworkWorld({ models });
  const body = { ...CALL, models: ["dear-y"], fallbacks: ["dear-y"], preset: "dear" };
  await world.ask({ path: "/models/up/v1/chat/completions", headers: auth(world), body });
  expect(JSON.parse(side.seen[0]?.body ?? "")).toEqual(CALL);
});

it("asks for usage in a stream of chat completions, and leaves it to servers that don't know that", async () => {
  let knows = true;
  await using side = await startHttpSide(({ body }, _request, response) => {
    const isAsked = "stream_options" in JSON.parse(body);
    if (isAsked && !knows) response.writeHead(422).end("extra field");
    else response.writeHead(200, { "content-type": "text/event-stream" }).end("data: [DONE]\n\n");
  });
  const models = [upstreamAt(side.url, { kind: "openai" })];
  await using world = await openNetworkWorld({ models });
  const ask = (over: object) =>
    world.ask({
      path: "/models/up/v1/chat/completions",
      headers: { authorization: `Bearer ${world.key}` },
      body: { model: "m", stream: true, ...over },
    });
  const options = () => side.seen.map(({ body }) => JSON.parse(body).stream_options);
  await ask({});
  await ask({ stream_options: { include_usage: false, include_obfuscation: false } });
  await ask({ stream: false });
  expect(options()).toEqual([
    { include_usage: true },
    { include_usage: true, include_obfuscation: false },
    undefined,
  ]);
  side.seen.length = 0;
  knows = false;
  expect((await ask({})).status).toBe(200);
  expect((await ask({})).status).toBe(200);
  expect(options()).toEqual([{ include_usage: true }, undefined, undefined]);
});

it.each([
  ["gzip", gzipSync],
  ["deflate", deflateSync],
  ["br", brotliCompressSync],
  ["zstd", zstdCompressSync],
] as const)("reads an answer that comes as %s all the same", async (encoding, compress) => {
  const text = JSON.stringify({ usage: { input_tokens: 7, output_tokens: 3 } });
  await using side = await startHttpSide((_seen, _request, response) =>
    response
      .writeHead(200, { "content-encoding": encoding, "content-type": "application/json" })
      .end(compress(text)),
  );
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
  const answer = await world.ask({ path: MESSAGES, headers: auth(world), body: CALL });
  expect(answer.text).toBe(text);
  expect(answer.headers).not.toHaveProperty("content-encoding");
  expect(world.network.usage()).toMatchObject({ inputTokens: 7, outputTokens: 3 });
});

const USER_HEX = Buffer.from("user:").toString("hex");

it("never shows the key, wherever the upstream puts it", async () => {
  const forms = [
    REAL_KEY,
    Buffer.from(`user:${REAL_KEY}`).toString("hex"),
    encodeURIComponent(REAL_KEY),
    JSON.stringify(REAL_KEY).slice(1, -1),
  ];
  await using side = await startHttpSide((_seen, _request, response) => {
    response.writeHead(400, {
      "content-type": "text/plain",
      "request-id": `for ${REAL_KEY}`,
      "x-other": REAL_KEY,
    });
    // A byte at a time, so that no piece holds it whole.
    for (const byte of Buffer.from(`${forms.join(" ")} sk-rea`)) response.write(Buffer.of(byte));
    response.end();
  });
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
  const answer = await world.ask({ path: MESSAGES, headers: auth(world), body: CALL });
  expect(answer).toMatchObject({ status: 400, text: `[key] ${USER_HEX}[key] [key] [key] sk-rea` });
  expect(answer.headers["request-id"]).toBe("for [key]");
  expect(answer.headers).not.toHaveProperty("x-other");
  expect(world.network.usage()).toMatchObject({ calls: 1, inputTokens: 0, outputTokens: 0 });
});

it("says in its own words that the key is refused, to the operator too", async () => {
  await using side = await startHttpSide(jsonAnswer({ error: "Incorrect key sk-r*****a1B2" }, 401));
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
  const answer = await world.ask({ path: MESSAGES, headers: auth(world), body: CALL });
  expect(answer.status).toBe(401);
  expect(answer.text).toContain("The model provider refused the service's key.");
  expect(answer.text).not.toContain("sk-r");
  expect(world.logger.text("error")).toBe(
    'model upstream refused the key {"upstream":"up","key_env":"MODEL_KEY"}',
  );
});

it("says that an upstream can't be reached, and counts nothing", async () => {
  const side = await startHttpSide(usageAnswer(1, 1));
  await side[Symbol.asyncDispose]();
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
  const answer = await world.ask({ path: MESSAGES, headers: auth(world), body: CALL });
  expect(answer.status).toBe(502);
  expect(JSON.parse(answer.text).error.message).toBe("The model provider can't be reached (ECONNREFUSED).");
  expect(world.logger.text("warn")).toMatch(/model upstream can't be reached .*"code":"ECONNREFUSED"/);
  expect(world.logger.text("info")).toBe("");
  expect(world.network.usage()).toMatchObject({ inputTokens: 0, outputTokens: 0 });
});

it("calls models through the operator's proxy, and says so when that lets it through no more", async () => {
  await using side = await startHttpSide(usageAnswer(5, 1));
  await using proxy = await ConnectProxy.start({ login: "ana:secret", leadsTo: side.port });
  const http = proxy.url.replace("//", "//ana:secret@");
  const models = [upstreamAt("http://models.internal")];
  await using world = await openNetworkWorld({ models, proxy: { http, https: "", none: "" } });
  expect(await world.ask({ path: MESSAGES, headers: auth(world), body: CALL })).toMatchObject({
    status: 200,
  });
  expect(proxy.asked).toEqual(["models.internal:80"]);
  expect(side.seen[0]?.headers["x-api-key"]).toBe(REAL_KEY);
  expect(side.seen[0]?.headers).not.toHaveProperty("proxy-authorization");

  await using refused = await openNetworkWorld({ models, proxy: { http: proxy.url, https: "", none: "" } });
  expect(await refused.ask({ path: MESSAGES, headers: auth(refused), body: CALL })).toMatchObject({
    status: 502,
  });
  expect(refused.network.modelTrouble()).toEqual({
    step: "The model can't be reached (ERR_PROXY_CONNECT)",
    reason: "The model provider can't be reached.",
    advice: "The proxy opens no connection to http://models.internal. Check HTTPS_PROXY (models: up).",
  });
  expect(refused.network.usage()).toMatchObject({ inputTokens: 0, outputTokens: 0 });
});

it.each([
  ["a status below 100", "HTTP/1.1 042 X\r\ncontent-length: 2\r\n\r\nok"],
  ["a status below 100 and no end", "HTTP/1.1 042 X\r\ncontent-length: 9\r\n\r\nok"],
  ["another protocol", "HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\nhey"],
  ["no HTTP", "GARBAGE\r\n\r\n"],
  ["control characters", "HTTP/1.1 200 OK\r\nrequest-id: \x01\x7f\r\ncontent-length: 2\r\n\r\n{}"],
])("survives an upstream's answer with %s", async (_title, bytes) => {
  await using side = await startRawSide(bytes);
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
  for (const path of [MESSAGES, `${MESSAGES}/count_tokens`]) {
    const answer = await world.ask({ path, headers: auth(world), body: CALL });
    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.text).error.message).toContain("The model provider can't be reached");
  }
});

it("breaks off where the upstream does, and estimates what it didn't say", async () => {
  const start = `data: ${JSON.stringify({ type: "message_start", message: { usage: { input_tokens: 500, output_tokens: 1 } } })}\n\n`;
  await using side = await startHttpSide((_seen, _request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(start + "data: x\n\n".repeat(100), () => response.destroy());
  });
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
  const answer = await world.ask({ path: MESSAGES, headers: auth(world), body: CALL });
  expect(answer.headers["broken"]).toBe("yes");
  expect(world.network.usage()).toMatchObject({
    inputTokens: 500,
    outputTokens: Math.ceil((start.length + 900) / 4),
  });
  expect(world.logger.text("info")).toContain('"is_estimate":true');
});

it("ends calls that have no answer yet when the turn ends, and counts what was sent", async () => {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  await using side = await startHttpSide(() => resolve());
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
  const answer = world.ask({ path: MESSAGES, headers: auth(world), body: CALL });
  await asked;
  await world.network[Symbol.asyncDispose]();
  expect((await answer).status).toBe(0);
  const inputTokens = Math.ceil(JSON.stringify(CALL).length / 4);
  expect(world.network.usage()).toMatchObject({ calls: 1, inputTokens, outputTokens: CALL.max_tokens });
});

it("refuses a body that is nested as deep as it fits", async () => {
  await using side = await startHttpSide(usageAnswer(1, 1));
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
  const depth = 90_000;
  const body = `{"model":"m","messages":${"[".repeat(depth)}${"]".repeat(depth)}}`;
  const refused = await world.ask({ path: MESSAGES, headers: auth(world), body });
  expect(refused.status).toBe(400);
  expect(JSON.parse(refused.text).error.message).toBe("The request is nested more than 200 levels deep.");
  expect((await world.ask({ path: MESSAGES, headers: auth(world), body: CALL })).status).toBe(200);
});

it("asks for no form of an answer in which usage can't be read", async () => {
  await using side = await startHttpSide(usageAnswer(1, 1));
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
  const refused = await world.ask({ path: `${MESSAGES}?alt=proto`, headers: auth(world), body: CALL });
  expect(refused.status).toBe(400);
  expect((await world.ask({ path: `${MESSAGES}?alt=sse`, headers: auth(world), body: CALL })).status).toBe(
    200,
  );
});

it("counts an estimate where usage can't be read", async () => {
  for (const text of ["not JSON", '{"usage":{"input_tokens":-5,"output_tokens":"9"}}', '{"usage":null}']) {
    await using side = await startHttpSide((_seen, _request, response) => response.end(text));
    await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
    await world.ask({ path: MESSAGES, headers: auth(world), body: CALL });
    expect(world.network.usage()).toMatchObject({
      calls: 1,
      inputTokens: Math.ceil(JSON.stringify(CALL).length / 4),
    });
  }
});

it("counts a call that the agent gives up, and gives it up at the upstream", async () => {
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  await using side = await startHttpSide((_seen, _request, response) => {
    response.once("close", resolve);
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: x\n\n");
  });
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
  const socket = await world.dial();
  const body = JSON.stringify(CALL);
  socket.write(
    `POST ${MESSAGES} HTTP/1.1\r\nhost: x\r\nx-api-key: ${world.key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await once(socket, "data");
  socket.destroy();
  await gone;
  await expect.poll(() => world.network.usage().inputTokens).toBe(Math.ceil(body.length / 4));
  expect(world.network.usage().outputTokens).toBe(CALL.max_tokens);
});

it.each([
  ["anthropic", "/v1/messages", { max_tokens: 10_000 }],
  ["anthropic", "/v1/messages", { max_tokens: 10_000, max_output_tokens: 1, n: 1 }],
  ["openai", "/v1/chat/completions", { max_tokens: 1, max_completion_tokens: 10_000 }],
  ["openai", "/v1/responses", { max_output_tokens: 10_000, max_tokens: 1 }],
  ["gemini", "/v1beta/models/m:generateContent", { generation_config: { max_output_tokens: 10_000 } }],
  [
    "gemini",
    "/v1beta/models/m:generateContent",
    { generationConfig: { maxOutputTokens: 5000, candidateCount: 2 } },
  ],
] as const)("keeps the budget of %s calls to %s that are broken off (%j)", async (kind, path, limits) => {
  let asked = 0;
  await using side = await startHttpSide(() => (asked += 1));
  await using world = await openNetworkWorld({
    models: [upstreamAt(side.url, { kind })],
    budget: { tokens: 20_000, usd: null },
  });
  const body = JSON.stringify({ ...CALL, max_tokens: undefined, ...limits });
  const head = `POST /models/up${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${world.key}\r\ncontent-length: ${body.length}`;
  for (let call = 1; call <= 2; call += 1) {
    const socket = await world.dial();
    socket.write(`${head}\r\n\r\n${body}`);
    await expect.poll(() => asked).toBe(call);
    socket.destroy();
    await expect.poll(() => world.network.usage().outputTokens).toBe(call * 10_000);
  }
  expect(await world.network.exceeded).toBe("The request's budget of 20,000 tokens is used up.");
  expect((await world.ask({ path: `/models/up${path}`, headers: auth(world), body })).status).toBe(429);
  expect(asked).toBe(2);
});

it("ends an answer without an end, and holds it back while nobody reads", { tags: "nightly" }, async () => {
  await using side = await startHttpSide((_seen, _request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const more = () => void response.write(Buffer.alloc(65_536, "x"));
    response.on("drain", more);
    more();
  });
  const limit = 32 * 1024 ** 2;
  const models = [upstreamAt(side.url)];
  await using world = await openNetworkWorld({ models, limits: { modelAnswerBytes: limit } });
  const socket = await world.dial();
  const body = JSON.stringify(CALL);
  const headers = `host: x\r\nx-api-key: ${world.key}\r\ncontent-length: ${body.length}`;
  socket.write(`POST ${MESSAGES} HTTP/1.1\r\n${headers}\r\n\r\n${body}`);
  socket.pause();
  let before = -1;
  let now = 0;
  while (now === 0 || now !== before) {
    before = now;
    await sleep(200);
    now = world.network.traffic.total.bytesIn;
  }
  expect(now).toBeLessThan(limit / 2);
  socket.resume();
  const got = (await readAll(socket)).length;
  expect(got).toBeGreaterThan(limit / 2);
  expect(got).toBeLessThan(limit + 1024 ** 2);
  expect(world.network.usage().outputTokens).toBeGreaterThan(limit / 8);
});

it("ends the turn when its budget of tokens is used up", async () => {
  await using side = await startHttpSide(usageAnswer(150, 60));
  await using world = await openNetworkWorld({
    models: [upstreamAt(side.url)],
    budget: { tokens: 200_000, usd: null },
  });
  await using small = await openNetworkWorld({
    models: [upstreamAt(side.url)],
    budget: { tokens: 200, usd: null },
  });
  expect((await world.ask({ path: MESSAGES, headers: auth(world), body: CALL })).status).toBe(200);
  expect((await small.ask({ path: MESSAGES, headers: auth(small), body: CALL })).status).toBe(200);
  expect(await small.network.exceeded).toBe("The request's budget of 200 tokens is used up.");
  const refused = await small.ask({ path: MESSAGES, headers: auth(small), body: CALL });
  expect(refused.status).toBe(429);
  expect(refused.headers["x-should-retry"]).toBe("false");
  expect(JSON.parse(refused.text).error.message).toBe("The request's budget of 200 tokens is used up.");
  expect(side.seen).toHaveLength(2);
  // What exceeds its budget says so before the call has ended, which was long ago.
  expect(await Promise.race([world.network.exceeded, Promise.resolve("no")])).toBe("no");
});

it("says so while the call that exceeds it still runs", async () => {
  await using side = await startHttpSide((_seen, _request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(
      `data: ${JSON.stringify({ type: "message_start", message: { usage: { input_tokens: 300 } } })}\n\n`,
    );
  });
  await using world = await openNetworkWorld({
    models: [upstreamAt(side.url)],
    budget: { tokens: 200, usd: null },
  });
  const asked = world.ask({ path: MESSAGES, headers: auth(world), body: CALL });
  expect(await world.network.exceeded).toBe("The request's budget of 200 tokens is used up.");
  await world.network[Symbol.asyncDispose]();
  await asked;
  expect(world.network.usage().inputTokens).toBe(300);
});

it("keeps a budget in money, and lets no model pass whose price isn't known", async () => {
  await using side = await startHttpSide(usageAnswer(1000, 100));
  const models = [upstreamAt(side.url, { prices: PRICES })];
  await using world = await openNetworkWorld({ models, budget: { tokens: null, usd: 0.01 } });
  const ask = (model: string) =>
    world.ask({ path: MESSAGES, headers: auth(world), body: { ...CALL, model } });
  const refused = await ask("claude-y");
  expect(refused.status).toBe(403);
  expect(JSON.parse(refused.text).error.message).toContain("The model claude-y has no price");
  for (const status of [200, 200, 200, 429]) expect((await ask("claude-x")).status).toBe(status);
  expect(await world.network.exceeded).toBe("The request's budget of $0.01 is used up.");
  expect(world.network.usage().costUsd).toBeCloseTo(3 * ((1000 * 3 + 100 * 15) / 1e6), 10);
});

it("shows no cost where a model has no price", async () => {
  await using side = await startHttpSide(usageAnswer(1000, 100));
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
  expect(world.network.usage().costUsd).toBe(0);
  await world.ask({ path: MESSAGES, headers: auth(world), body: CALL });
  expect(world.network.usage().costUsd).toBeNull();
});

it("overshoots by one call at most, however many are made at once", async () => {
  let running = 0;
  let most = 0;
  const { promise: twoRun, resolve: onTwo } = Promise.withResolvers<void>();
  await using side = await startHttpSide(async (_seen, _request, response) => {
    running += 1;
    most = Math.max(most, running);
    // It makes use of the room there is: the first one waits for a second.
    if (running === 2) onTwo();
    await twoRun;
    running -= 1;
    response.end(JSON.stringify({ usage: { input_tokens: 20, output_tokens: 100 } }));
  });
  await using world = await openNetworkWorld({
    models: [upstreamAt(side.url)],
    budget: { tokens: 1000, usd: null },
  });
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => world.ask({ path: MESSAGES, headers: auth(world), body: CALL })),
  );
  const passed = answers.filter(({ status }) => status === 200).length;
  expect(passed).toBe(9);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(31);
  const { calls, inputTokens, outputTokens } = world.network.usage();
  expect({ calls, tokens: inputTokens + outputTokens }).toEqual({ calls: 9, tokens: 1080 });
  expect(most).toBeLessThanOrEqual(8);
});

it("runs no more calls at once than its limit, and the others in their order", async () => {
  const waiting: ServerResponse[] = [];
  await using side = await startHttpSide((_seen, _request, response) => waiting.push(response));
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)], limits: { modelCalls: 2 } });
  const asked = Array.from({ length: 5 }, () =>
    world.ask({ path: MESSAGES, headers: auth(world), body: CALL }),
  );
  for (let done = 0; done < 5; done += 1) {
    await expect.poll(() => waiting.length).toBe(Math.min(2, 5 - done));
    waiting.shift()?.end("{}");
  }
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
});

it("lets no call that never arrives whole hold up the others", async () => {
  await using side = await startHttpSide((_seen, _request, response) => response.end("{}"));
  const limits = { modelCalls: 1, modelRequestMs: 200 };
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)], limits });
  const slow = await world.dial();
  slow.write(
    `POST ${MESSAGES} HTTP/1.1\r\nhost: x\r\nx-api-key: ${world.key}\r\ncontent-length: 100\r\n\r\n{`,
  );
  const answer = await world.ask({ path: MESSAGES, headers: auth(world), body: CALL });
  expect(answer.status).toBe(200);
  await readAll(slow);
});

it("takes no body in thousands of tiny pieces", async () => {
  await using side = await startHttpSide(() => {});
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)] });
  const socket = await world.dial();
  socket.write(`POST ${MESSAGES} HTTP/1.1\r\nhost: x\r\nx-api-key: ${world.key}\r\n`);
  socket.write(`transfer-encoding: chunked\r\nconnection: close\r\n\r\n${"1\r\na\r\n".repeat(20_000)}`);
  expect((await readAll(socket)).toString()).toContain("Send the body in larger pieces.");
});

it("closes a connection that sends on and on while nothing is answered", async () => {
  await using side = await startHttpSide(() => {});
  await using world = await openNetworkWorld({ models: [upstreamAt(side.url)], limits: { modelCalls: 1 } });
  const socket = await world.dial();
  socket.write(`GET /models/up/v1/models HTTP/1.1\r\nhost: x\r\nx-api-key: ${world.key}\r\n\r\n`.repeat(17));
  expect((await readAll(socket)).toString()).toBe("");
});

it("gives the variables that agents read, the first of a kind its own", async () => {
  const models = [
    upstreamAt("https://a.test"),
    upstreamAt("https://b.test", { name: "other" }),
    upstreamAt("https://o.test/v1", { name: "gpt", kind: "openai" }),
    upstreamAt("https://g.test", { name: "google", kind: "gemini" }),
  ];
  await using world = await openNetworkWorld({ models });
  const { key } = world;
  const env = world.network.env(4321);
  expect(env).toEqual({
    HTTP_PROXY: "http://127.0.0.1:4321",
    HTTPS_PROXY: "http://127.0.0.1:4321",
    http_proxy: "http://127.0.0.1:4321",
    https_proxy: "http://127.0.0.1:4321",
    NO_PROXY: "127.0.0.1,localhost,::1",
    no_proxy: "127.0.0.1,localhost,::1",
    NODE_USE_ENV_PROXY: "1",
    ANTHROPIC_BASE_URL: "http://127.0.0.1:4321/models/up",
    ANTHROPIC_API_KEY: key,
    OPENAI_BASE_URL: "http://127.0.0.1:4321/models/gpt/v1",
    OPENAI_API_KEY: key,
    GOOGLE_GEMINI_BASE_URL: "http://127.0.0.1:4321/models/google",
    GEMINI_API_KEY: key,
    GOOGLE_GENERATIVE_AI_API_KEY: key,
  });
  expect(world.network.models(4321)[1]).toEqual({
    name: "other",
    kind: "anthropic",
    url: "http://127.0.0.1:4321/models/other",
    key,
  });
  expect(key).toMatch(/^sk-turn-[0-9a-f]{48}$/);
  await using another = await openNetworkWorld({ models });
  expect(another.key).not.toBe(key);
});
