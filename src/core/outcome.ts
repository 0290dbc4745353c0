import { z } from "zod";
import { Job } from "./job.ts";
import { storedObject } from "./stored-object.ts";

/** How a turn ended. */
export const OutcomeKind = z.enum([
  "pull-request",
  "no-changes",
  "failed",
  "archived",
  "expired",
  "missing",
  "unknown",
  "rejected",
]);
export type OutcomeKind = z.infer<typeof OutcomeKind>;

/**
 * Why, where one kind has several causes that a person must act on differently.
 *
 * - `expired`: `deadline` (a job was watched until the deadline), `never-started` (the service took nothing until then).
 * - `unknown`: `create-lost` (no answer to the create), `unreadable` (answers that break the contract).
 * - `rejected`: `key` (401, 403), `prompt` (400, 413, 422), `project` (404 on create, or no longer configured), `other`.
 */
export const OutcomeReason = z.enum([
  "deadline",
  "never-started",
  "create-lost",
  "unreadable",
  "key",
  "prompt",
  "project",
  "other",
]);
export type OutcomeReason = z.infer<typeof OutcomeReason>;

/** The end of one turn, complete: everything its message in the thread needs. */
export const Outcome = storedObject({
  kind: OutcomeKind,
  reason: OutcomeReason.nullable(),
  /** What the job service said when it refused; untrusted. */
  said: z.string().nullable(),
  /** The job as last seen; null where none is known. */
  job: Job.nullable(),
  /** From the request to the end, milliseconds. */
  tookMs: z.number(),
});
export type Outcome = z.infer<typeof Outcome>;

/** What a job's status means for the turn; null while it runs. */
export function outcomeKindOf(job: Job): OutcomeKind | null {
  switch (job.status) {
    case "active":
      return null;
    case "completed":
      return job.prLink === null ? "no-changes" : "pull-request";
    case "failed":
      return "failed";
    case "archived":
      return "archived";
  }
}
