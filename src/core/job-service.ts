import type { Job } from "./job.ts";

/**
 * What a call to the job service that did not succeed means for the turn.
 *
 * - `not-created`: it certainly had no effect (refused connection, DNS, 429, 503); worth repeating later.
 * - `unknown`: it may have had an effect (timeout, reset, 500, 502, 504, a 2xx that cannot be read); a create or a message
 *   must not be repeated, a get may.
 * - `rejected`: the service understood and refused (400, 401, 403, 413, …); repeating changes nothing.
 * - `missing`: 404: no such project, or no such job.
 * - `contract`: it answered 2xx with a record that breaks the contract (no `id`, unknown `status`).
 */
export type JobServiceFault = {
  kind: "not-created" | "unknown" | "rejected" | "missing" | "contract";
  /** HTTP status, where there was an answer. */
  status?: number;
  /** What `Retry-After` asked for, in milliseconds. */
  retryAfterMs?: number;
  /** The service's own `error` text: untrusted and bounded. */
  said?: string;
  /** For the log: what failed, with what. Holds no secret. */
  message: string;
};

export type JobServiceAnswer = { ok: true; job: Job } | { ok: false; fault: JobServiceFault };

/** A project's job service. No method throws for anything the service or the network does: faults are answers. */
export interface JobService {
  /** Creates a job. Sends `idempotencyKey` along; a service without idempotency keys may still run a repeated create twice. */
  createJob(prompt: string, idempotencyKey: string): Promise<JobServiceAnswer>;
  /** Reads a job. Safe to repeat. */
  getJob(jobId: string): Promise<JobServiceAnswer>;
  /** Gives a job a follow-up prompt. Same delivery semantics as {@link createJob}. */
  sendMessage(jobId: string, prompt: string, idempotencyKey: string): Promise<JobServiceAnswer>;
}
