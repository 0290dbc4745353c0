// @module-tag all

import { expect, it } from "vitest";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";

it.each([
  ["unknown requests", { jsonrpc: "2.0", id: 1, method: "x" }],
  [
    "known requests",
    {
      jsonrpc: "2.0",
      id: 1,
      method: "session/request_permission",
      params: { sessionId: "s", toolCall: { toolCallId: "t" }, options: [] },
    },
  ],
  ["nonsense", { jsonrpc: "2.0" }],
  ["answers that nobody asked for", { jsonrpc: "2.0", id: 7, result: {} }],
])("ends the turn of an agent that sends %s without end and reads no answer", async (_, message) => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const agent = inlineAgent(`
    const lines = Buffer.from(${JSON.stringify(`${JSON.stringify(message)}\n`)}.repeat(1000));
    try {
      for (let n = 0; n < 1000; n += 1) fs.writeSync(1, lines);
      fs.writeSync(2, "all of it was read");
    } catch {}
    setInterval(() => {}, 1000);
  `);
  const project = world.acpProject(agent, { maxOutputBytes: 1024 ** 3 });
  const result = await world.run(project);
  expect(result).toMatchObject({
    kind: "failed",
    reason: "The agent sent more than 1000 messages without waiting for answers, and was stopped.",
  });
  expect(JSON.stringify(result)).not.toContain("all of it was read");
});

it("ends the turn of an agent whose message is huge, whatever it may write in all", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const agent = inlineAgent(`
    const part = Buffer.alloc(1024 ** 2, "[");
    try { for (let n = 0; n < 64; n += 1) fs.writeSync(1, part); } catch {}
    setInterval(() => {}, 1000);
  `);
  expect(await world.run(world.acpProject(agent, { maxOutputBytes: 1024 ** 3 }))).toMatchObject({
    kind: "failed",
    reason: "The agent sent a message of more than 16 MB, and was stopped.",
  });
});

it("reads long messages as it reads short ones", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const agent = inlineAgent(`
    import { createInterface } from "node:readline";
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    const long = "long ".repeat(20_000);
    const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }, { optionId: "no", name: "No", kind: "reject_once" }];
    const edit = (path) => ({
      toolCallId: path,
      title: "Edit",
      kind: "edit",
      locations: [{ path: process.cwd() + "/README.md" }],
      content: [{ type: "diff", path, oldText: long, newText: long }],
      rawInput: { long },
    });
    const paths = [process.cwd() + "/docs/a.md", "/etc/passwd"];
    const ask = () => send({ id: "ask", method: "session/request_permission", params: { sessionId: "s", toolCall: edit(paths[0]), options } });
    let prompt;
    createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, result } = JSON.parse(line);
      if (method === "initialize") send({ id, result: { protocolVersion: 1, agentCapabilities: {}, _meta: { long } } });
      if (method === "session/new") send({ id, result: { models: { availableModels: [{ modelId: "m", name: long }] }, sessionId: "s" } });
      if (method === "session/prompt") { prompt = id; ask(); }
      if (id !== "ask") return;
      fs.appendFileSync("README.md", paths.shift() + " " + result.outcome.optionId + "\\n");
      if (paths.length > 0) return ask();
      const content = { type: "text", text: "Fixed the page. " + long };
      send({ method: "session/update", params: { sessionId: "s", update: { sessionUpdate: "agent_message_chunk", content } } });
      send({ id: prompt, result: { stopReason: "end_turn" } });
    });
  `);
  const project = world.acpProject(agent, { maxOutputBytes: 16 * 1024 ** 2 });
  const result = await world.run(project);
  expect(result).toMatchObject({
    kind: "pull-request",
    summary: expect.stringMatching(/^Fixed the page\. long long/),
  });
  expect(await world.show("README.md")).toMatch(/docs\/a\.md yes\n\/etc\/passwd no$/);
});

it("is not held up by many updates of a call that names very many files", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const agent = inlineAgent(`
    import { createInterface } from "node:readline";
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    const update = (params) => send({ method: "session/update", params: { sessionId: "s", update: params } });
    createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (method === "initialize") send({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
      if (method === "session/new") send({ id, result: { sessionId: "s" } });
      if (method !== "session/prompt") return;
      const locations = Array.from({ length: 200_000 }, (_, n) => ({ path: "/x/" + n }));
      update({ sessionUpdate: "tool_call", toolCallId: "t", title: "Look", kind: "read", locations });
      for (let n = 0; n < 500; n += 1) {
        update({ sessionUpdate: "tool_call_update", toolCallId: "t", status: "in_progress" });
      }
      fs.appendFileSync("README.md", "more");
      send({ id, result: { stopReason: "end_turn" } });
    });
  `);
  const project = world.acpProject(agent, { maxOutputBytes: 16 * 1024 ** 2 });
  expect(await world.run(project)).toMatchObject({ kind: "pull-request" });
}, 60_000);

/** Asks for something that nobody answers, and is not to be ended by SIGTERM. */
function stubborn(before: string): string[] {
  return inlineAgent(`
    import { createInterface } from "node:readline";
    process.on("SIGTERM", () => {});
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    const toolCall = { toolCallId: "t", title: "Run it", kind: "execute" };
    const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
    createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (method === "initialize") send({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
      if (method === "session/new") send({ id, result: { sessionId: "s" } });
      if (method !== "session/prompt") return;
      ${before}
      send({ id: "ask", method: "session/request_permission", params: { sessionId: "s", toolCall, options } });
    });
    setInterval(() => {}, 1000);
  `);
}

it("ends an agent that writes too much while a person is asked, and that ignores SIGTERM", async () => {
  const clock = new ManualClock();
  await using world = await openRunnerWorld({ clock, containment: "none" });
  const agent = stubborn(`fs.writeFileSync(process.env.HOME + "/much", Buffer.alloc(40_000_000, 1));`);
  const limits = { memoryMegabytes: 4096, processes: 512, diskMegabytes: 16 };
  const result = await world.run(world.acpProject(agent, { permissions: "ask", limits }), {
    ask: () => {
      clock.advance(5_000);
      return new Promise(() => {});
    },
  });
  expect(result).toEqual({
    kind: "failed",
    reason: "The agent wrote more than its limit of 16 MB, and was stopped.",
  });
});

it("lets no agent wait for people for more than a day", async () => {
  const clock = new ManualClock();
  await using world = await openRunnerWorld({ clock });
  const result = await world.run(world.acpProject(stubborn(""), { permissions: "ask" }), {
    ask: () => {
      clock.advance(25 * 60 * 60_000);
      return new Promise(() => {});
    },
  });
  expect(result).toMatchObject({
    kind: "failed",
    reason: "The agent reached its 1-minute limit.",
  });
});
