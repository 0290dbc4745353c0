import type { Job } from "../../src/core/job.ts";
import type { JobServiceAnswer, JobServiceFault } from "../../src/core/job-service.ts";
import type { Outcome } from "../../src/core/outcome.ts";
import type { QuotedMessage, Request } from "../../src/core/request.ts";
import { newTurn } from "../../src/core/turn.ts";
import type { Turn } from "../../src/core/turn.ts";

/** A request as the command intake makes it. */
export function makeRequest(overrides: Partial<Request> = {}): Request {
  return {
    id: "command:1.2.3",
    from: "command",
    teamId: "T1",
    channelId: "C1",
    threadTs: null,
    userId: "U1",
    project: { service: "https://agents.example", id: "docs", name: "docs" },
    instructions: "Fix the install command",
    quoted: null,
    responseUrl: null,
    receivedAt: 0,
    ...overrides,
  };
}

export function makeTurn(overrides: Partial<Turn> = {}): Turn {
  return { ...newTurn(makeRequest()), ...overrides };
}

export function makeJob(overrides: Partial<Job> = {}): Job {
  return {
    id: "job-1",
    status: "active",
    repository: "acme/docs",
    ref: "docs-agent/job-1",
    model: "model-1",
    prLink: null,
    ...overrides,
  };
}

export function makeOutcome(overrides: Partial<Outcome> = {}): Outcome {
  return {
    kind: "failed",
    reason: null,
    said: null,
    job: makeJob({ status: "failed" }),
    tookMs: 65_000,
    ...overrides,
  };
}

/** A message that was written by somebody else, in the channel of {@link makeRequest}. */
export function makeQuoted(): QuotedMessage {
  return {
    segments: [{ kind: "text", text: "npm instal" }],
    authorId: "U2",
    authorName: null,
    channelId: "C1",
    ts: "1.1",
    threadTs: null,
  };
}

/** A job service's refusal, or no answer at all. */
export function fault(
  kind: JobServiceFault["kind"],
  detail: Partial<JobServiceFault> = {},
): JobServiceAnswer {
  return { ok: false, honorsIdempotencyKeys: false, fault: { kind, message: "fault", ...detail } };
}

/** A job service's answer with the job. */
export function found(job = makeJob()): JobServiceAnswer {
  return { ok: true, honorsIdempotencyKeys: false, job };
}
