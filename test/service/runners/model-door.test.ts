import { readdirSync, statSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { networkOf } from "../../../src/service/config/env.ts";
import { MODEL_KINDS } from "../../../src/service/network/gateway/model-kinds.ts";
import { modelsBehind } from "../../../src/service/runner/link/models-behind.ts";
import { keySent } from "../../../src/service/runners/models/pass-call.ts";
import { LEASE_KEY, modelAt, openDoorWorld, readOut } from "../../support/model-door.ts";
import { PATIENT } from "../../support/patient.ts";
import { makeServiceProject } from "../../support/service-project.ts";
import { REAL_KEY, type Seen, startHttpSide } from "../../support/turn-network.ts";
import { ANSWERS } from "../network/model-answers.ts";

const PRICES = { "*-x": { input: 3, output: 15, cachedInput: 0.3 } };
const CALL = { model: "claude-x", max_tokens: 100, messages: [{ role: "user", content: "hello" }] };
const MESSAGES = "/models/up/v1/messages";

function usageAnswer(inputTokens: number, outputTokens: number) {
  const usage = { input_tokens: inputTokens, output_tokens: outputTokens };
  return (_seen: Seen, _request: unknown, response: ServerResponse) =>
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ type: "message", usage }));
}

it.each(ANSWERS)("$title: passes both gateways as it is, and both count it", async (scripted) => {
  await using side = await startHttpSide((_seen, _request, response) => {
    response.writeHead(200, { "content-type": scripted.contentType, "request-id": "r1" });
    for (const byte of Buffer.from(scripted.text)) response.write(Buffer.of(byte));
    response.end();
  });
  const baseUrl = scripted.kind === "openai" ? `${side.url}/v1` : side.url;
  await using world = await openDoorWorld([modelAt(baseUrl, { kind: scripted.kind, prices: PRICES })]);
  world.open("job.1.1");
  await using runner = await world.elsewhere("job.1.1");
  const answer = await runner.ask({
    path: `/models/up${scripted.path}`,
    headers: { authorization: `Bearer ${runner.key}`, "content-type": "application/json" },
    body: scripted.body,
  });
  expect(answer).toMatchObject({ status: 200, text: scripted.text });
  expect(answer.headers).toMatchObject({ "content-type": scripted.contentType, "request-id": "r1" });
  expect(answer.headers).not.toHaveProperty("broken");

  const [seen] = side.seen;
  expect(seen?.url).toBe(`${scripted.kind === "openai" ? "/v1" : ""}${scripted.upstreamPath}`);
  expect(JSON.parse(seen?.body ?? "")).toMatchObject(scripted.body);
  const header = { anthropic: "x-api-key", openai: "authorization", gemini: "x-goog-api-key" }[scripted.kind];
  expect(seen?.headers[header]).toBe(scripted.kind === "openai" ? `Bearer ${REAL_KEY}` : REAL_KEY);
  for (const key of [LEASE_KEY, runner.key, "sk-turn"]) expect(JSON.stringify(seen)).not.toContain(key);

  const counted = { calls: 1, inputTokens: 1000, outputTokens: 50, cachedInputTokens: 200 };
  await expect.poll(() => world.usages, PATIENT).toEqual([expect.objectContaining(counted)]);
  expect(runner.network.usage()).toMatchObject(counted);
  const used = await world.door.close("job.1.1");
  expect(used).toMatchObject(counted);
  expect(used?.costUsd).toBeCloseTo((800 * 3 + 200 * 0.3 + 50 * 15) / 1e6, 10);
  // What a runner elsewhere has of the models.
  const shown = modelsBehind(world.project, { url: "http://127.0.0.1:1/x", key: LEASE_KEY });
  expect(JSON.stringify([shown, runner.logger.lines, answer])).not.toContain(REAL_KEY);
});

it("gives each kind an address from which its SDK's paths lead to the door's model", () => {
  const kinds = ["v1", "v1beta", "up"].flatMap((name) =>
    MODEL_KINDS.map((kind) => modelAt("", { name, kind })),
  );
  const seen = modelsBehind(makeServiceProject({ models: kinds }), {
    url: "https://s.test/a",
    key: LEASE_KEY,
  });
  const { models } = networkOf(seen.project, seen.env);
  expect(models.map(({ baseUrl }) => baseUrl)).toEqual(
    kinds.map(({ name }) => `https://s.test/a/models/${name}/v1`),
  );
  expect(models.every(({ key }) => key === LEASE_KEY)).toBe(true);
});

it("passes an answer on while it is written", async () => {
  const told = Promise.withResolvers<void>();
  await using side = await startHttpSide((_seen, _request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
    void told.promise.then(() => response.end("data: 2\n\n"));
  });
  await using world = await openDoorWorld([modelAt(side.url)]);
  world.open("a");
  const { body } = await world.call("a", MESSAGES, { ...CALL, stream: true });
  let text = "";
  for await (const chunk of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text === "data: 1\n\n") told.resolve();
  }
  expect(text).toBe("data: 1\n\ndata: 2\n\n");
});

it("reads the key that a call carries, whatever the kind of its model", () => {
  for (const headers of [
    { authorization: "Bearer k-1" },
    { authorization: "bearer  k-1 " },
    { "x-api-key": "k-1" },
    { "x-goog-api-key": "k-1" },
  ]) {
    expect(keySent(new Headers(headers))).toBe("k-1");
  }
  for (const headers of [
    {},
    { authorization: "Basic k-1" },
    { cookie: "k-1" },
    { authorization: "Bearer" },
  ]) {
    expect(keySent(new Headers(headers))).toBeNull();
  }
});

it("counts the budget itself, whatever a runner says that it used", async () => {
  await using side = await startHttpSide(usageAnswer(900, 200));
  await using world = await openDoorWorld([modelAt(side.url)], { project: { budget: { tokens: 1000 } } });
  world.open("a");
  expect((await world.call("a", MESSAGES, CALL)).status).toBe(200);
  await expect
    .poll(() => world.exceeded, PATIENT)
    .toEqual(["The request's budget of 1,000 tokens is used up."]);
  const large = { ...CALL, messages: [{ role: "user", content: "x".repeat(4_000_000) }] };
  for (const body of [CALL, large]) {
    const refused = await world.call("a", MESSAGES, body);
    expect(refused.status).toBe(429);
    expect(refused.headers.get("x-should-retry")).toBe("false");
    expect(await refused.json()).toEqual({
      type: "error",
      error: { type: "rate_limit_error", message: "The request's budget of 1,000 tokens is used up." },
    });
  }
  expect(side.seen).toHaveLength(1);
  expect(world.usages).toEqual([
    { calls: 1, inputTokens: 900, outputTokens: 200, cachedInputTokens: 0, costUsd: null },
  ]);

  // The agent of the next attempt is refused by the door, though its own gateway knows of nothing.
  world.open("a.2", { usedBefore: await world.door.close("a") });
  await using runner = await world.elsewhere("a.2");
  const again = await runner.ask({ path: MESSAGES, headers: { "x-api-key": runner.key }, body: CALL });
  expect(again).toMatchObject({
    status: 429,
    text: expect.stringContaining("budget of 1,000 tokens") as string,
  });
  expect(side.seen).toHaveLength(1);
  expect(await world.door.close("a.2")).toBeNull();
});

it("says why a call is refused, however long its body is and however often it is asked", async () => {
  await using side = await startHttpSide(usageAnswer(1, 1));
  await using world = await openDoorWorld([modelAt(side.url)]);
  world.open("a");
  await using runner = await world.elsewhere("a");
  for (const length of [10, 100_000, 4_000_000]) {
    const body = { ...CALL, messages: [{ role: "user", content: "x".repeat(length) }] };
    for (let round = 1; round <= 20; round += 1) {
      expect((await world.call("a", "/models/other/v1/messages", body)).status).toBe(404);
    }
  }
  const large = { ...CALL, messages: [{ role: "user", content: "x".repeat(1_000_000) }] };
  const wanted = { "x-api-key": runner.key, expect: "100-continue" };
  expect((await runner.ask({ path: "/models/up/v1/files", headers: wanted, body: large })).status).toBe(404);
  // What the agent's gateway says before it reads the body.
  expect((await runner.ask({ path: MESSAGES, headers: wanted, body: CALL })).status).toBe(100);
});

it("refuses what isn't open, and ends what is closed", async () => {
  await using side = await startHttpSide((_seen, _request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
  });
  await using world = await openDoorWorld([modelAt(side.url)]);
  expect((await world.call("a", MESSAGES, CALL)).status).toBe(404);
  expect(await world.door.close("a")).toBeNull();
  world.open("a");
  world.open("b");
  expect(() => world.open("a")).toThrow("a is open already");
  const [ended, stays] = await Promise.all([
    world.call("a", MESSAGES, CALL),
    world.call("b", MESSAGES, CALL),
  ]);
  expect([ended.status, stays.status]).toEqual([200, 200]);
  const reading = readOut(ended);
  expect(await world.door.close("a")).toMatchObject({ calls: 1, outputTokens: 100 });
  expect(await reading).toEqual({ bytes: 9, isWhole: false });
  expect((await world.call("a", MESSAGES, CALL)).status).toBe(404);
  expect((await world.call("b", "/models/up/v1/files", null)).status).toBe(404);
  await stays.body?.cancel();
});

it.each(["waits for the answer", "reads the answer"])(
  "ends the provider's call when the client leaves while it %s",
  async (when) => {
    const asked = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    await using side = await startHttpSide((_seen, _request, response) => {
      response.once("close", () => left.resolve());
      if (when === "reads the answer")
        response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
      asked.resolve();
    });
    await using world = await openDoorWorld([modelAt(side.url)]);
    world.open("a");
    const gone = new AbortController();
    const call = world.call("a", MESSAGES, CALL, { signal: gone.signal });
    await asked.promise;
    if (when === "reads the answer") await call;
    gone.abort();
    await expect(call.then((answer) => answer.text())).rejects.toThrow("abort");
    await left.promise;
    await expect.poll(() => world.usages.at(-1)?.calls, PATIENT).toBe(1);
  },
);

it("goes on after its process was killed in the middle of a call, with what was counted", async () => {
  let isSlow = false;
  const waiting = Promise.withResolvers<void>();
  await using side = await startHttpSide((seen, request, response) => {
    if (!isSlow) return usageAnswer(300, 100)(seen, request, response);
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
    waiting.resolve();
    return response;
  });
  await using world = await openDoorWorld([modelAt(side.url)], { project: { budget: { tokens: 1000 } } });
  world.open("a");
  expect((await world.call("a", MESSAGES, CALL)).status).toBe(200);
  await expect.poll(() => world.usages.length, PATIENT).toBe(1);
  isSlow = true;
  const broken = await world.call("a", MESSAGES, { ...CALL, stream: true });
  await waiting.promise;
  const reading = readOut(broken);
  const first = world.pid() ?? 0;
  process.kill(first, "SIGKILL");
  expect((await reading).isWhole).toBe(false);
  isSlow = false;
  await vi.waitUntil(async () => (await world.call("a", MESSAGES, CALL)).status === 200, PATIENT);
  expect(world.pid()).not.toBe(first);
  await expect.poll(() => world.usages.at(-1), PATIENT).toMatchObject({ calls: 2, inputTokens: 600 });
  expect((await world.call("a", MESSAGES, CALL)).status).toBe(200);
  await expect.poll(() => world.exceeded, PATIENT).toHaveLength(1);
  // Also while its work is closed.
  world.open("b");
  await world.call("b", MESSAGES, CALL);
  await expect.poll(() => world.usages.at(-1)?.calls, PATIENT).toBe(1);
  process.kill(world.pid() ?? 0, "SIGSTOP");
  const closing = world.door.close("b");
  process.kill(world.pid() ?? 0, "SIGKILL");
  expect(await closing).toMatchObject({ calls: 1, inputTokens: 300 });
  expect(world.logger.text("error")).toContain("the model door ended");
});

it("replaces a process that gives no sign of life", async () => {
  await using side = await startHttpSide(usageAnswer(1, 1));
  await using world = await openDoorWorld([modelAt(side.url)], { pingEveryMs: 1000 });
  world.open("a");
  const isAnswered = async () => (await world.call("a", MESSAGES, CALL)).status === 200;
  await vi.waitUntil(isAnswered, PATIENT);
  process.kill(world.pid() ?? 0, "SIGSTOP");
  expect((await world.call("a", MESSAGES, CALL)).status).toBe(502);
  await vi.waitUntil(isAnswered, PATIENT);
});

it("listens where only this user may connect, and tidies up what a killed one left", async () => {
  await using side = await startHttpSide(usageAnswer(1, 1));
  await using world = await openDoorWorld([modelAt(side.url)]);
  world.open("a");
  const folder = join(world.dataDir, "llm");
  for (let round = 1; round <= 2; round += 1) {
    await vi.waitUntil(async () => (await world.call("a", MESSAGES, CALL)).status === 200, PATIENT);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const [name = "", ...others] = readdirSync(folder);
    expect(others).toEqual([]);
    const found = statSync(join(folder, name));
    expect([found.isSocket(), found.mode & 0o777]).toEqual([true, 0o600]);
    process.kill(world.pid() ?? 0, "SIGKILL");
  }
});

it("is started when it is needed, and ends with the service", async () => {
  await using side = await startHttpSide(usageAnswer(1, 1));
  const world = await openDoorWorld([modelAt(side.url)]);
  expect(world.pid()).toBeUndefined();
  world.open("a");
  expect(world.pid()).toBeDefined();
  const call = world.call("a", MESSAGES, CALL);
  expect((await call).status).toBe(200);
  await world[Symbol.asyncDispose]();
  expect(world.pid()).toBeUndefined();
  expect(world.logger.text("error")).toBe("");
});
