import { JobChanges, JobList } from "../../shared/contract/feed.ts";
import { FullJob } from "../../shared/contract/job.ts";
import { createRoute, z } from "@hono/zod-openapi";
import { JobDiff } from "../../shared/contract/diff.ts";
import { AnswerRequest } from "../../shared/contract/question.ts";
import { ActRequest as ActBody, CreateJobRequest } from "../../shared/contract/request.ts";
import { LEVEL_KEY } from "../../shared/contract/level.ts";
import { JobStatus } from "../../shared/contract/job.ts";
import {
  jsonBody,
  bodyRefusals,
  refusal,
  headerRef,
  invalid,
  jsonAnswer,
  noMethod,
  postRefusals,
  refusals,
  turnRefusals,
} from "./described-answers.ts";

const ProjectParams = z.object({ projectId: z.string().describe("The project's id.") });
const JobParams = ProjectParams.extend({ id: z.string().describe("The job's id.") });

/** With this header, a client asks for the optional fields of a job's record. */
const ReaderHeaders = z.object({
  [LEVEL_KEY]: z
    .string()
    .optional()
    .openapi({
      description:
        "What the client speaks: `docs-agent/1` adds the fields `turns`, `questions` and " +
        "`pullRequest` to the job. Without this header the job has the contract's fields only.",
      example: "docs-agent/1",
    }),
});

const ActRequest = ActBody.extend({}).openapi("ActRequest");
const JobAnswer = FullJob.extend({}).openapi("JobRecord");
/** The operation needs an admin key. */
const security = [{ adminKey: [] }];

/** These messages are rules: they follow "must be". */
function atLeast(min: number, want: string): z.ZodCoercedNumber {
  return z.coerce.number(want).int(want).min(min, want);
}

const WANT_KEY = "1 to 255 printable ASCII characters without spaces";
const WriterHeaders = ReaderHeaders.extend({
  "idempotency-key": z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, WANT_KEY)
    .optional()
    .describe(
      "For 7 days, the same request with the same key gets the first answer again. Another request " +
        "with it gets 422. Each project has its own keys.",
    ),
});

const Health = z.object({ status: z.literal("ok").describe("The process is alive.") }).openapi("Health");
const Readiness = z
  .object({
    status: z.enum(["ok", "unavailable"]).describe("Whether requests can be accepted."),
    tasks: z
      .object({
        waiting: z.int().describe("Turns that wait."),
        running: z.int().describe("Turns that run."),
        dead: z.int().describe("Turns that were abandoned."),
      })
      .nullable()
      .describe("`running` counts the turns that run now; those that wait for room are in `waiting`."),
  })
  .openapi("Readiness");

export const createJobRoute = createRoute({
  method: "post",
  path: "/v2/agent/{projectId}/job",
  operationId: "createJob",
  summary: "Create a job",
  security,
  request: {
    params: ProjectParams,
    headers: WriterHeaders,
    body: jsonBody(CreateJobRequest.extend({}).openapi("CreateJobRequest")),
  },
  responses: { 201: jsonAnswer(JobAnswer, "The job, accepted for good."), ...turnRefusals },
});

export const getJobRoute = createRoute({
  method: "get",
  path: "/v2/agent/{projectId}/job/{id}",
  operationId: "getJob",
  summary: "Read a job",
  security,
  request: { params: JobParams, headers: ReaderHeaders },
  responses: { 200: jsonAnswer(JobAnswer, "The job."), ...refusals },
});

const WANT_CURSOR = "`next` of an earlier answer";
const MAX_WAIT_S = 60;
const WANT_WAIT = `a whole number from 0 to ${MAX_WAIT_S}`;
const ChangesQuery = z.object({
  after: z.string().max(200, WANT_CURSOR).optional().describe("`next` of the answer before."),
  wait: atLeast(0, WANT_WAIT)
    .max(MAX_WAIT_S, WANT_WAIT)
    .default(0)
    .describe("How many seconds to wait for a change, if there is none yet."),
});

export const changesRoute = createRoute({
  method: "get",
  path: "/v2/agent/{projectId}/changes",
  operationId: "changes",
  summary: "Read which jobs have changed",
  description:
    "Each job that has changed since then, as it is now. It appears once, however often it changed. " +
    "The earliest change comes first. Without `after` the answer has no job, and its `next` begins " +
    "now. Ask again with each answer's `next`: there may be more. The steps of a turn that runs come " +
    "at most every 5 s.",
  security,
  request: { params: ProjectParams, query: ChangesQuery, headers: ReaderHeaders },
  responses: {
    200: jsonAnswer(JobChanges.extend({}).openapi("Changes"), "The jobs that have changed."),
    ...invalid,
    ...refusals,
    410: refusal("The cursor isn't known anymore. Begin without one, and read the jobs you wait for."),
    429: refusal("Too many requests wait already.", { "Retry-After": headerRef("RetryAfter") }),
  },
});

export const sendMessageRoute = createRoute({
  method: "post",
  path: "/v2/agent/{projectId}/job/{id}/message",
  operationId: "sendMessage",
  summary: "Give a job a follow-up prompt, which becomes its next turn",
  description:
    "While a turn runs, the message waits for its end. A failed job takes messages and becomes " +
    "active again. An archived one takes none: 400, and `error` says so; create a new job.",
  security,
  request: {
    params: JobParams,
    headers: WriterHeaders,
    body: jsonBody(CreateJobRequest.extend({}).openapi("MessageRequest")),
  },
  responses: {
    200: jsonAnswer(JobAnswer, "The active job. Its message is accepted for good."),
    ...turnRefusals,
  },
});

const ASK = {
  method: "post",
  description:
    "The agent answers, and nothing that it changes in the files is kept: there is no commit, no branch " +
    "and no pull request, whatever the prompt says.",
  security,
} as const;
const AskBody = jsonBody(CreateJobRequest.extend({}).openapi("AskRequest"));

export const askRoute = createRoute({
  ...ASK,
  path: "/v2/agent/{projectId}/ask",
  operationId: "ask",
  summary: "Create a job whose first turn answers and changes nothing",
  request: { params: ProjectParams, headers: WriterHeaders, body: AskBody },
  responses: { 201: jsonAnswer(JobAnswer, "The job, accepted for good."), ...turnRefusals },
});

export const askInJobRoute = createRoute({
  ...ASK,
  path: "/v2/agent/{projectId}/job/{id}/ask",
  operationId: "askInJob",
  summary: "Give a job a turn that answers and changes nothing",
  request: { params: JobParams, headers: WriterHeaders, body: AskBody },
  responses: {
    200: jsonAnswer(JobAnswer, "The active job. Its new turn is accepted for good."),
    ...turnRefusals,
  },
});

type Act<Path extends string> = {
  path: Path;
  operationId: string;
  summary: string;
  description: string;
  /** When it is refused with 409. */
  notNow: string;
};

/** The route of an act on a job's pull request. */
function actRoute<Path extends string>({ notNow, ...act }: Act<Path>) {
  return createRoute({
    method: "post",
    ...act,
    security,
    request: { params: JobParams, headers: WriterHeaders, body: jsonBody(ActRequest) },
    responses: {
      200: jsonAnswer(JobAnswer, "The active job. Its new turn is accepted for good."),
      ...turnRefusals,
      404: refusal("No such project, no such job, or it has no pull request."),
      409: refusal(notNow),
    },
  });
}

export const addressRoute = actRoute({
  path: "/v2/agent/{projectId}/job/{id}/address",
  operationId: "addressReviews",
  summary: "Answer the reviews and failed checks of a job's pull request",
  description:
    "Adds a turn, as a message does, in which the agent gets what reviews ask for and what failed " +
    "checks say. Comments on lines then get a reply, and whoever asked for changes is asked for a " +
    "review again. Only comments of people who may write to the repository count. A pull request " +
    "has three rounds.",
  notNow:
    "Nothing is there to answer, it isn't open, its rounds are used up, or the agent has already been " +
    "asked to answer.",
});

export const updateRoute = actRoute({
  path: "/v2/agent/{projectId}/job/{id}/update",
  operationId: "updateBranch",
  summary: "Bring the branch of a job's pull request up to date",
  description:
    "Adds a turn, as a message does, that merges the base branch into the pull request's branch. " +
    "The agent runs only if pages of the docs have conflicts. Conflicts in other files make the turn " +
    "fail, and its reason names them.",
  notNow:
    "It isn't open, goes to another branch, its branch isn't behind, or is already being brought up " +
    "to date.",
});

export const healthRoute = createRoute({
  method: "get",
  path: "/healthz",
  operationId: "health",
  summary: "Whether the process is alive",
  security: [],
  responses: { 200: jsonAnswer(Health, "The process is alive."), ...noMethod },
});

export const readinessRoute = createRoute({
  method: "get",
  path: "/readyz",
  operationId: "readiness",
  summary: "Whether requests can be accepted",
  security: [],
  responses: {
    200: jsonAnswer(Readiness, "Requests can be accepted."),
    503: jsonAnswer(Readiness, "Requests can't be accepted for now."),
    ...noMethod,
  },
});

const MAX_LISTED = 100;

const WANT_LIMIT = `a whole number from 1 to ${MAX_LISTED}`;
export const WANT_AFTER = "`next` of the page before";
const WANT_STATUS = `one of ${JobStatus.options.join(", ")}`;
const WANT_NUMBER = "a turn's number, where 1 is the create";
const ListQuery = z.object({
  status: z.enum(JobStatus.options, WANT_STATUS).optional().describe("Only jobs with this status."),
  after: z.string().max(200, WANT_AFTER).optional().describe("`next` of the page before."),
  limit: atLeast(1, WANT_LIMIT).max(MAX_LISTED, WANT_LIMIT).default(20).describe("How many jobs at most."),
});

const TurnParams = JobParams.extend({
  number: atLeast(1, WANT_NUMBER).describe("The turn's number. The create is number 1."),
});

export const listJobsRoute = createRoute({
  method: "get",
  path: "/v2/agent/{projectId}/job",
  operationId: "listJobs",
  summary: "List jobs, the newest first",
  description:
    "Jobs that are created while the list is read don't shift its pages. A page may be short, and " +
    "even empty, although `next` leads to more.",
  security,
  request: { params: ProjectParams, query: ListQuery, headers: ReaderHeaders },
  responses: {
    200: jsonAnswer(JobList.extend({}).openapi("JobList"), "A page of jobs."),
    ...invalid,
    ...refusals,
  },
});

export const cancelTurnRoute = createRoute({
  method: "post",
  path: "/v2/agent/{projectId}/job/{id}/turn/{number}/cancel",
  operationId: "cancelTurn",
  summary: "Cancel a turn that waits or runs",
  description:
    "Stops the agent, and ends the turn with the outcome `cancelled`. A turn that has ended stays " +
    "as it is. Later turns of the job run on. If the turn was the job's last, the job's status is " +
    "`failed`.",
  security,
  request: { params: TurnParams },
  responses: { 200: jsonAnswer(JobAnswer, "The job with its turns, this one ended."), ...postRefusals },
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
  responses: { 200: jsonAnswer(JobAnswer, "The job with its turns, archived."), ...postRefusals },
});

export const readDiffRoute = createRoute({
  method: "get",
  path: "/v2/agent/{projectId}/job/{id}/diff",
  operationId: "readDiff",
  summary: "Read what a job changes",
  description:
    "What the job's branch, and so its pull request, changes against its base, also once it is " +
    "merged, and while a turn runs. It is read anew each time.",
  security,
  request: { params: JobParams },
  responses: {
    200: jsonAnswer(JobDiff.extend({}).openapi("Diff"), "The change."),
    ...refusals,
    404: refusal("No such project, no such job, or it changes nothing that can be found."),
    503: refusal("The change can't be read right now.", { "Retry-After": headerRef("RetryAfter") }),
  },
});

export const closePullRequestRoute = createRoute({
  method: "post",
  path: "/v2/agent/{projectId}/job/{id}/pull-request/close",
  operationId: "closePullRequest",
  summary: "Close a pull request that changes nothing anymore",
  description:
    "For a pull request whose turn says `isEmpty`. The service looks once " +
    "more, right before, that it still changes nothing. One that is closed already stays closed.",
  security,
  request: { params: JobParams },
  responses: {
    200: jsonAnswer(JobAnswer, "The job with its turns. Its pull request is closed."),
    ...postRefusals,
    404: refusal("No such project, no such job, or it has no pull request."),
    409: refusal("It stays as it is, because it was merged, changes something, or a turn has yet to end."),
    503: refusal("It can't be closed right now.", { "Retry-After": headerRef("RetryAfter") }),
  },
});

export const answerQuestionRoute = createRoute({
  method: "post",
  path: "/v2/agent/{projectId}/job/{id}/answer",
  operationId: "answerQuestion",
  summary: "Answer the agent's question",
  description:
    "With the id of a choice, or with text where the question allows it. The same answer may be " +
    "sent again. A question ends with its turn, or when nobody answers in time. From then on it " +
    "gets 404.",
  security,
  request: { params: JobParams, body: jsonBody(AnswerRequest) },
  responses: {
    200: jsonAnswer(JobAnswer, "The job with its questions; the answer is kept."),
    409: refusal("The question has another answer already."),
    ...bodyRefusals,
  },
});
