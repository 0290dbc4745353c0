import { z } from "zod";
import { FollowedPullRequest } from "./pull-request.ts";
import { JobQuestion } from "./question.ts";
import { storedObject } from "./reading.ts";
import { JobTurn, MAX_SHOWN_TURNS } from "./turn.ts";

/** Ids are part of keys, task ids and log lines. A longer one breaks the contract. */
const JOB_ID_MAX_CHARS = 300;

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

/** A person's answer: the id of a choice, or their own words if the question allows it. */
export type QuestionAnswer = { choice: string } | { text: string };

/**
 * The requester of a turn, for a service of level 1. `link` leads to the message
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
 * service of level 1. `quoted` has the author of each quoted message, in order. It is
 * null for a message that no person wrote, or more than one.
 */
export const Authors = storedObject({ requester: z.string(), quoted: z.array(z.string().nullable()) });
export type Authors = z.infer<typeof Authors>;
