import { describe, expect, it } from "vitest";
import { faultForLog, type JobServiceFault } from "../../../src/app/rules/ports/job-service.ts";
import { faultOf, openClient, OPERATIONS } from "../../support/job-service-client.ts";
import { startRawServer } from "../../../world/job-service/raw.ts";
import { DEFAULT_API_KEY, startJobServiceSide } from "../../../world/job-service/side.ts";

/** By the service itself: with the contract's JSON. */
const KINDS: [JobServiceFault["kind"], number[]][] = [
  ["rejected", [400, 401, 402, 403, 405, 406, 409, 410, 413, 415, 418, 422, 425, 431, 451]],
  ["missing", [404]],
  ["not-created", [429, 503]],
  ["unknown", [408, 499, 500, 501, 502, 504, 505, 507, 520, 599]],
];

describe.each(OPERATIONS)("a %s that the service answers", (_name, call) => {
  it.each(KINDS.flatMap(([kind, statuses]) => statuses.map((status) => [status, kind] as const)))(
    "with %i is %s",
    async (status, kind) => {
      await using side = await startJobServiceSide();
      await using client = openClient({ baseUrl: side.baseUrl });
      side.faults.add({ op: "*", fault: { kind: "status", status } });
      const fault = faultOf(await call(client));
      expect(fault).toMatchObject({ kind, status });
      expect(fault.message).toMatch(/^(GET|POST) \/v2\/agent\/docs\/job/);
      expect(fault.message).toContain(String(status));
      expect(side.calls).toHaveLength(1);
    },
  );
});

describe("Retry-After", () => {
  async function askedToWait(status: number, retryAfter: string | null): Promise<number | undefined> {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    const headers: Record<string, string> = retryAfter === null ? {} : { "retry-after": retryAfter };
    side.faults.add({ op: "create", fault: { kind: "status", status, headers } });
    return faultOf(await client.createJob("Fix it", "turn-1")).retryAfterMs;
  }

  it.each([
    ["30", 30_000],
    ["86400", 3_600_000],
  ])("%j gives the wait, at most one hour", async (header, waitMs) => {
    expect(await askedToWait(429, header)).toBe(waitMs);
    expect(await askedToWait(503, header)).toBe(waitMs);
  });

  it("gives the wait until a date", async () => {
    const waitMs = await askedToWait(429, new Date(Date.now() + 1_800_000).toUTCString());
    expect(waitMs).toBeGreaterThan(1_700_000);
    expect(waitMs).toBeLessThanOrEqual(1_800_000);
  });

  it.each([null, "", "soon", "-5"])("%j gives none", async (header) => {
    expect(await askedToWait(429, header)).toBeUndefined();
  });

  it("is not heeded where the call may have had an effect, or was refused", async () => {
    expect(await askedToWait(500, "30")).toBeUndefined();
    expect(await askedToWait(400, "30")).toBeUndefined();
  });
});

describe("what the service said", () => {
  async function faultFor(status: number, body: string, contentType: string): Promise<JobServiceFault> {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    side.faults.add({ op: "create", fault: { kind: "body", status, body, contentType } });
    return faultOf(await client.createJob("Fix it", "turn-1"));
  }

  function saying(error: unknown): Promise<JobServiceFault> {
    return faultFor(400, JSON.stringify({ error }), "application/json");
  }

  it("is its error text", async () => {
    expect((await saying("  Prompt too long ")).said).toBe("Prompt too long");
  });

  it("is one line without control characters and text direction marks", async () => {
    expect((await saying("one\r\ntwo\u0000\u001b[31m three\u202e four\u2028five\u007f")).said).toBe(
      "one two [31m three  four five",
    );
  });

  it("is at most 300 characters, and never half a character", async () => {
    const { said } = await saying("🦊".repeat(5_000));
    expect(said?.length).toBeLessThanOrEqual(300);
    expect(said?.isWellFormed()).toBe(true);
    expect(said).toMatch(/…$/);
  });

  it.each([
    ["HTML", "<html><h1>Bad gateway</h1></html>", "text/html"],
    ["HTML that claims to be JSON", "<html></html>", "application/json"],
    ["an empty body", "", "application/json"],
    ["a bare string", '"no"', "application/json"],
    ["an error that is no text", '{"error":{"code":4}}', "application/json"],
    ["an empty error", '{"error":" \\n"}', "application/json"],
  ])("is absent for %s", async (_name, body, contentType) => {
    const fault = await faultFor(400, body, contentType);
    expect(fault.kind).toBe("rejected");
    expect(fault).not.toHaveProperty("said");
  });

  it("stays out of the message, and out of what is logged of the fault", async () => {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    const echo = "You asked: reset the password of ana@example.com";
    const headers = { "retry-after": "5", "x-echo": echo };
    for (const status of [400, 401, 403, 404, 429, 500, 503]) {
      side.faults.add({
        op: "*",
        times: 3,
        fault: { kind: "status", status, headers, body: { error: echo } },
      });
      for (const [, call] of OPERATIONS) {
        const fault = faultOf(await call(client));
        expect(fault.said).toBe(echo);
        expect(fault.message).not.toContain("ana@example.com");
        const logged = faultForLog(fault);
        expect(logged).toMatchObject({ kind: fault.kind, status, message: fault.message });
        expect(logged.retryAfterMs).toBe(fault.retryAfterMs);
        expect(JSON.stringify(logged)).not.toContain("ana@example.com");
      }
    }
    for (const body of [`{"id":"job_1","status":"${echo}","${echo}":1}`, `{"id":"${echo}"}`, echo]) {
      side.faults.add({ op: "create", times: 1, fault: { kind: "body-after", status: 201, body } });
      const fault = faultOf(await client.createJob("Fix it", "turn-1"));
      expect(JSON.stringify(fault)).not.toContain("ana@example.com");
    }
  });

  it("never holds the API key, wherever the service puts it", async () => {
    const key = DEFAULT_API_KEY;
    expect((await saying(`Key ${key} is expired, Bearer ${key}`)).said).toBe(
      "Key [redacted] is expired, Bearer [redacted]",
    );
    // Where the cut to 300 characters would go through the key.
    const cut = await saying(`${"x".repeat(290)}${key}`);
    expect(JSON.stringify(cut)).not.toContain(key.slice(0, 8));
  });

  it("never holds the API key when it came in a job id", async () => {
    await using side = await startJobServiceSide();
    for (const apiKey of [DEFAULT_API_KEY, "mint_a/b+c="]) {
      await using client = openClient({ baseUrl: side.baseUrl, apiKey });
      const fault = faultOf(await client.getJob(`${"x".repeat(160)}${apiKey}`));
      expect(fault.message).not.toContain(apiKey.slice(0, 8));
      expect(fault.message).not.toContain(encodeURIComponent(apiKey));
    }
  });
});

describe("redirects", () => {
  it.each([301, 302, 303, 307, 308])(
    "with %i are not followed, so that the key stays with this host",
    async (status) => {
      await using other = await startRawServer((_request, response) => {
        response.end(JSON.stringify({ id: "job_1", status: "active" }));
      });
      await using side = await startJobServiceSide();
      await using client = openClient({ baseUrl: side.baseUrl });
      const headers = { location: `${other.baseUrl}/v2/agent/docs/job` };
      side.faults.add({ op: "*", fault: { kind: "gateway", status, headers } });
      for (const [name, call] of OPERATIONS) {
        const fault = faultOf(await call(client));
        expect(fault).toMatchObject({ kind: name === "get" ? "unknown" : "not-created", status });
        expect(fault.message).toContain("base URL is wrong");
      }
      expect(other.requests).toEqual([]);
    },
  );
});
