import { z } from "zod";
import { Attachment } from "./attachment.ts";
import { readableItems } from "./reading.ts";
import { FollowedPullRequest } from "./pull-request.ts";
import { JobQuestion } from "./question.ts";
import { JobTurn } from "./turn.ts";
import { Authors, type Job, JobStatus, Requester } from "./job.ts";

/** Ids are part of keys, task ids and log lines. A longer one breaks the contract. */
const JOB_ID_MAX_CHARS = 300;
/** A client keeps it. */
const CURSOR_MAX_CHARS = 1000;
/** More than fit into the largest answer that is read. */
const MAX_READ_CHANGES = 10_000;

/**
 * Body of a create or a follow-up message. All but `prompt` is only for a service of level 1.
 */
export const CreateJobRequest = z.object({
  prompt: z.string().min(1),
  attachments: z.array(Attachment).optional(),
  words: z.string().min(1).optional(),
  requester: Requester.optional(),
  authors: Authors.optional(),
});
export type CreateJobRequest = z.infer<typeof CreateJobRequest>;

/**
 * A job as a service with this contract sends it. Times are ISO 8601, UTC. To read one, see {@link
 * ReceivedJobRecord}.
 */
export const WireJobRecord = z.object({
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
export type WireJobRecord = z.input<typeof WireJobRecord>;

/**
 * A job with what our own service reports beyond the contract, for a client of level 1. Any other
 * client gets a plain {@link WireJobRecord}.
 */
export const WireJob = WireJobRecord.extend({
  turns: z.array(JobTurn).optional().describe("The newest 20 turns, the oldest first."),
  questions: z.array(JobQuestion).optional().describe("Questions of turns that haven't ended."),
  pullRequest: FollowedPullRequest.nullable()
    .optional()
    .describe("The pull request that is followed, or null if there is none."),
});
export type WireJob = z.input<typeof WireJob>;

/**
 * Answer of a list, newest first, without turns and questions. `next` is the next page's `after`,
 * or null on the last page.
 */
export const WireJobList = z.object({
  jobs: z
    .array(WireJob.omit({ turns: true, questions: true }).meta({ id: "ListedJob" }))
    .describe("Without turns and questions."),
  next: z.string().nullable().describe("Goes into `after`. Null on the last page."),
});
export type WireJobList = z.input<typeof WireJobList>;

/** Answer of the feed: the jobs that have changed. `next` is the next request's `after`. */
export const WireChanges = z.object({
  jobs: z.array(WireJob).describe("The jobs as they are now, with the fields that the client asked for."),
  next: z.string().describe("Goes into `after`."),
});
export type WireChanges = z.input<typeof WireChanges>;

/** Body of an answer to a question: a choice's id, or text if the question allows it. */
export const AnswerRequest = z.union([
  z.object({
    questionId: z.string().min(1).describe("The question's id."),
    choice: z.string().min(1).describe("The id of one of its choices."),
  }),
  z.object({
    questionId: z.string().min(1).describe("The question's id."),
    text: z.string().min(1).describe("The answer in words."),
  }),
]);
export type AnswerRequest = z.infer<typeof AnswerRequest>;

/**
 * A job as a client reads it: only what this project uses, so that a service may add, omit or
 * reshape the rest. What it leaves open is null, and so is an empty `prLink`. Without an `id`, or
 * with an unspecified status, it can't be parsed.
 */
export const ReceivedJobRecord = z
  .object({
    id: z.string().min(1).max(JOB_ID_MAX_CHARS),
    status: JobStatus,
    source: z.object({ repository: z.string().nullish(), ref: z.string().nullish() }).nullish(),
    model: z.string().nullish(),
    prLink: z.string().nullish(),
  })
  .transform(({ id, status, source, model = null, prLink }): Job => {
    const { repository = null, ref = null } = source ?? {};
    return { id, status, repository, ref, model, prLink: prLink || null };
  });

/** An answer of the feed as a client reads it: jobs that aren't recognizable are left out. */
export const ReceivedChanges = z.object({
  jobs: z.array(z.unknown()).pipe(readableItems(z.looseObject({ id: z.string() }), MAX_READ_CHANGES)),
  next: z.string().min(1).max(CURSOR_MAX_CHARS),
});

/** Body of a refusal. Proxies answer without one. */
export const ErrorBody = z.object({ error: z.string().describe("What is wrong, and what to do.") });
