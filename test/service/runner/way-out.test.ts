import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { expect, it } from "vitest";
import { inlineAgent, openRunnerWorld } from "../../support/runner-world.ts";

const ALLOW = { fields: [], tools: [], betas: [] };
const KEY = "sk-ant-the-real-key-0123456789abcdef";

/** A model upstream that says what it was asked with, and a turn may call. */
async function startUpstream() {
  const asked: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    asked.push(request.headers);
    request.resume();
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        content: [{ type: "text", text: "Done." }],
        usage: { input_tokens: 900, output_tokens: 100 },
      }),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const url = `http://127.0.0.1:${address.port}`;
  return {
    asked,
    host: `127.0.0.1:${address.port}`,
    url,
    /** As a project has it. */
    model: {
      name: "claude",
      kind: "anthropic",
      baseUrl: url,
      keyEnv: "ANTHROPIC_KEY",
      prices: {},
      allow: ALLOW,
    } as const,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

/** Asks the model as SDKs do, as often as it is told, and writes down what it was answered and what it can see. */
const asks = (times: number) =>
  inlineAgent(`
    const said = [];
    for (let n = 0; n < ${times}; n++) {
      const answer = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", {
        method: "POST",
        headers: { "x-api-key": process.env.ANTHROPIC_API_KEY, "content-type": "application/json" },
        body: JSON.stringify({ model: "claude-test", max_tokens: 10, messages: [] }),
      });
      said.push(answer.status, await answer.text());
    }
    fs.writeFileSync("docs/report.md", JSON.stringify({ said }));
  `);

it.each(["required", "none"] as const)(
  "lets an agent ask a model without the key (containment: %s)",
  async (containment) => {
    await using upstream = await startUpstream();
    await using world = await openRunnerWorld({ containment });
    world.env["ANTHROPIC_KEY"] = KEY;
    const project = world.project(asks(1), {
      models: [upstream.model],
    });
    expect(await world.run(project)).toMatchObject({ kind: "pull-request" });
    const counted = { calls: 1, inputTokens: 900, outputTokens: 100, cachedInputTokens: 0, costUsd: null };
    expect(world.told("usage").at(-1)).toEqual(counted);
    const report = await world.show("docs/report.md");
    expect(JSON.parse(report).said).toEqual([200, expect.stringContaining("Done.")]);
    expect(report).not.toContain(KEY);
    expect(upstream.asked.map((headers) => headers["x-api-key"])).toEqual([KEY]);
    expect(await world.said(null)).not.toContain(KEY);
  },
);

it("ends a turn that uses up its budget, and says so", async () => {
  await using upstream = await startUpstream();
  await using world = await openRunnerWorld({ remote: "folder" });
  world.env["ANTHROPIC_KEY"] = KEY;
  const project = world.project(asks(50), {
    models: [upstream.model],
    budget: { tokens: 2_500 },
  });
  expect(await world.run(project)).toEqual({
    kind: "failed",
    reason: expect.stringMatching(/budget of 2,500 tokens/),
    cause: "budget",
  });
  expect(upstream.asked.length).toBeLessThan(5);
});

it("counts what earlier attempts of the turn used, and tells what was used while the agent still works", async () => {
  await using upstream = await startUpstream();
  await using world = await openRunnerWorld({ remote: "folder" });
  world.env["ANTHROPIC_KEY"] = KEY;
  const project = world.project(asks(50), {
    models: [upstream.model],
    budget: { tokens: 2_500 },
  });
  const usedBefore = { inputTokens: 800, outputTokens: 200, cachedInputTokens: 0, calls: 1, costUsd: null };
  const result = await world.run(project, { usedBefore });
  expect(result).toEqual({
    kind: "failed",
    reason: expect.stringMatching(/budget of 2,500 tokens/),
    cause: "budget",
  });
  expect(upstream.asked).toHaveLength(2);
  expect(world.told("usage").slice(0, 2)).toMatchObject([{ calls: 1 }, { calls: 2 }]);
});

it("lets an agent reach the hosts that the settings name, and no other", async () => {
  await using upstream = await startUpstream();
  await using world = await openRunnerWorld({ remote: "folder" });
  const agent = inlineAgent(`
    const { execFileSync } = await import("node:child_process");
    const tell = (url) => {
      try { return execFileSync("curl", ["--silent", "--noproxy", "", "--max-time", "5", "--write-out", "%{http_code}", "--output", "/dev/null", url]).toString(); }
      catch (error) { return String(error.stdout); }
    };
    fs.writeFileSync("docs/report.md", JSON.stringify([tell("${upstream.url}/"), tell("http://127.0.0.1:1/"), tell("http://example.com/")]));
  `);
  await world.run(world.project(agent, { network: { allow: [upstream.host], maxBytes: 1_000_000 } }));
  expect(JSON.parse(await world.show("docs/report.md"))).toEqual(["200", "403", "403"]);
});

/** An agent that fails with what the model said, in its own words and again on its standard error. */
const failing = inlineAgent(`
  const { createInterface } = await import("node:readline");
  const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method } = JSON.parse(line);
    if (method === "initialize") send({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
    if (method === "session/new") send({ id, result: { sessionId: "s" } });
    if (method !== "session/prompt") continue;
    const answer = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", {
      method: "POST",
      headers: { "x-api-key": process.env.ANTHROPIC_API_KEY, "content-type": "application/json" },
      body: JSON.stringify({ model: "claude-test", max_tokens: 10, messages: [] }),
    });
    const { message } = JSON.parse(await answer.text()).error;
    console.error("Error handling request { message: '" + message + "' }");
    send({ id, error: { code: -32603, message: "Internal error: " + message } });
  }
`);

it.each([
  {
    what: "refuses the key",
    status: 401,
    step: "Waiting for the model",
    reason: "The model provider refused the service's key.",
    advice: "Set ANTHROPIC_KEY to a valid key (models: claude).",
  },
  {
    what: "can't be reached",
    status: null,
    step: "The model can't be reached (ECONNREFUSED)",
    reason: "The model provider can't be reached.",
    advice: /^Can't reach http:.* \(ECONNREFUSED\)\. Check the network and baseUrl \(models: claude\)\.$/,
  },
  {
    what: "doesn't know the model",
    status: 404,
    step: "Waiting for the model",
    reason: "The model provider doesn't know the model.",
    advice: /^It answered 404 for claude-test\. Set agent\.model to a model it has/,
  },
])("gives people the reason when the model provider $what, and the operator the advice", async (given) => {
  const { status, step, reason, advice } = given;
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status ?? 200, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: "No such thing" } }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = address === null || typeof address === "string" ? 0 : address.port;
  if (status === null) server.close();
  await using world = await openRunnerWorld({ remote: "folder" });
  world.env["ANTHROPIC_KEY"] = KEY;
  const baseUrl = `http://127.0.0.1:${port}`;
  const project = {
    ...world.acpProject(failing),
    models: [
      {
        name: "claude",
        kind: "anthropic" as const,
        baseUrl,
        keyEnv: "ANTHROPIC_KEY",
        prices: {},
        allow: ALLOW,
      },
    ],
  };
  const result = await world.run(project);
  server.close();
  expect(result).toEqual({
    kind: "failed",
    reason,
    // What the agent wrote says no more than its own failure.
    details: [
      typeof advice === "string" ? advice : expect.stringMatching(advice),
      expect.stringMatching(/^The agent failed: .*[^.]\.$/),
    ],
  });
  expect(world.told("step")).toContain(step);
});

/** An agent that calls a model for each of these statuses of its answer, changes nothing, and ends as if all were well. */
const giving = (statuses: number[]) =>
  inlineAgent(`
    for (const status of ${JSON.stringify(statuses)}) {
      await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", {
        method: "POST",
        headers: { "x-api-key": process.env.ANTHROPIC_API_KEY, "content-type": "application/json" },
        body: JSON.stringify({ model: "status-" + status, max_tokens: 10, messages: [] }),
      });
    }
    console.log("Nothing to do.");
  `);

it.each([
  { statuses: [200, 401], isFailure: true },
  { statuses: [403], isFailure: true },
  { statuses: [401, 200], isFailure: false },
])("tells no refused key as a turn without changes: $statuses", async ({ statuses, isFailure }) => {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      const status = Number(/status-(\d+)/.exec(body)?.[1]);
      response.writeHead(status, { "content-type": "application/json" }).end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = address === null || typeof address === "string" ? 0 : address.port;
  await using world = await openRunnerWorld({ remote: "folder" });
  world.env["ANTHROPIC_KEY"] = KEY;
  const baseUrl = `http://127.0.0.1:${port}`;
  const result = await world.run(
    world.project(giving(statuses), {
      models: [
        { name: "claude", kind: "anthropic", baseUrl, keyEnv: "ANTHROPIC_KEY", prices: {}, allow: ALLOW },
      ],
    }),
  );
  server.close();
  expect(result).toEqual(
    isFailure
      ? {
          kind: "failed",
          reason: "The model provider refused the service's key.",
          details: ["Set ANTHROPIC_KEY to a valid key (models: claude).", "The agent said: Nothing to do."],
        }
      : {
          kind: "no-changes",
          summary: "Nothing to do.",
          reason: null,
          leftOut: [],
          context: [],
          notes: [],
        },
  );
});
