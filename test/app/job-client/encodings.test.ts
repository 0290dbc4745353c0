// @module-tag all

import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { JobServiceAnswer } from "../../../src/app/rules/ports/job-service.ts";
import { faultOf, openClient, OPERATIONS } from "../../support/job-service-client.ts";
import { startRawServer } from "../../../world/job-service/raw.ts";
import { startJobServiceSide } from "../../../world/job-service/side.ts";

const RECORD = JSON.stringify({ id: "job_1", status: "active" });

async function answered(body: Buffer, encoding: string, status = 201): Promise<JobServiceAnswer> {
  await using server = await startRawServer((_request, response) => {
    response.writeHead(status, { "content-encoding": encoding }).end(body);
  });
  await using client = openClient({ baseUrl: server.baseUrl });
  return client.createJob("Fix it", "turn-1");
}

describe("a compressed answer", () => {
  it.each(["gzip", "deflate", "br"] as const)("is read: %s", async (encoding) => {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    side.faults.add({ op: "*", fault: { kind: "encoded", encoding } });
    for (const [, call] of OPERATIONS) expect(await call(client)).toMatchObject({ ok: true });
    expect(side.creates).toHaveLength(1);
  });

  it.each([
    ["X-GZIP", gzipSync(RECORD)],
    ["zstd", zstdCompressSync(RECORD)],
    ["identity", Buffer.from(RECORD)],
    ["gzip", Buffer.concat([gzipSync(RECORD.slice(0, 9)), gzipSync(RECORD.slice(9))])],
  ])("is read: %s", async (encoding, body) => {
    expect(await answered(body, encoding)).toMatchObject({ ok: true, job: { id: "job_1" } });
  });

  it("is not asked for", async () => {
    await using server = await startRawServer((_request, response) => response.end(RECORD));
    await using client = openClient({ baseUrl: server.baseUrl });
    await client.getJob("job_1");
    expect(server.requests[0]?.headers["accept-encoding"]).toBe("identity");
  });

  it("of a refusal is read too", async () => {
    const refusal = gzipSync('{"error":"too vague"}');
    expect(faultOf(await answered(refusal, "gzip", 400))).toMatchObject({
      kind: "rejected",
      said: "too vague",
    });
    expect(faultOf(await answered(refusal, "gzip", 503)).kind).toBe("not-created");
  });

  it.each([
    ["cut off", gzipSync(RECORD).subarray(0, -9), "gzip"],
    ["something else", Buffer.from(RECORD), "gzip"],
    ["in an unknown encoding", Buffer.from(RECORD), "compress"],
    ["in an encoding that is a word of the language", Buffer.from(RECORD), "constructor"],
    ["in two encodings", gzipSync(gzipSync(Buffer.alloc(300_000_000), { level: 1 })), "gzip, gzip"],
  ])("that is %s leaves the create unknown", async (_name, body, encoding) => {
    const fault = faultOf(await answered(body, encoding));
    expect(fault).toMatchObject({ kind: "unknown", status: 201 });
    expect(fault.message).not.toContain("compress)");
  });

  it("without a byte is an empty answer", async () => {
    expect(faultOf(await answered(Buffer.alloc(0), "gzip"))).toMatchObject({ kind: "unknown", status: 201 });
  });

  it.each([
    ["at once", gzipSync(Buffer.alloc(1_048_577, 0x20)), "gzip"],
    ["by brotli", brotliCompressSync(Buffer.alloc(30_000_000)), "br"],
  ])("is unpacked to 1 MiB and no further: %s", async (_name, bomb, encoding) => {
    expect(bomb.length).toBeLessThan(1_048_576);
    const fault = faultOf(await answered(bomb, encoding));
    expect(fault).toMatchObject({ kind: "unknown", status: 201 });
    expect(fault.message).toContain("more than 1048576 bytes");
  });
});
