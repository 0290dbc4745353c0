import { z } from "zod";
import type { FollowedPullRequest } from "../../shared/contract/pull-request.ts";
import type { TurnAct } from "../../shared/contract/turn.ts";
import type { JobRow } from "./rows.ts";
import type { Tables } from "./tables.ts";

/** The most rounds of one pull request: turns that answer its reviews and failed checks. */
export const MAX_ROUNDS = 3;

/** The prompt of each act. The turn itself finds out what to answer or merge. */
export const ACT_PROMPTS: Readonly<Record<TurnAct, string>> = {
  address:
    "Make the changes that the reviews of the pull request ask for, and fix what its failed checks found.",
  update: "Bring the branch up to date.",
};

/** Says why nothing can be done with a job's pull request now. `reason` is for people. */
export type NotNow = { status: 404 | 409; reason: string };

/** The words for people about each act that can't be done now. */
const REASONS = {
  address: {
    underWay: "The agent has already been asked to answer the reviews.",
    notOpen: (state: string) => `The pull request is ${state}, so nothing is changed in it.`,
    pointless: whyNothingToAddress,
  },
  update: {
    underWay: "The branch is already being brought up to date.",
    notOpen: (state: string) => `The pull request is ${state}, so its branch stays as it is.`,
    pointless: whyOtherBase,
  },
} as const satisfies Record<TurnAct, object>;

/**
 * Returns why a job can't have a turn of this act now, or null if it can. Call it inside a
 * transaction. The turn finds out what isn't known of the pull request yet.
 */
export function whyNotAct(tables: Tables, act: TurnAct, job: JobRow): NotNow | null {
  const { underWay, notOpen, pointless } = REASONS[act];
  const { id, prLink, pullRequest, rounds } = job;
  if (prLink === null) return { status: 404, reason: "The job has no pull request." };
  if (act === "address" && rounds >= MAX_ROUNDS) {
    return {
      status: 409,
      reason: "The agent has answered three rounds of reviews and checks. Now a person has to decide.",
    };
  }
  const unfinished = `SELECT 1 FROM turns WHERE job_id = ? AND kind = ? AND state <> 'ended'`;
  if (tables.value(z.int(), unfinished, id, act) !== null) return { status: 409, reason: underWay };
  if (pullRequest === null) return null;
  if (pullRequest.state !== "open") return { status: 409, reason: notOpen(pullRequest.state) };
  const reason = pointless(pullRequest, job);
  return reason === null ? null : { status: 409, reason };
}

/** Returns null if a person asks for changes, or a check has failed. */
function whyNothingToAddress({ review, reviews, checks }: FollowedPullRequest): string | null {
  if (checks.state === "failed") return null;
  if (review !== "changes-requested") return "No review asks for changes, and no check has failed.";
  const asking = reviews.filter(({ state }) => state === "changes-requested");
  const areBots = asking.length > 0 && asking.every(({ isBot }) => isBot === true);
  return areBots ? "Only a bot asks for changes, and the agent answers people alone." : null;
}

function whyOtherBase({ baseRef }: FollowedPullRequest, { ref }: JobRow): string | null {
  if (baseRef === undefined || baseRef === ref) return null;
  return `The pull request doesn't go to ${ref}. Bring its branch up to date by hand.`;
}
