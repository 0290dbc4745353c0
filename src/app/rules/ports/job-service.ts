import type { Attachment } from "../../../shared/contract/attachment.ts";
import type { ProjectRef } from "../project.ts";
import type { Level } from "../../../shared/contract/level.ts";
import type { TurnAct } from "../../../shared/contract/turn.ts";
import type { ActRequest, Authors, Requester } from "../../../shared/contract/request.ts";
import type { WaitingReviews } from "../../../shared/contract/waiting-reviews.ts";
import type { QuestionAnswer } from "../../../shared/contract/question.ts";
import type { ReportedJob } from "../known-job.ts";
import type { JobDiff } from "../../../shared/contract/diff.ts";

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
 * `level` is what it announced. An answer that announced nothing counts as the contract's; it may
 * come from something in front of the service.
 */
export type Announced = { honorsIdempotencyKeys: boolean; level?: Level };

/** True if an answer came from a service that speaks at least this level. */
export function speaks({ level = 0 }: Pick<Announced, "level">, least: Level): boolean {
  return level >= least;
}

export type AnswerWith<T extends object> = ({ ok: true } & T) | { ok: false; fault: JobServiceFault };

export type JobServiceAnswer = Announced & AnswerWith<ReportedJob>;
/** An answer that isn't a fault. */
export type JobServiceSuccess = JobServiceAnswer & { ok: true };

/**
 * A service's feed: its jobs that have changed, the cursor for the next request, and how many pull
 * requests wait for a review, if it says that they are too many.
 */
export type FeedChanges = {
  changed: readonly ReportedJob[];
  next: string;
  waitingReviews: WaitingReviews | null;
};
export type ChangesAnswer = Announced & AnswerWith<FeedChanges>;

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
   * `name` and `service` are its current name and address, which may differ from the project's.
   * Undefined if the project is no longer configured.
   */
  of(project: ProjectRef): { name: string; service: string; jobService: JobService } | undefined;
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

/**
 * What goes along with a prompt to a service of level 1. `words` is the part of
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
   * as a call may take. A null cursor begins now. Needs level 1. The fault of an unknown cursor
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
  /**
   * Asks for an answer that changes nothing, whatever the prompt says: in a job, or in a new one if
   * `jobId` is null. Needs level 3. Delivery is as for {@link createJob}.
   */
  ask(
    jobId: string | null,
    prompt: string,
    idempotencyKey: string,
    besides?: Besides,
  ): Promise<JobServiceAnswer>;
  /**
   * Begins a turn that answers reviews and failed checks of the job's pull request, or brings its
   * branch up to date. Needs level 2. Delivery is as for {@link createJob}. The fault has the
   * status 409 if there is nothing to do, and says why.
   */
  act(jobId: string, act: TurnAct, idempotencyKey: string, people?: ActRequest): Promise<JobServiceAnswer>;
  /** Ends a waiting or running turn without a result. Needs level 1. Safe to repeat. */
  cancelTurn(jobId: string, turn: number): Promise<JobServiceAnswer>;
  /** Reads what a job changes. Needs level 1. Safe to repeat. */
  readDiff(jobId: string): Promise<DiffAnswer>;
  /**
   * Closes the job's pull request if it changes nothing any more. Needs level 1. Safe to repeat.
   * The fault has the status 409 if it stays as it is, and says why.
   */
  closePullRequest(jobId: string): Promise<JobServiceAnswer>;
  /** Answers a question of the agent's. Needs level 1. Safe to repeat with the same answer. */
  answerQuestion(jobId: string, questionId: string, answer: QuestionAnswer): Promise<JobServiceAnswer>;
}
