import { z } from "zod";
import { Job, type ReportedTurn } from "../ports/job-service.ts";
import { storedObject } from "../ports/stored-object.ts";
import { ToldTurn } from "../job/told-turn.ts";

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
 * - `expired`: `deadline` (a job was watched until the deadline), `never-started` (the service took
 *   nothing until then).
 * - `unknown`: `create-lost` (no answer to the create), `unreadable` (answers that break the
 *   contract).
 * - `rejected`: `key` (401, 403), `prompt` (400, 413, 422), `project` (404 on create, or no longer
 *   configured), `other`.
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
  /** What the job service told of the turn itself; absent: it told nothing beyond the contract. */
  told: ToldTurn.optional(),
  /**
   * The pull request that the job had before this turn, as the service gave its address. Absent:
   * there was none.
   */
  prBefore: z.string().optional(),
  /**
   * Nothing was sent: whoever asked may not use the app, or it can't be known. Absent: they may.
   */
  admission: z.enum(["guest", "unchecked", "uncheckable"]).optional(),
  /**
   * The job still looks as the turn before left it: the agent may not have begun with this one.
   * Absent: it is known to have.
   */
  isUnsure: z.boolean().optional(),
  /** Who stopped it. Absent: nobody did, or it ended by itself before. */
  stoppedBy: z.string().optional(),
});
export type Outcome = z.infer<typeof Outcome>;

/**
 * How a turn ended, by what the service tells of the turn (null: nothing), else by its job's
 * status; null while it runs. What older versions don't know is named by the kind that they know
 * and is nearest: changes on a branch are `no-changes`, a turn that was canceled is `failed`.
 */
export function outcomeKindOf(job: Job, reported: ReportedTurn | null): OutcomeKind | null {
  if (reported?.status === "ended" && reported.outcome !== null) {
    switch (reported.outcome) {
      case "branch":
        return "no-changes";
      case "cancelled":
        return "failed";
      default:
        return reported.outcome;
    }
  }
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

/**
 * How a turn ended, with what {@link OutcomeKind} can't name. Of those that somebody stopped,
 * `withdrawn` were never sent, and `unwatched` go on, as the service can't stop them.
 */
export function endingOf({
  kind,
  told,
  job,
  stoppedBy,
}: Outcome): OutcomeKind | "branch" | "canceled" | "withdrawn" | "unwatched" {
  if (kind === "no-changes" && told?.outcome === "branch") return "branch";
  if (kind === "failed" && told?.outcome === "cancelled") return "canceled";
  if (stoppedBy === undefined) return kind;
  if (kind === "expired") return "unwatched";
  return job === null ? "withdrawn" : "canceled";
}

/**
 * Whether the turn was given to a job that already had this pull request: `updated`, or
 * `maybe-updated` where the service says only that the job has ended. Null: the pull request is
 * new.
 */
export function updateOf(outcome: Outcome): "updated" | "maybe-updated" | null {
  const { prBefore, told } = outcome;
  if (prBefore === undefined || prBefore !== prLinkOf(outcome)) return null;
  return told?.outcome === "pull-request" ? "updated" : "maybe-updated";
}

/**
 * The address of the turn's pull request as the service gave it: untrusted. Null: there is none.
 */
export function prLinkOf({ told, job }: Outcome): string | null {
  return told?.pullRequest?.url ?? job?.prLink ?? null;
}

/** Whether the turn ended without what was asked for, and not because somebody wanted it to end. */
export function cameToNothing(outcome: Outcome): boolean {
  const ending = endingOf(outcome);
  return ["failed", "expired", "missing", "unknown", "rejected"].includes(ending);
}
