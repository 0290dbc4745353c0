import { describe, expect, it } from "vitest";
import type { JobServiceFault } from "../../../src/app/rules/ports/job-service.ts";
import { openClient, OPERATIONS } from "../../support/job-service-client.ts";
import { startRawServer } from "../../../world/job-service/raw.ts";
import { startJobServiceSide } from "../../../world/job-service/side.ts";
import { ServiceUnderTest } from "../../support/service-under-test.ts";

describe("whether the service honors idempotency keys", () => {
  it.each([
    ["nothing", undefined, false],
    ["level 1", "docs-agent/1", true],
    ["idempotency-key", "idempotency-key", true],
    ["it in capitals, among others", "turns , Idempotency-KEY", true],
    ["it on a second line", ["turns", "idempotency-key"], true],
    ["something else", "idempotency-keys, idempotency", false],
    ["an empty value", "", false],
  ])("is read from each answer that announces %s", async (_name, header, honors) => {
    await using server = await startRawServer((_request, response) => {
      if (header !== undefined) response.setHeader("Docs-Agent-Capabilities", header);
      response.end('{"id":"job_1","status":"active"}');
    });
    await using client = openClient({ baseUrl: server.baseUrl });
    for (const [, call] of OPERATIONS) {
      expect(await call(client)).toMatchObject({ ok: true, honorsIdempotencyKeys: honors });
    }
  });

  it("is read from refusals and from answers that cannot be read, too", async () => {
    let body = '{"error":"no"}';
    let status = 500;
    await using server = await startRawServer((_request, response) => {
      response.writeHead(status, { "docs-agent-capabilities": "idempotency-key" }).end(body);
    });
    await using client = openClient({ baseUrl: server.baseUrl });
    const seen: [JobServiceFault["kind"], boolean][] = [];
    for ([status, body] of [
      [500, body],
      [503, "<html>"],
      [201, "{"],
      [201, "{}"],
    ] as const) {
      const answer = await client.createJob("Fix it", "turn-1");
      if (!answer.ok) seen.push([answer.fault.kind, answer.honorsIdempotencyKeys]);
    }
    expect(seen).toEqual([
      ["unknown", true],
      ["unknown", true],
      ["unknown", true],
      ["contract", true],
    ]);
  });

  it("is known from the project's setting, also when there is no answer", async () => {
    await using side = await startJobServiceSide();
    await using told = openClient({ baseUrl: side.baseUrl, idempotencyKeys: true });
    await using client = openClient({ baseUrl: side.baseUrl });
    expect(await told.createJob("Fix it", "turn-1")).toMatchObject({ honorsIdempotencyKeys: true });
    side.faults.add({ op: "*", fault: { kind: "drop-after" } });
    expect(await told.createJob("Fix it", "turn-1")).toMatchObject({ honorsIdempotencyKeys: true });
    expect(await client.createJob("Fix it", "turn-1")).toMatchObject({ honorsIdempotencyKeys: false });
  });
});

describe("a create whose answer was lost", () => {
  it("can be sent again to a stand-in that honors keys", async () => {
    await using side = await startJobServiceSide({ idempotencyKeys: true });
    await using client = openClient({ baseUrl: side.baseUrl });
    side.faults.add({ op: "*", times: 1, fault: { kind: "drop-after" } });
    expect(await client.createJob("Fix it", "turn-1")).toMatchObject({ fault: { kind: "unknown" } });
    const again = { ok: true, honorsIdempotencyKeys: true, job: { id: "job_1" } };
    expect(await client.createJob("Fix it", "turn-1")).toMatchObject(again);
    expect(side.creates).toHaveLength(1);
    await client.sendMessage("job_1", "Go on", "turn-2");
    await client.sendMessage("job_1", "Go on", "turn-2");
    expect(side.messages).toHaveLength(1);
  });

  it("can be sent again to the self-hosted service, which says so", async () => {
    await using subject = await ServiceUnderTest.start();
    const client = subject.client();
    const first = await client.createJob("Fix it", "turn-1");
    expect(first).toMatchObject({ ok: true, honorsIdempotencyKeys: true });
    const again = await client.createJob("Fix it", "turn-1");
    expect(again).toMatchObject({ ok: true, job: first.ok ? first.job : null });
    const refused = await subject.client("docs", "docsagent_wrong").createJob("Fix it", "turn-2");
    expect(refused).toMatchObject({ ok: false, honorsIdempotencyKeys: true, fault: { status: 401 } });
  });
});
