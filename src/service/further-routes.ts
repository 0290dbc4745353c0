import { createRoute, z } from "@hono/zod-openapi";
import { JobStatus } from "../core/job-service.ts";
import { MAX_ANSWER_CHARS } from "../job-client/report-schema.ts";
import { AnswerRequest, WireJobList } from "../job-client/schema.ts";
import { faults, JobAnswer, JobParams, json, ProjectParams, security } from "./route-parts.ts";

const MAX_LISTED = 100;

const WANT_LIMIT = `a whole number from 1 to ${MAX_LISTED}`;
export const WANT_AFTER = "the next of the page before";
const WANT_STATUS = `one of ${JobStatus.options.join(", ")}`;
const WANT_NUMBER = "a turn's number, where 1 is the create";
const ListQuery = z.object({
  status: z
    .enum(JobStatus.options, WANT_STATUS)
    .optional()
    .openapi({ description: "Only jobs with this status." }),
  after: z.string().max(200, WANT_AFTER).optional().openapi({ description: "`next` of the page before." }),
  limit: z.coerce
    .number(WANT_LIMIT)
    .int(WANT_LIMIT)
    .min(1, WANT_LIMIT)
    .max(MAX_LISTED, WANT_LIMIT)
    .default(20)
    .openapi({ description: "How many jobs at most." }),
});

const TurnParams = JobParams.extend({
  number: z.coerce
    .number(WANT_NUMBER)
    .int(WANT_NUMBER)
    .min(1, WANT_NUMBER)
    .openapi({ description: "The turn's number: 1 is the create." }),
});

const WANT_ANSWER = `a text of 1 to ${MAX_ANSWER_CHARS} characters`;
const Answer = z
  .union(
    [
      AnswerRequest.options[0].strict(),
      AnswerRequest.options[1].strict().extend({
        text: z
          .string(WANT_ANSWER)
          .max(MAX_ANSWER_CHARS, WANT_ANSWER)
          .refine((text) => text.trim() !== "" && text.isWellFormed(), WANT_ANSWER)
          .describe("The answer in words, where the question allows it."),
      }),
    ],
    `an object with questionId and choice, or questionId and a text of 1 to ${MAX_ANSWER_CHARS} characters`,
  )
  .openapi("AnswerRequest");

const refusals = {
  401: faults[401],
  403: faults[403],
  404: faults[404],
  405: faults[405],
  431: faults[431],
  500: faults[500],
};

export const listJobsRoute = createRoute({
  method: "get",
  path: "/v2/agent/{projectId}/job",
  operationId: "listJobs",
  summary: "List jobs, the newest first",
  description:
    "Jobs that are created while the list is read don't shift its pages. A page may be short, and even empty, although `next` leads to more.",
  security,
  request: { params: ProjectParams, query: ListQuery },
  responses: {
    200: json(WireJobList.extend({}).openapi("JobList"), "A page of jobs."),
    400: faults[400],
    ...refusals,
  },
});

export const cancelTurnRoute = createRoute({
  method: "post",
  path: "/v2/agent/{projectId}/job/{id}/turn/{number}/cancel",
  operationId: "cancelTurn",
  summary: "Cancel a turn that waits or runs",
  description:
    "Stops the agent, and ends the turn with the outcome `cancelled`. A turn that has ended stays as it is. Later turns of the job run on. If the turn was the job's last, the job's status is `failed`.",
  security,
  request: { params: TurnParams },
  responses: {
    200: json(JobAnswer, "The job with its turns, this one ended."),
    400: faults[400],
    ...refusals,
    408: faults[408],
    413: faults[413],
  },
});

export const archiveJobRoute = createRoute({
  method: "post",
  path: "/v2/agent/{projectId}/job/{id}/archive",
  operationId: "archiveJob",
  summary: "Archive a job",
  description:
    "Ends turns that wait or run with the outcome `archived`. A job that is archived stays as it is.",
  security,
  request: { params: JobParams },
  responses: {
    200: json(JobAnswer, "The job with its turns, archived."),
    400: faults[400],
    ...refusals,
    408: faults[408],
    413: faults[413],
  },
});

export const answerQuestionRoute = createRoute({
  method: "post",
  path: "/v2/agent/{projectId}/job/{id}/answer",
  operationId: "answerQuestion",
  summary: "Answer a question of the agent's",
  description:
    "With the id of a choice, or with text where the question allows it. The same answer may be sent again. A question ends with its turn, and when nobody answers in time: it is unknown then.",
  security,
  request: {
    params: JobParams,
    body: { required: true, content: { "application/json": { schema: Answer } } },
  },
  responses: {
    200: json(JobAnswer, "The job with its questions; the answer is kept."),
    400: faults[400],
    ...refusals,
    409: faults[409],
    408: faults[408],
    413: faults[413],
    415: faults[415],
  },
});
