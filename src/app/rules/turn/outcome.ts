import { z } from "zod";
import { KnownJob, type KnownTurn } from "../known-job.ts";
import { storedObject } from "../../../shared/contract/reading.ts";
import { KeptTurn } from "./reported-turn.ts";

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
 * The cause, for kinds whose causes call for different actions.
 *
 * - `expired`: `deadline` (the job was watched until the deadline), `never-started` (the service
 *   accepted nothing until then).
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

/** How one turn ended, with everything its message in the thread needs. */
export const Outcome = storedObject({
  kind: OutcomeKind,
  reason: OutcomeReason.nullable(),
  /** The job service's words when it refused. Untrusted. */
  said: z.string().nullable(),
  /** The job as last seen. Null if the turn never got one. */
  job: KnownJob.nullable(),
  /** Time from the request to the end, milliseconds. */
  tookMs: z.number(),
  /**
   * The job service's report on this turn. Absent if it only gave the job's record. Stored under an
   * older name, and logged under it.
   */
  told: KeptTurn.optional(),
  /**
   * The pull request that the job already had before this turn, at the address the service gave.
   * Absent if there was none.
   */
  prBefore: z.string().optional(),
  /**
   * Why the requester couldn't be let in, so that nothing was sent. Absent if they were admitted.
   */
  admission: z.enum(["guest", "unchecked", "uncheckable"]).optional(),
  /**
   * True if the job still looks as the earlier turn left it, so the agent may not have begun this
   * one.
   */
  isUnsure: z.boolean().optional(),
  /**
   * True if the job had a later turn by then and the service doesn't tell turns apart, so nobody
   * knows how this one ended by itself. The kind is then `unknown`.
   */
  isPassed: z.boolean().optional(),
  /** True if the service said that there is nothing to do about the pull request, and why. */
  isDeclined: z.boolean().optional(),
  /** True if nothing was sent, because the service can't promise to change nothing. */
  cannotAsk: z.literal(true).optional(),
  /** True if the service can show what the job changes. */
  hasDiff: z.boolean().optional(),
  /** True if the service can close a pull request that changes nothing. */
  canClose: z.boolean().optional(),
  /** Who stopped the turn. Absent if nobody did, or if it ended by itself first. */
  stoppedBy: z.string().optional(),
});
export type Outcome = z.infer<typeof Outcome>;

/**
 * Returns how a turn ended, or null while it runs. The service's report on the turn takes
 * precedence over the job's status. Only kinds that older versions know are used: changes on a
 * branch are `no-changes`, and a canceled turn is `failed`.
 */
export function outcomeKindOf(job: KnownJob, reported: KnownTurn | null): OutcomeKind | null {
  if (reported?.status === "ended" && reported.outcome !== null) {
    const { outcome } = reported;
    if (outcome === "branch") return "no-changes";
    return outcome === "cancelled" ? "failed" : outcome;
  }
  if (job.status === "active") return null;
  if (job.status === "completed") return job.prLink === null ? "no-changes" : "pull-request";
  return job.status;
}

/**
 * How a turn ended, including the endings that {@link OutcomeKind} can't name. Of the stopped
 * turns, `withdrawn` ones were never sent, and `unwatched` ones go on because the service can't
 * stop them. The job's later turns have passed a `passed` one.
 */
export function endingOf(
  outcome: Outcome,
): OutcomeKind | "branch" | "canceled" | "withdrawn" | "unwatched" | "passed" {
  const { kind, told: report, job, stoppedBy } = outcome;
  if (kind === "unknown" && outcome.isPassed === true) return "passed";
  if (kind === "no-changes" && report?.outcome === "branch") return "branch";
  if (kind === "failed" && report?.outcome === "cancelled") return "canceled";
  if (stoppedBy === undefined) return kind;
  if (kind === "expired") return "unwatched";
  return job === null ? "withdrawn" : "canceled";
}

/**
 * Tells if the turn worked on a pull request that its job already had. `maybe-updated` means that
 * the service only said that the job ended. Null means that the pull request is new.
 */
export function updateOf(outcome: Outcome): "updated" | "maybe-updated" | null {
  const { prBefore, told: report } = outcome;
  if (prBefore === undefined || prBefore !== prLinkOf(outcome)) return null;
  return report?.outcome === "pull-request" ? "updated" : "maybe-updated";
}

/** The address of the turn's pull request as the service gave it (untrusted), or null. */
export function prLinkOf({ told: report, job }: Outcome): string | null {
  return report?.pullRequest?.url ?? job?.prLink ?? null;
}

/** True if there is a change, and the service can show it. */
export function canShowChanges(outcome: Outcome): boolean {
  if (isLeftEmpty(outcome)) return false;
  return outcome.hasDiff === true && (prLinkOf(outcome) !== null || endingOf(outcome) === "branch");
}

/** True if the turn left a pull request that would change nothing any more. */
export function isLeftEmpty(outcome: Outcome): boolean {
  return endingOf(outcome) === "pull-request" && outcome.told?.pullRequest?.isEmpty === true;
}

/** True if the turn ended without a result, although nobody stopped it. */
export function cameToNothing(outcome: Outcome): boolean {
  const ending = endingOf(outcome);
  return ["failed", "expired", "missing", "unknown", "rejected"].includes(ending);
}
