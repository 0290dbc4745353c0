import { setTimeout as sleep } from "node:timers/promises";
import { Agent, buildConnector } from "undici";
import { describe, expect, it } from "vitest";
import { exchange } from "../../../src/app/job-client/exchange.ts";
import { faultOf, openClient } from "../../support/job-service-client.ts";
import { startRawServer, startTcpServer } from "../../../world/job-service/raw.ts";
import { startJobServiceSide } from "../../../world/job-service/side.ts";

const RECORD = JSON.stringify({ id: "job_1", status: "active" });
const QUICK_MS = 150;

describe("a create that never left", () => {
  it("is not created when the connection is refused", async () => {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    await side.down();
    const fault = faultOf(await client.createJob("Fix it", "turn-1"));
    expect(fault.kind).toBe("not-created");
    expect(fault.message).toContain("ECONNREFUSED");
    expect(fault.message).toContain(new URL(side.baseUrl).host);
    await side.up();
    expect(await client.createJob("Fix it", "turn-1")).toMatchObject({ ok: true });
    expect(side.creates).toHaveLength(1);
  });

  it("is not created when the host has no address", async () => {
    await using client = openClient({ baseUrl: "https://job-service.invalid", timeoutMs: 2_000 });
    expect(faultOf(await client.createJob("Fix it", "turn-1")).kind).toBe("not-created");
  });

  it("is not created when the server speaks no TLS", async () => {
    await using server = await startRawServer((_request, response) => response.end(RECORD));
    await using client = openClient({ baseUrl: `https://127.0.0.1:${server.port}` });
    expect(faultOf(await client.createJob("Fix it", "turn-1")).kind).toBe("not-created");
    expect(server.requests).toEqual([]);
  });

  it("is not created when the connection is reset during the TLS handshake", async () => {
    await using server = await startTcpServer((socket) =>
      socket.once("data", () => socket.resetAndDestroy()),
    );
    await using client = openClient({ baseUrl: `https://127.0.0.1:${server.port}` });
    const fault = faultOf(await client.createJob("Fix it", "turn-1"));
    expect(fault.kind).toBe("not-created");
    expect(fault.message).toContain("ECONNRESET");
  });

  it("is not created when the TLS handshake takes longer than the timeout", async () => {
    await using server = await startTcpServer(() => undefined);
    await using client = openClient({ baseUrl: `https://127.0.0.1:${server.port}`, timeoutMs: QUICK_MS });
    expect(faultOf(await client.createJob("Fix it", "turn-1")).kind).toBe("not-created");
  });

  it("is not sent late, once it has been reported as not sent", async () => {
    await using server = await startRawServer((_request, response) => response.end(RECORD));
    const connect = buildConnector({});
    const agent = new Agent({ connect: (options, done) => void setTimeout(connect, 200, options, done) });
    const given = await exchange(
      agent,
      { origin: server.baseUrl, path: "/", method: "POST", body: "{}" },
      50,
    );
    expect(given).toMatchObject({ kind: "no-answer", sent: false });
    await sleep(400);
    expect(server.requests).toEqual([]);
    await agent.destroy();
  });
});

describe("a create whose answer is lost", () => {
  it.each(["drop-before", "drop-after"] as const)("is unknown (%s)", async (kind) => {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    side.faults.add({ op: "create", fault: { kind } });
    const fault = faultOf(await client.createJob("Fix it", "turn-1"));
    expect(fault.kind).toBe("unknown");
    expect(fault).not.toHaveProperty("status");
    expect(side.calls).toHaveLength(1);
    expect(side.creates).toHaveLength(kind === "drop-after" ? 1 : 0);
  });

  it("is unknown when the connection is reset", async () => {
    await using server = await startTcpServer((socket) =>
      socket.once("data", () => socket.resetAndDestroy()),
    );
    await using client = openClient({ baseUrl: `http://127.0.0.1:${server.port}` });
    expect(faultOf(await client.createJob("Fix it", "turn-1")).kind).toBe("unknown");
  });

  it("is unknown when what comes back is not HTTP", async () => {
    await using server = await startTcpServer((socket) =>
      socket.once("data", () => socket.end("SSH-2.0-x\r\n")),
    );
    await using client = openClient({ baseUrl: `http://127.0.0.1:${server.port}` });
    expect(faultOf(await client.createJob("Fix it", "turn-1")).kind).toBe("unknown");
  });

  it.each(["hang-before", "hang-after"] as const)("is unknown after the timeout (%s)", async (kind) => {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl, timeoutMs: QUICK_MS });
    side.faults.add({ op: "create", fault: { kind } });
    const startedAt = performance.now();
    const fault = faultOf(await client.createJob("Fix it", "turn-1"));
    expect(fault.kind).toBe("unknown");
    expect(fault.message).toContain(`${QUICK_MS} ms`);
    expect(performance.now() - startedAt).toBeLessThan(QUICK_MS + 1_000);
  });

  it("is unknown when the answer trickles in past the timeout", async () => {
    await using server = await startRawServer((_request, response) => {
      response.writeHead(201, { "content-type": "application/json" });
      const trickle = setInterval(() => response.write(" "), 20);
      response.on("close", () => clearInterval(trickle));
    });
    await using client = openClient({ baseUrl: server.baseUrl, timeoutMs: QUICK_MS });
    expect(faultOf(await client.createJob("Fix it", "turn-1"))).toMatchObject({
      kind: "unknown",
      status: 201,
    });
  });

  it("is unknown when the answer is cut off", async () => {
    await using server = await startRawServer((_request, response) => {
      response.writeHead(201, { "content-type": "application/json", "content-length": RECORD.length + 50 });
      response.write(RECORD, () => response.destroy());
    });
    await using client = openClient({ baseUrl: server.baseUrl });
    expect(faultOf(await client.createJob("Fix it", "turn-1"))).toMatchObject({
      kind: "unknown",
      status: 201,
    });
  });

  it("is unknown when the answer is over 1 MiB, of which no more is read", async () => {
    let written = 0;
    await using server = await startRawServer((_request, response) => {
      response.writeHead(201, { "content-type": "application/json" });
      const chunk = "x".repeat(65_536);
      function fill(): void {
        while (!response.destroyed && response.write(chunk)) written += chunk.length;
      }
      response.on("drain", fill);
      fill();
    });
    await using client = openClient({ baseUrl: server.baseUrl });
    const fault = faultOf(await client.createJob("Fix it", "turn-1"));
    expect(fault).toMatchObject({ kind: "unknown", status: 201 });
    expect(fault.message).toContain("1048576 bytes");
    await sleep(50);
    expect(written).toBeLessThan(64 * 1_048_576);
  });

  it.each([
    ["a proxy's HTML", "<html>OK</html>"],
    ["an empty body", ""],
    ["half a record", RECORD.slice(0, 10)],
  ])("is unknown when the answer is %s", async (_name, body) => {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    side.faults.add({ op: "create", fault: { kind: "body-after", status: 201, body } });
    expect(faultOf(await client.createJob("Fix it", "turn-1"))).toMatchObject({
      kind: "unknown",
      status: 201,
    });
    expect(side.creates).toHaveLength(1);
  });

  it("is unknown when the answer has no content", async () => {
    await using server = await startRawServer((_request, response) => response.writeHead(204).end());
    await using client = openClient({ baseUrl: server.baseUrl });
    expect(faultOf(await client.createJob("Fix it", "turn-1"))).toMatchObject({
      kind: "unknown",
      status: 204,
    });
  });
});

describe("an answer whose status is known", () => {
  it("counts by its status, even if its body never ends", async () => {
    await using server = await startRawServer((_request, response) => {
      response.writeHead(503, { "retry-after": "7" }).write("<html>");
    });
    await using client = openClient({ baseUrl: server.baseUrl, timeoutMs: QUICK_MS });
    expect(faultOf(await client.createJob("Fix it", "turn-1"))).toMatchObject({
      kind: "not-created",
      status: 503,
      retryAfterMs: 7_000,
    });
  });

  it("is not an early hint", async () => {
    await using server = await startRawServer((_request, response) => {
      response.writeEarlyHints({ link: "</style.css>; rel=preload" });
      response.writeHead(201, { "content-type": "application/json" }).end(RECORD);
    });
    await using client = openClient({ baseUrl: server.baseUrl });
    expect(await client.createJob("Fix it", "turn-1")).toMatchObject({ ok: true, job: { id: "job_1" } });
  });

  it("is not an early hint that nothing follows", async () => {
    await using server = await startRawServer((_request, response) => {
      response.writeEarlyHints({ link: "</style.css>; rel=preload" }, () => response.destroy());
    });
    await using client = openClient({ baseUrl: server.baseUrl });
    const fault = faultOf(await client.createJob("Fix it", "turn-1"));
    expect(fault.kind).toBe("unknown");
    expect(fault).not.toHaveProperty("status");
  });
});

describe("polling a service that comes and goes", () => {
  it("gives faults while it is down and jobs when it is back", async () => {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    await client.createJob("Fix it", "turn-1");
    expect(await client.getJob("job_1")).toMatchObject({ ok: true });
    await side.down();
    expect(await client.getJob("job_1")).toMatchObject({ ok: false });
    expect(faultOf(await client.getJob("job_1")).kind).toBe("not-created");
    await side.up();
    expect(await client.getJob("job_1")).toMatchObject({ ok: true });
  });
});
