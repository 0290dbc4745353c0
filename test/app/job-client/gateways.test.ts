// @module-tag all

import { describe, expect, it } from "vitest";
import type { JobServiceFault } from "../../../src/app/rules/ports/job-service.ts";
import { faultOf, openClient, OPERATIONS } from "../../support/job-service-client.ts";
import { startRawServer } from "../../../world/job-service/raw.ts";
import { startJobServiceSide } from "../../../world/job-service/side.ts";

/** What a create or a message is when something in front of the service answers it with a page. A get is always unknown. */
const KINDS: [JobServiceFault["kind"], number[]][] = [
  ["rejected", [400, 401, 403, 413, 422]],
  ["not-created", [300, 301, 302, 303, 304, 307, 308]],
  ["not-created", [402, 404, 405, 406, 407, 409, 410, 415, 418, 421, 425, 431, 451]],
  ["unknown", [408, 429, 499, 500, 501, 502, 503, 504, 520, 530]],
];
const ALL = KINDS.flatMap(([kind, statuses]) => statuses.map((status) => [status, kind] as const));

describe.each(OPERATIONS)("a %s that a gateway answers with a page", (name, call) => {
  it.each(name === "get" ? ALL.map(([status]) => [status, "unknown"] as const) : ALL)(
    "and %i is %s",
    async (status, kind) => {
      await using side = await startJobServiceSide();
      await using client = openClient({ baseUrl: side.baseUrl });
      side.faults.add({ op: "*", fault: { kind: "gateway", status } });
      const fault = faultOf(await call(client));
      expect(fault).toMatchObject({ kind, status });
      expect(fault).not.toHaveProperty("said");
      expect(fault.message).toContain("without the job service's JSON");
      expect(side.calls).toHaveLength(1);
    },
  );
});

describe("what makes a refusal the service's own", () => {
  async function createAnswered(
    status: number,
    body: string,
    headers: Record<string, string> = {},
  ): Promise<JobServiceFault> {
    await using server = await startRawServer((_request, response) => {
      response.writeHead(status, headers).end(body);
    });
    await using client = openClient({ baseUrl: server.baseUrl });
    return faultOf(await client.createJob("Fix it", "turn-1"));
  }

  it.each([
    ["a page", "<html>503</html>"],
    ["nothing", ""],
    ["JSON of another kind", '{"message":"no Route matched with those values"}'],
    ["an error that is no text", '{"error":{"code":503}}'],
    ["a bare text", '"error"'],
  ])("is not %s", async (_name, body) => {
    for (const status of [429, 503]) expect((await createAnswered(status, body)).kind).toBe("unknown");
    expect((await createAnswered(404, body)).kind).toBe("not-created");
  });

  it("is the contract's JSON, whatever type it says it is", async () => {
    const body = '{"error":"try later","code":7}';
    for (const headers of [{}, { "content-type": "text/html" }]) {
      expect((await createAnswered(503, body, headers)).kind).toBe("not-created");
      expect((await createAnswered(404, body, headers)).kind).toBe("missing");
    }
  });

  it("is Retry-After for 429 and 503, if it can be read", async () => {
    const page = "<html>503</html>";
    const asked = await createAnswered(503, page, { "retry-after": "20" });
    expect(asked).toMatchObject({ kind: "not-created", retryAfterMs: 20_000 });
    expect((await createAnswered(503, page, { "retry-after": "soon" })).kind).toBe("unknown");
    // A 404 with it is not about a job all the same.
    expect((await createAnswered(404, page, { "retry-after": "20" })).kind).toBe("not-created");
  });
});

it("a gateway's 503 after the service has taken the create does not bring a second one", async () => {
  await using side = await startJobServiceSide();
  await using client = openClient({ baseUrl: side.baseUrl });
  side.faults.add({ op: "create", fault: { kind: "gateway", status: 503, isReached: true } });
  expect(faultOf(await client.createJob("Fix it", "turn-1")).kind).toBe("unknown");
  expect(side.creates).toHaveLength(1);
});

it.each([
  [401, "the API key is not accepted, check it, the base URL, and what stands in front"],
  [403, "may not do this in this project, check both, the base URL, and what stands in front"],
  [404, "check the base URL, and what stands in front of the service"],
])("a page with %i leaves a remedy in the log", async (status, remedy) => {
  await using side = await startJobServiceSide();
  await using client = openClient({ baseUrl: side.baseUrl });
  side.faults.add({ op: "*", fault: { kind: "gateway", status } });
  for (const [, call] of OPERATIONS) expect(faultOf(await call(client)).message).toContain(remedy);
});

describe("an answer about another job", () => {
  it("breaks the contract for a get and for a message", async () => {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    await client.createJob("Fix it", "turn-1");
    await client.createJob("Fix that", "turn-2");
    side.finish("job_2", { status: "completed", prLink: "https://git.example/acme/docs/pull/7" });
    side.faults.add({ op: "*", fault: { kind: "other-job", id: "job_2" } });
    for (const answer of [await client.getJob("job_1"), await client.sendMessage("job_1", "Go on", "t-3")]) {
      expect(faultOf(answer)).toMatchObject({ kind: "contract", status: 200 });
      expect(faultOf(answer).message).toContain("another job");
      expect(faultOf(answer).message).not.toContain("job_2");
    }
  });

  it("is only another one if its id differs by a character", async () => {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    await client.createJob("Fix it", "turn-1");
    side.faults.add({ op: "get", times: 1, fault: { kind: "other-job", id: "JOB_1" } });
    expect(faultOf(await client.getJob("job_1")).kind).toBe("contract");
    expect(await client.getJob("job_1")).toMatchObject({ ok: true, job: { id: "job_1" } });
  });
});
