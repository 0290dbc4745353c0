import { z } from "zod";
import type { NotNow } from "./address-turns.ts";
import type { JobRow } from "./rows.ts";
import type { Tables } from "./tables.ts";

/** What a turn of the kind `update` asks for. */
export const UPDATE_PROMPT = "Bring the branch up to date.";

/**
 * Why the branch of the job's pull request can't be brought up to date now, or null if it can. Call
 * it inside a transaction. What isn't known of the pull request yet is found out by the turn.
 */
export function whyNotUpdate(tables: Tables, { id, prLink, pullRequest, ref }: JobRow): NotNow | null {
  if (prLink === null) return { status: 404, reason: "The job has no pull request." };
  const underWay = `SELECT 1 FROM turns WHERE job_id = ? AND kind = 'update' AND state <> 'ended'`;
  if (tables.value(z.int(), underWay, id) !== null) {
    return { status: 409, reason: "The branch is being brought up to date already." };
  }
  if (pullRequest === null) return null;
  const { state, baseRef = ref } = pullRequest;
  if (state !== "open") {
    return { status: 409, reason: `The pull request is ${state}, so its branch stays as it is.` };
  }
  if (baseRef === ref) return null;
  return {
    status: 409,
    reason: `The pull request doesn't go to ${ref}. Bring its branch up to date by hand.`,
  };
}
