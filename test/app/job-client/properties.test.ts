// @module-tag all

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openClient } from "../../support/job-service-client.ts";
import { startRawServer, startTcpServer } from "../../../world/job-service/raw.ts";
import { DEFAULT_API_KEY } from "../../../world/job-service/side.ts";
import { KnownJob } from "../../../src/app/rules/known-job.ts";

const Answer = z.discriminatedUnion("ok", [
  z.strictObject({
    ok: z.literal(true),
    honorsIdempotencyKeys: z.boolean(),
    level: z.literal([0, 1]),
    job: z.strictObject(KnownJob.shape),
    report: z.strictObject({
      turns: z.array(z.unknown()).nullable(),
      questions: z.array(z.unknown()).nullable(),
    }),
  }),
  z.strictObject({
    ok: z.literal(false),
    honorsIdempotencyKeys: z.boolean(),
    level: z.literal([0, 1]),
    fault: z.strictObject({
      kind: z.enum(["not-created", "unknown", "rejected", "missing", "contract"]),
      status: z.int().min(200).max(599).optional(),
      retryAfterMs: z.number().min(0).max(3_600_000).optional(),
      said: z.string().min(1).max(300).optional(),
      message: z.string().min(1),
    }),
  }),
]);

const MARK = "words-of-a-person";
const id = fc.string({ unit: "binary", maxLength: 400 });
const text = fc.oneof(
  id,
  fc.string().map((around) => `${around}${DEFAULT_API_KEY}${around}`),
  fc.string().map((around) => `${around}${MARK}${around}`),
);
const maybe = fc.constantFrom(undefined, null, "", 7, {}, "acme/docs");
const nearlyRecord = fc.record({
  id: fc.oneof(text, maybe),
  status: fc.oneof(fc.constantFrom("active", "completed", "archived", "failed"), maybe),
  source: fc.oneof(maybe, fc.record({ repository: maybe, ref: maybe })),
  model: maybe,
  prLink: fc.oneof(maybe, fc.webUrl()),
});
const body = fc.oneof(
  text,
  fc.json(),
  nearlyRecord.map((record) => JSON.stringify(record)),
  fc.record({ error: fc.oneof(text, maybe) }).map((error) => JSON.stringify(error)),
);
const retryAfter = fc.oneof(
  fc.nat().map(String),
  fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
  fc.stringMatching(/^[ -~]{0,30}$/),
);
const encodings = fc.oneof(
  { weight: 4, arbitrary: fc.constant("") },
  fc.constantFrom("gzip", "br", "deflate"),
  fc.stringMatching(/^[a-z, ]{0,20}$/),
);

describe("whatever a service answers", () => {
  it("is a job, or a fault that holds no key and whose message quotes nobody", async () => {
    let next = { status: 200, body: "", retryAfter: "", encoding: "" };
    await using server = await startRawServer((_request, response) => {
      const headers = { "retry-after": next.retryAfter, "content-encoding": next.encoding };
      response.writeHead(next.status, headers).end(next.body);
    });
    await using client = openClient({ baseUrl: server.baseUrl });
    const statuses = fc.oneof(fc.constantFrom(200, 201, 429, 503), fc.integer({ min: 200, max: 599 }));
    await fc.assert(
      fc.asyncProperty(
        statuses,
        body,
        retryAfter,
        id,
        encodings,
        async (status, sent, wait, jobId, encoding) => {
          next = { status, body: sent, retryAfter: wait, encoding };
          const asked = server.requests.length;
          const answers = [
            await client.createJob("Fix it", "turn-1"),
            await client.getJob(jobId),
            await client.sendMessage(jobId, "Go on", "turn-2"),
          ];
          expect(server.requests.length - asked).toBe(answers.length);
          for (const answer of answers) {
            expect(Answer.parse(answer)).toEqual(answer);
            expect(answer.ok && status >= 300).toBe(false);
            expect(answer.ok ? "" : JSON.stringify(answer.fault)).not.toContain(DEFAULT_API_KEY);
            expect(answer.ok ? "" : answer.fault.message).not.toContain(MARK);
          }
        },
      ),
    );
  });

  it("is a fault when it is no HTTP answer to speak of", async () => {
    let next = "";
    await using server = await startTcpServer((socket) => {
      socket.once("data", () => socket.end(Buffer.from(next, "latin1")));
    });
    await using client = openClient({ baseUrl: `http://127.0.0.1:${server.port}`, timeoutMs: 500 });
    const lines = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string().map((rest) => `HTTP/1.1 ${rest}`),
      fc
        .tuple(fc.nat(1_000), fc.string())
        .map(([status, rest]) => `HTTP/1.1 ${status} X\r\n${rest}\r\n\r\n{}`),
    );
    await fc.assert(
      fc.asyncProperty(lines, async (line) => {
        next = line;
        const answer = await client.createJob("Fix it", "turn-1");
        expect(answer.ok).toBe(false);
      }),
    );
  });
});
