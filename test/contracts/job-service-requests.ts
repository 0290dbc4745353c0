import { ContractJob } from "../../src/shared/contract/job.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { z } from "zod";
import type { AgentQuestion } from "../../src/service/runner/runner.ts";
import type { QuestionAnswer } from "../../src/shared/contract/question.ts";

/** A service of the contract, for the conformance suites to call over HTTP. */
export type JobServiceServer = AsyncDisposable & {
  /** The address, without /v2 and without a slash at the end. */
  baseUrl: string;
  projectId: string;
  key: string;
  /** Another project of the same service, with its own key. */
  other: { projectId: string; key: string };
  /** True if the service honors `Idempotency-Key`, which the contract leaves open. */
  honorsIdempotencyKeys: boolean;
  /** Makes the job's current turn end this way, at once or soon. */
  endTurn(jobId: string, how: "pull-request" | "no-changes" | "failed"): Promise<void>;
  /** Archives the job. Null if the service can't do that. */
  archive: ((jobId: string) => Promise<void>) | null;
  /**
   * Has the agent of the job's current turn ask this. Resolves to the answer that it gets. Null if
   * no agent can ask.
   */
  ask: ((jobId: string, question: AgentQuestion) => Promise<QuestionAnswer | null>) | null;
};

/** A request. `key: null` sends no key. */
export type Sent = {
  method?: string;
  path: string;
  key?: string | null;
  body?: string;
  headers?: Record<string, string>;
};
/** An answer of the service. */
export type Answer = { status: number; headers: Headers; json: unknown };

/** The format of the contract's times. */
export const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;
const SETTLE_TIMEOUT_MS = 15_000;
const StrictErrorBody = z.strictObject({ error: z.string().min(1) });
const StrictJobRecord = ContractJob.strict().extend({
  createdAt: z.string().regex(TIMESTAMP),
  archivedAt: z.string().regex(TIMESTAMP).nullable(),
});

/** Returns the path of the project's jobs. */
export function jobsOf({ projectId }: JobServiceServer): string {
  return `/v2/agent/${projectId}/job`;
}

/** Creates a job. */
export function create(server: JobServiceServer, prompt: string, headers = {}): Promise<Answer> {
  return send(server, { path: jobsOf(server), body: JSON.stringify({ prompt }), headers });
}

/** Reads a job. */
export function get(server: JobServiceServer, id: string): Promise<Answer> {
  return send(server, { path: `${jobsOf(server)}/${id}` });
}

/** Sends a follow-up message. */
export function message(server: JobServiceServer, id: string, prompt: string): Promise<Answer> {
  return send(server, { path: `${jobsOf(server)}/${id}/message`, body: JSON.stringify({ prompt }) });
}

/** Sends one request. Every answer must be JSON, whatever its status. */
export async function send(server: JobServiceServer, sent: Sent): Promise<Answer> {
  const { path, key = server.key, body, headers } = sent;
  const response = await fetch(`${server.baseUrl}${path}`, {
    method: sent.method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  expect(response.headers.get("content-type")).toMatch(/^application\/json\b/);
  return { status: response.status, headers: response.headers, json: await response.json() };
}

/** Returns a job that must have the contract's fields and no others. */
export function recordOf(json: unknown): z.input<typeof ContractJob> {
  return StrictJobRecord.parse(json);
}

/** Returns the `error` text of an answer that must be a refusal with this status. */
export function faultOf({ status, json }: Answer, want: number): string {
  expect({ status, json }).toMatchObject({ status: want });
  return StrictErrorBody.parse(json).error;
}

/** Resolves to the job once it has this status. */
export async function settled(
  server: JobServiceServer,
  jobId: string,
  status: z.input<typeof ContractJob>["status"],
): Promise<z.input<typeof ContractJob>> {
  const giveUpAt = performance.now() + SETTLE_TIMEOUT_MS;
  for (;;) {
    const job = recordOf((await get(server, jobId)).json);
    if (job.status === status) return job;
    if (performance.now() > giveUpAt) throw new Error(`Job ${jobId} is ${job.status}, not ${status}`);
    await sleep(20);
  }
}
