import { z } from "zod";
import type { Attachment } from "../job/attachment.ts";
import type { ProjectRef } from "../job/project.ts";
import { storedObject } from "./stored-object.ts";

/**
 * What a job service may offer beyond the contract. With `idempotency-key`, it answers a repeated
 * request with the same `Idempotency-Key` without running it again.
 */
export const Capability = z.enum([
  "idempotency-key",
  "turns",
  "list",
  "cancel",
  "archive",
  "questions",
  "attachments",
  "requester",
]);
export type Capability = z.infer<typeof Capability>;

/**
 * How a turn ended, in the job service's words. `branch` means that the changes are on a branch,
 * because there is no code host to ask.
 */
export const ReportedOutcome = z.enum([
  "pull-request",
  "branch",
  "no-changes",
  "failed",
  "cancelled",
  "archived",
]);
export type ReportedOutcome = z.infer<typeof ReportedOutcome>;

/** Why a turn failed, if the requester can do something about it. */
export const FailureCause = z.enum(["time-limit", "budget"]);
export type FailureCause = z.infer<typeof FailureCause>;

/** One step of the agent's plan. */
export type PlanStep = { text: string; status: "pending" | "in-progress" | "completed" };

/**
 * What the models used in all calls of the turn. The counts are null if only the agent's own word
 * for its cost is known. `costUsd` is null if there is no price.
 */
export type ReportedUsage = {
  inputTokens: number | null;
  outputTokens: number | null;
  /** The part of `inputTokens` that came from a cache. */
  cachedInputTokens: number | null;
  calls: number | null;
  costUsd: number | null;
};

/**
 * The result of one of the project's checks. `failed` lists what is new compared with the base, one
 * line each. `not-checked` couldn't run, and says nothing about the change.
 */
export type ReportedCheck = {
  name: string;
  result: "passed" | "failed" | "not-checked";
  findings: string[];
};

/**
 * The number of statements that the agent gave sources for, and of those sources that were found.
 */
export type ReportedClaims = { total: number; verified: number };

/** A pull request as the turn left it. Fields are null if the code host didn't say. */
export type ReportedPullRequest = {
  url: string;
  number: number;
  title: string;
  state: "open" | "closed" | "merged";
  files: number | null;
  additions: number | null;
  deletions: number | null;
  headRef: string;
  headSha: string;
  /** Absent if the code host didn't say. */
  isDraft?: boolean | undefined;
};

/**
 * A turn as the job service reports it (untrusted text, bounded). Times are epoch milliseconds.
 * Unknown fields are null.
 */
export type ReportedTurn = {
  /** 1 is the create. The others are messages, in order. */
  number: number;
  status: "waiting" | "running" | "ended";
  outcome: ReportedOutcome | null;
  /** Why the turn ended like this, or why its last attempt broke off. */
  reason: string | null;
  /** Absent if it is another cause, or the service didn't say. */
  cause?: FailureCause | undefined;
  /** The agent's last words. */
  summary: string | null;
  /** The agent's latest step. */
  step: string | null;
  plan: PlanStep[];
  usage: ReportedUsage | null;
  pullRequest: ReportedPullRequest | null;
  /** The branch with the changes, if there is no code host. */
  branch: string | null;
  acceptedAt: number | null;
  startedAt: number | null;
  endedAt: number | null;
  /** Files that the agent changed outside this project's documentation. */
  leftOut: string[];
  /** The agent's answer if it changed nothing. */
  answer: string | null;
  checks: ReportedCheck[];
  claims: ReportedClaims | null;
  /** The commits of context repositories that the agent could read. */
  context: { name: string; commit: string }[];
  /** Other things people should know about the turn, one sentence each. */
  notes: string[];
};

/** A question that the agent asks a person. It is open until it is answered or its turn ends. */
export type ReportedQuestion = {
  id: string;
  /** The number of the turn that asks. */
  turn: number;
  text: string;
  choices: { id: string; label: string }[];
  /** True if people may answer in their own words. */
  allowsText: boolean;
  askedAt: number | null;
  answeredAt: number | null;
};

/** A job service's report on a job, beyond the contract. Fields are null if it doesn't say. */
export type JobReport = {
  /**
   * Oldest first, and only the newest of a long job. After a create or a message, the last one is
   * the turn that it began.
   */
  turns: ReportedTurn[] | null;
  /** Questions of unfinished turns. */
  questions: ReportedQuestion[] | null;
};

/** A job's state, in the job service's own words (`docs/job-service.md`). */
export const JobStatus = z.enum(["active", "completed", "archived", "failed"]);
export type JobStatus = z.infer<typeof JobStatus>;

/**
 * The job service's record of one job. `prLink` is whatever it sent, and untrusted until `replies/`
 * has checked it.
 */
export const Job = storedObject({
  id: z.string().min(1),
  status: JobStatus,
  repository: z.string().nullable(),
  ref: z.string().nullable(),
  model: z.string().nullable(),
  prLink: z.string().nullable(),
});
export type Job = z.infer<typeof Job>;

/**
 * What a failed call to the job service means for the turn.
 *
 * - `not-created`: it certainly had no effect (refused connection, DNS, a 429 or 503 of the
 *   service's own; for a create or a message also a redirect or a 404 by something in front of the
 *   service), so it is worth repeating later.
 * - `unknown`: it may have had an effect (timeout, reset, 500, 502, 504, a gateway's 429 or 503, a
 *   2xx that can't be read). A create or a message must not be repeated unless the service honors
 *   idempotency keys; a get may. For a get this is also any answer that isn't recognizably the
 *   service's own, since such an answer says nothing about the job.
 * - `rejected`: the service understood and refused (400, 401, 403, 413, …), so repeating doesn't
 *   help.
 * - `missing`: the service's own 404: no such project, or no such job.
 * - `contract`: it answered 2xx with a record that breaks the contract (no `id`, unknown `status`,
 *   another job's `id`).
 */
export type JobServiceFault = {
  kind: "not-created" | "unknown" | "rejected" | "missing" | "contract";
  /** HTTP status, if there was an answer. */
  status?: number;
  /** The wait that `Retry-After` asked for, in milliseconds. */
  retryAfterMs?: number;
  /**
   * The service's own `error` text: untrusted, bounded, and not for the log (it may quote a
   * prompt).
   */
  said?: string;
  /** For the log: what failed, with what. It contains no secret and none of the service's words. */
  message: string;
};

/**
 * `honorsIdempotencyKeys` is true if this answer announced it or the project's settings say so.
 * `capabilities` are what this answer announced; if it announced nothing, it may come from
 * something in front of the service. `report` is what it says beyond the contract.
 */
export type JobServiceAnswer = { honorsIdempotencyKeys: boolean; capabilities?: readonly Capability[] } & (
  | { ok: true; job: Job; report?: JobReport }
  | { ok: false; fault: JobServiceFault }
);

/** A fault for the log, without the service's words, which may quote people. */
export function faultForLog(fault: JobServiceFault): Omit<JobServiceFault, "said"> {
  const { said: _, ...logged } = fault;
  return logged;
}

/**
 * How this process's last call to a project's job service went. `isUp` means that the service
 * accepts requests. `since` is the first call with this result, without another result in between,
 * and `at` the last one. Epoch milliseconds.
 */
export type Contact = { project: ProjectRef; isUp: boolean; since: number; at: number };

/** The last known states of the configured projects' job services. */
export interface Contacts {
  /** The projects whose services were called since this process started. */
  last(): Contact[];
}

/** True if an answer shows that the service accepts requests, even if it refused this one. */
export function isFromServiceThatIsUp(answer: JobServiceAnswer): boolean {
  return answer.ok || !["not-created", "unknown"].includes(answer.fault.kind);
}

/** The job services of the configured projects. */
export interface JobServices {
  /**
   * `service` is its current address, which may differ from the project's. Undefined if the project
   * is no longer configured.
   */
  of(project: ProjectRef): { service: string; jobService: JobService } | undefined;
}

/**
 * Finds a configured project by service and id. If the service has moved to another address, the
 * only project with that id is meant.
 */
export function configuredProject<T extends Pick<ProjectRef, "service" | "id">>(
  configured: readonly T[],
  wanted: Pick<ProjectRef, "service" | "id">,
): T | undefined {
  const named = configured.filter(({ id }) => id === wanted.id);
  return (
    named.find(({ service }) => service === wanted.service) ?? (named.length === 1 ? named[0] : undefined)
  );
}

/** A person's answer: the id of a choice, or their own words if the question allows it. */
export type QuestionAnswer = { choice: string } | { text: string };

/**
 * The requester of a turn, for a service that announces `requester`. `link` leads to the message
 * that asked or to its thread; null if there is none yet. `isPrivate` is true unless Slack says
 * that everybody in the workspace can read that place.
 */
export const Requester = storedObject({
  name: z.string(),
  link: z.string().nullable(),
  isPrivate: z.boolean(),
});
export type Requester = z.infer<typeof Requester>;

/**
 * What goes along with a prompt, each part only if the service offers it. `words` is the part of
 * the prompt that the person typed.
 */
export type Besides = { attachments?: readonly Attachment[]; words?: string; requester?: Requester };

/**
 * A project's job service. No method throws for faults of the service or the network: faults are
 * returned.
 */
export interface JobService {
  /**
   * True if the settings say that it honors idempotency keys. Its answers may announce that, too.
   */
  readonly honorsIdempotencyKeys?: boolean;
  /**
   * Creates a job. Only if the service honors idempotency keys (see {@link JobServiceAnswer}), the
   * same create may be sent again under its `idempotencyKey` without making a second job.
   */
  createJob(prompt: string, idempotencyKey: string, besides?: Besides): Promise<JobServiceAnswer>;
  /** Reads a job. Safe to repeat. */
  getJob(jobId: string): Promise<JobServiceAnswer>;
  /** Sends a job a follow-up prompt. Delivery is as for {@link createJob}. */
  sendMessage(
    jobId: string,
    prompt: string,
    idempotencyKey: string,
    besides?: Besides,
  ): Promise<JobServiceAnswer>;
  /** Ends a waiting or running turn without a result. Needs `cancel`. Safe to repeat. */
  cancelTurn(jobId: string, turn: number): Promise<JobServiceAnswer>;
  /** Answers a question of the agent's. Needs `questions`. Safe to repeat with the same answer. */
  answerQuestion(jobId: string, questionId: string, answer: QuestionAnswer): Promise<JobServiceAnswer>;
}
