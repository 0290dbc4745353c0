import { z } from "zod";
import type { FollowedPullRequest } from "../../shared/contract/pull-request.ts";
import type { JobRow } from "./rows.ts";
import type { Tables } from "./tables.ts";

/** How often the agent answers reviews and failed checks of one pull request. */
export const MAX_ROUNDS = 3;

/** What a turn of the kind `address` asks for. What there is to answer is read when it runs. */
export const ADDRESS_PROMPT =
  "Make the changes that the reviews of the pull request ask for, and fix what its failed checks found.";

/** Why nothing can be done with a job's pull request now. `reason` is for people. */
export type NotNow = { status: 404 | 409; reason: string };

/**
 * Why the job can't answer reviews and failed checks now, or null if it can. Call it inside a
 * transaction. What isn't known of the pull request yet is found out by the turn.
 */
export function whyNotAddress(tables: Tables, job: JobRow): NotNow | null {
  const { pullRequest, prLink, rounds } = job;
  if (prLink === null) return { status: 404, reason: "The job has no pull request." };
  if (rounds >= MAX_ROUNDS) {
    return { status: 409, reason: "Three rounds were made. A person decides now." };
  }
  const underWay = `SELECT 1 FROM turns WHERE job_id = ? AND kind = 'address' AND state <> 'ended'`;
  if (tables.value(z.int(), underWay, job.id) !== null) {
    return { status: 409, reason: "The agent is already asked to answer the reviews." };
  }
  if (pullRequest === null) return null;
  if (pullRequest.state !== "open") {
    return { status: 409, reason: `The pull request is ${pullRequest.state}, so nothing is changed in it.` };
  }
  if (hasToAddress(pullRequest)) return null;
  return { status: 409, reason: "No review asks for changes, and no check has failed." };
}

/** True if somebody asks for changes, or a check has failed. */
export function hasToAddress({ review, checks }: FollowedPullRequest): boolean {
  return review === "changes-requested" || checks.state === "failed";
}
