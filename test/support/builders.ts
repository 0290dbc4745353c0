import type { KnownJob, KnownPullRequest, KnownTurn } from "../../src/app/rules/known-job.ts";
import type { JobServiceAnswer, JobServiceFault } from "../../src/app/rules/ports/job-service.ts";
import type { Outcome } from "../../src/app/rules/turn/outcome.ts";
import type { QuotedMessage, Request } from "../../src/app/rules/turn/request.ts";
import { newTurn } from "../../src/app/rules/turn/turn.ts";
import type { Turn } from "../../src/app/rules/turn/turn.ts";

/** A request as the intake of commands makes it. */
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

/** A turn that was just accepted. */
export function makeTurn(overrides: Partial<Turn> = {}): Turn {
  return { ...newTurn(makeRequest()), ...overrides };
}

/** A job that is active. */
export function makeJob(overrides: Partial<KnownJob> = {}): KnownJob {
  return {
    id: "job-1",
    status: "active",
    repository: "acme/docs",
    ref: "main",
    model: "model-1",
    prLink: null,
    ...overrides,
  };
}

/** An outcome of a job that failed. */
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

/** A service's report of a job's first turn, which ended with a pull request. */
export function makeReported(overrides: Partial<KnownTurn> = {}): KnownTurn {
  return {
    number: 1,
    status: "ended",
    outcome: "pull-request",
    reason: null,
    summary: "Both pages name the right command now.",
    step: "Edit docs/install.md",
    plan: [],
    usage: null,
    pullRequest: {
      url: "https://github.com/acme/docs/pull/7",
      number: 7,
      title: "Correct the install command",
      state: "open",
      files: 3,
      additions: 12,
      deletions: 4,
      headRef: "docs-agent/job-1",
      headSha: "0123456789abcdef0123456789abcdef01234567",
    },
    branch: null,
    startedAt: 1,
    endedAt: 2,
    answer: null,
    checks: [],
    claims: null,
    context: [],
    notes: [],
    ...overrides,
  };
}

/** A message that another person wrote, in the channel of {@link makeRequest}. */
export function makeQuoted(overrides: Partial<QuotedMessage> = {}): QuotedMessage {
  return {
    segments: [{ kind: "text", text: "npm instal" }],
    authorId: "U2",
    authorName: null,
    channelId: "C1",
    ts: "1.1",
    threadTs: null,
    ...overrides,
  };
}

/** A refusal of a job service, or the lack of any answer. */
export function fault(
  kind: JobServiceFault["kind"],
  detail: Partial<JobServiceFault> = {},
): JobServiceAnswer {
  return { ok: false, honorsIdempotencyKeys: false, fault: { kind, message: "fault", ...detail } };
}

/** A job service's answer with the job, and at level 1 with a turn. */
export function found(job = makeJob(), reported?: KnownTurn): JobServiceAnswer & { ok: true } {
  const answer = { ok: true, honorsIdempotencyKeys: false, job } as const;
  if (reported === undefined) return answer;
  return { ...answer, level: 1, report: { turns: [reported], questions: null } };
}

/** A service's report of a pull request that waits for a review. */
export function makeFollowed(overrides: Partial<KnownPullRequest> = {}): KnownPullRequest {
  return {
    url: "https://github.com/acme/docs/pull/7",
    title: "Correct the install command",
    state: "open",
    isDraft: false,
    review: "none",
    checks: { state: "passed", failed: [] },
    reviews: [],
    waitingFor: ["maria"],
    mergeable: null,
    blockedBy: null,
    headSha: "0123456789abcdef0123456789abcdef01234567",
    isVisible: true,
    openedAt: null,
    ...overrides,
  };
}
