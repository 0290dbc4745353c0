import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { openClient } from "../../support/job-service-client.ts";
import { startRawServer, type RawServer } from "../../../world/job-service/raw.ts";
import { DEFAULT_API_KEY, startJobServiceSide } from "../../../world/job-service/side.ts";

/** Takes everything; a job has the id that it was asked for, a new one is job_1. */
function startEchoServer(jobId?: string): Promise<RawServer> {
  return startRawServer((request, response) => {
    const [, asked] = /\/job\/([^/]+)/.exec(request.url ?? "") ?? [];
    const id = jobId ?? (asked === undefined ? "job_1" : decodeURIComponent(asked));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ id, status: "active" }));
  });
}

describe("what the client sends", () => {
  it("creates with the key, the prompt and the idempotency key", async () => {
    await using server = await startEchoServer();
    await using client = openClient({ baseUrl: server.baseUrl, projectId: "docs", apiKey: "mint_abc" });
    await client.createJob("Fix it", "turn-1");
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]).toMatchObject({
      method: "POST",
      url: "/v2/agent/docs/job",
      body: '{"prompt":"Fix it"}',
      headers: {
        authorization: "Bearer mint_abc",
        "content-type": "application/json",
        accept: "application/json",
        "idempotency-key": "turn-1",
        "content-length": "19",
      },
    });
  });

  it("sends a follow-up to the job", async () => {
    await using server = await startEchoServer();
    await using client = openClient({ baseUrl: server.baseUrl });
    await client.sendMessage("job_1", "Go on", "turn-2");
    expect(server.requests[0]).toMatchObject({
      method: "POST",
      url: "/v2/agent/docs/job/job_1/message",
      body: '{"prompt":"Go on"}',
      headers: { authorization: `Bearer ${DEFAULT_API_KEY}`, "idempotency-key": "turn-2" },
    });
  });

  it("polls without a body or an idempotency key", async () => {
    await using server = await startEchoServer();
    await using client = openClient({ baseUrl: server.baseUrl });
    await client.getJob("job_1");
    const [poll] = server.requests;
    expect(poll).toMatchObject({ method: "GET", url: "/v2/agent/docs/job/job_1", body: "" });
    expect(poll?.headers).toMatchObject({
      authorization: `Bearer ${DEFAULT_API_KEY}`,
      accept: "application/json",
    });
    expect(Object.keys(poll?.headers ?? {})).not.toEqual(
      expect.arrayContaining(["content-type", "idempotency-key"]),
    );
  });

  it("names this program and its version", async () => {
    const { name, version } = JSON.parse(
      readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
    ) as { name: string; version: string };
    await using server = await startEchoServer();
    await using client = openClient({ baseUrl: server.baseUrl });
    await client.getJob("job_1");
    expect(server.requests[0]?.headers["user-agent"]).toBe(`${name}/${version}`);
  });

  it.each(["", "/", "/agents", "/agents/", "/agents/v1//"])(
    "accepts a base URL that ends in %j",
    async (path) => {
      await using server = await startEchoServer();
      await using client = openClient({ baseUrl: server.baseUrl + path });
      await client.createJob("Fix it", "turn-1");
      expect(server.requests[0]?.url).toBe(`${path.replace(/\/+$/, "")}/v2/agent/docs/job`);
    },
  );

  it("leaves credentials, query and fragment of the base URL out", async () => {
    await using server = await startEchoServer();
    await using client = openClient({
      baseUrl: `http://user:secret@127.0.0.1:${server.port}/base?token=secret#secret`,
    });
    await client.getJob("job_1");
    expect(server.requests[0]?.url).toBe("/base/v2/agent/docs/job/job_1");
    expect(JSON.stringify(server.requests[0])).not.toContain("secret");
  });

  it.each(["a/b", "../x", "a b", "ä?#%", "🦊", "job\r\nX: y"])(
    "keeps project %j and a job of that name inside their path segments",
    async (name) => {
      await using server = await startEchoServer();
      await using client = openClient({ baseUrl: server.baseUrl, projectId: name });
      expect(await client.sendMessage(name, "Go on", "turn-1")).toMatchObject({ ok: true });
      const segment = encodeURIComponent(name);
      expect(server.requests[0]?.url).toBe(`/v2/agent/${segment}/job/${segment}/message`);
    },
  );

  it("asks for a job whose id is no well-formed text, and does not throw", async () => {
    await using server = await startEchoServer("job\ud800");
    await using client = openClient({ baseUrl: server.baseUrl });
    expect(await client.getJob("job\ud800")).toMatchObject({ ok: true });
    expect(server.requests[0]?.url).toBe(`/v2/agent/docs/job/job${encodeURIComponent("\ufffd")}`);
  });

  it("sends nothing when key or idempotency key cannot stand in a header, and says which", async () => {
    await using server = await startEchoServer();
    await using client = openClient({ baseUrl: server.baseUrl, apiKey: "mint_a\nb" });
    const create = await client.createJob("Fix it", "turn-1");
    expect(create).toMatchObject({ ok: false, fault: { kind: "rejected" } });
    expect(JSON.stringify(create)).toContain("authorization");
    expect(JSON.stringify(create)).not.toContain("mint_a");
    await using fine = openClient({ baseUrl: server.baseUrl });
    expect(await fine.createJob("Fix it", "a\nb")).toMatchObject({
      ok: false,
      fault: { kind: "rejected" },
    });
    expect(server.requests).toEqual([]);
  });
});

describe("connections", () => {
  it("keeps one connection for polls", async () => {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    await client.createJob("Fix it", "turn-1");
    const before = side.connections;
    for (let poll = 0; poll < 10; poll += 1) {
      await client.getJob("job_1");
      await sleep(5);
    }
    expect(side.gets).toHaveLength(10);
    expect(side.connections - before).toBe(1);
  });

  it("opens a fresh connection for each create and each message", async () => {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    for (let turn = 0; turn < 3; turn += 1) await client.createJob("Fix it", `turn-${turn}`);
    await client.sendMessage("job_1", "Go on", "turn-3");
    expect(side.connections).toBe(4);
  });

  it("runs many calls at once, each on a connection of its own", async () => {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, turn) => client.createJob(`Fix ${turn}`, `turn-${turn}`)),
    );
    expect(answers.every((answer) => answer.ok)).toBe(true);
    expect(new Set(side.creates.map((create) => create.prompt)).size).toBe(50);
    expect(side.connections).toBe(50);
  });

  it("closes once, finishes what is under way, and gives faults afterwards", async () => {
    await using side = await startJobServiceSide();
    const client = openClient({ baseUrl: side.baseUrl });
    side.faults.add({ op: "create", fault: { kind: "slow", ms: 100 } });
    const create = client.createJob("Fix it", "turn-1");
    await Promise.all([client.close(), client.close()]);
    await client.close();
    expect(await create).toMatchObject({ ok: true });
    expect(await client.createJob("Fix it", "turn-2")).toMatchObject({
      ok: false,
      fault: { kind: "not-created" },
    });
    expect(side.creates).toHaveLength(1);
  });
});
