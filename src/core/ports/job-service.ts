import { z } from "zod";
import type { Attachment } from "../job/attachment.ts";
import type { ProjectRef } from "../job/project.ts";
import type { JobDiff, FollowedPullRequest, ReportedQuestion, ReportedTurn } from "./job-report.ts";
import { storedObject } from "./reading.ts";

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
  "authors",
  "pull-request",
  "diff",
  "close",
  "changes",
]);
export type Capability = z.infer<typeof Capability>;

/** A job service's report on a job, beyond the contract. Fields are null if it doesn't say. */
export type JobReport = {
  /**
   * Oldest first, and only the newest of a long job. After a create or a message, the last one is
   * the turn that it began.
   */
  turns: ReportedTurn[] | null;
  /** Questions of unfinished turns. */
  questions: ReportedQuestion[] | null;
  /** The job's newest pull request as it stands now. Null if there is none that is followed. */
  pullRequest?: FollowedPullRequest | null;
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
  /** The network's reason, if there was no answer. */
  reason?: string;
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
 * something in front of the service.
 */
export type Announced = { honorsIdempotencyKeys: boolean; capabilities?: readonly Capability[] };

export type AnswerWith<T extends object> = ({ ok: true } & T) | { ok: false; fault: JobServiceFault };

/** `report` is what the service says beyond the contract. */
export type ReportedJob = { job: Job; report?: JobReport };
export type JobServiceAnswer = Announced & AnswerWith<ReportedJob>;
/** An answer that isn't a fault. */
export type JobServiceSuccess = JobServiceAnswer & { ok: true };

/** A service's feed: its jobs that have changed, and the cursor for the next request. */
export type ChangesAnswer = Announced & AnswerWith<{ changed: readonly ReportedJob[]; next: string }>;

/** A fault for the log, without the service's words, which may quote people. */
export function faultForLog(fault: JobServiceFault): Omit<JobServiceFault, "said"> {
  const { said: _, ...logged } = fault;
  return logged;
}

/** `missing`: the service has no such job, or it changes nothing that can be found. */
export type DiffAnswer = AnswerWith<{ diff: JobDiff }>;

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
export function isFromServiceThatIsUp(answer: AnswerWith<object>): boolean {
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
 * Who is who in a turn's prompt, by ids that stay the same when people change their names, for a
 * service that announces `authors`. `quoted` has the author of each quoted message, in order. It is
 * null for a message that no person wrote, or more than one.
 */
export const Authors = storedObject({ requester: z.string(), quoted: z.array(z.string().nullable()) });
export type Authors = z.infer<typeof Authors>;

/**
 * What goes along with a prompt, each part only if the service offers it. `words` is the part of
 * the prompt that the person typed.
 */
export type Besides = {
  attachments?: readonly Attachment[];
  words?: string;
  requester?: Requester;
  authors?: Authors;
};

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
  /**
   * Waits until jobs of the project have changed since a cursor, at most `waitS` seconds or as long
   * as a call may take. A null cursor begins now. Needs `changes`. The fault of an unknown cursor
   * has the status 410. Ends at once when `signal` aborts. Safe to repeat.
   */
  changes(after: string | null, waitS: number, signal: AbortSignal): Promise<ChangesAnswer>;
  /** Sends a job a follow-up prompt. Delivery is as for {@link createJob}. */
  sendMessage(
    jobId: string,
    prompt: string,
    idempotencyKey: string,
    besides?: Besides,
  ): Promise<JobServiceAnswer>;
  /** Ends a waiting or running turn without a result. Needs `cancel`. Safe to repeat. */
  cancelTurn(jobId: string, turn: number): Promise<JobServiceAnswer>;
  /** Reads what a job changes. Needs `diff`. Safe to repeat. */
  readDiff(jobId: string): Promise<DiffAnswer>;
  /**
   * Closes the job's pull request if it changes nothing any more. Needs `close`. Safe to repeat.
   * The fault has the status 409 if it stays as it is, and says why.
   */
  closePullRequest(jobId: string): Promise<JobServiceAnswer>;
  /** Answers a question of the agent's. Needs `questions`. Safe to repeat with the same answer. */
  answerQuestion(jobId: string, questionId: string, answer: QuestionAnswer): Promise<JobServiceAnswer>;
}
