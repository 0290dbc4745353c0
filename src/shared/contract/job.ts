import { z } from "zod";
import { FollowedPullRequest } from "./pull-request.ts";
import { JobQuestion } from "./question.ts";
import { JobTurn, MAX_SHOWN_TURNS } from "./turn.ts";

/** Ids are part of keys, task ids and log lines. A longer one breaks the contract. */
const JOB_ID_MAX_CHARS = 300;

/** A job's state, in the job service's own words (`docs/job-service.md`). */
export const JobStatus = z.enum(["active", "completed", "archived", "failed"]);
export type JobStatus = z.infer<typeof JobStatus>;

/**
 * A job as a service with this contract sends it. Times are ISO 8601, UTC.
 */
export const ContractJob = z.object({
  id: z.string().min(1).max(JOB_ID_MAX_CHARS).describe("The job's id."),
  status: JobStatus.meta({
    id: "JobStatus",
    description:
      "`active` while a turn waits or runs, then how the last one ended. A canceled turn leaves " +
      "`failed`. `archived`: takes no more messages.",
  }),
  source: z
    .object({
      repository: z.string().describe("The repository."),
      ref: z.string().nullable().describe("The branch that pull requests go to."),
    })
    .describe("What the job works on."),
  model: z.string().describe("What works on the job, as free text."),
  prLink: z.string().nullable().describe("The pull request's address, or null if there is none."),
  createdAt: z.iso.datetime().describe("When the job was created."),
  archivedAt: z.iso.datetime().nullable().describe("When it was archived."),
});

/**
 * A job with what our own service reports beyond the contract, for a client of level 1. Any other
 * client gets a plain {@link ContractJob}.
 */
export const FullJob = ContractJob.extend({
  turns: z.array(JobTurn).max(MAX_SHOWN_TURNS).optional().describe("The newest 20 turns, the oldest first."),
  questions: z.array(JobQuestion).optional().describe("Questions of turns that haven't ended."),
  pullRequest: FollowedPullRequest.nullable()
    .optional()
    .describe("The pull request that is followed, or null if there is none."),
});
