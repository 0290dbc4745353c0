import { createRoute, z } from "@hono/zod-openapi";
import { CAPABILITIES_HEADER, IDEMPOTENCY_KEY_CAPABILITY } from "../job-client/capabilities.ts";
import { CreateJobRequest, ErrorBody, WireJobRecord, MessageRequest } from "../job-client/schema.ts";

/** The most bytes of a request's body. */
export const MAX_BODY_BYTES = 256 * 1024;
/** The most bytes of a prompt in UTF-8. */
export const MAX_PROMPT_BYTES = 64 * 1024;

const WANT_PROMPT = `put a text of 1 to ${MAX_PROMPT_BYTES} bytes in UTF-8`;
const Prompt = z
  .string(WANT_PROMPT)
  .min(1, WANT_PROMPT)
  .refine((prompt) => Buffer.byteLength(prompt) <= MAX_PROMPT_BYTES, WANT_PROMPT)
  .openapi({ description: `What the agent is to do, at most ${MAX_PROMPT_BYTES} bytes in UTF-8.` });

const WANT_KEY = "put 1 to 255 printable ASCII characters without spaces";
const IdempotencyHeaders = z.object({
  "idempotency-key": z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, WANT_KEY)
    .optional()
    .openapi({
      description:
        "The same key with the same request gets the first answer again, for 7 days; with another request 422. Keys are a project's own.",
    }),
});

const ProjectParams = z.object({ projectId: z.string().openapi({ description: "The project's id." }) });
const JobParams = ProjectParams.extend({ id: z.string().openapi({ description: "The job's id." }) });

export const Health = z.object({ status: z.literal("ok") }).openapi("Health");
export const Readiness = z
  .object({
    status: z.enum(["ok", "unavailable"]),
    tasks: z.object({ waiting: z.int(), running: z.int(), dead: z.int() }).nullable(),
  })
  .openapi("Readiness");

const Job = WireJobRecord.extend({}).openapi("JobRecord");
const Fault = ErrorBody.extend({}).openapi("Error");

/** Sent with every answer: what this service offers beyond the contract. */
export const CAPABILITIES = IDEMPOTENCY_KEY_CAPABILITY;

const capabilities = {
  [CAPABILITIES_HEADER]: {
    description:
      "What this service offers beyond the contract, separated by commas. `idempotency-key`: a create or a message whose answer was lost may be sent again with the same `Idempotency-Key`.",
    required: true,
    schema: { type: "string" as const, example: CAPABILITIES },
  },
};

type Headers = Record<
  string,
  { description?: string; required: true; schema: { type: "integer" | "string" } }
>;

function json<T extends z.ZodType>(schema: T, description: string, headers: Headers = {}) {
  return {
    description,
    headers: { ...capabilities, ...headers },
    content: { "application/json": { schema } },
  };
}

function fault(description: string, headers: Headers = {}) {
  return json(Fault, description, headers);
}

const retryAfter: Headers = {
  "Retry-After": { description: "Seconds to wait.", required: true, schema: { type: "integer" } },
};
const faults = {
  400: fault("The request is not valid; `error` names the field."),
  401: fault("No key, or none that is known.", {
    "WWW-Authenticate": { required: true, schema: { type: "string" } },
  }),
  403: fault("The key is another project's."),
  404: fault("No such project, or no such job."),
  413: fault(`The body has more than ${MAX_BODY_BYTES} bytes.`),
  415: fault("The body is not JSON."),
  422: fault("The idempotency key was used for another request."),
  429: fault("Too many creates or messages in an hour, or too many turns wait.", retryAfter),
  500: fault("The service failed; whether the request was accepted is not known."),
};
const security = [{ adminKey: [] }];

export const createJobRoute = createRoute({
  method: "post",
  path: "/v2/agent/{projectId}/job",
  operationId: "createJob",
  summary: "Create a job",
  security,
  request: {
    params: ProjectParams,
    headers: IdempotencyHeaders,
    body: {
      required: true,
      content: {
        "application/json": {
          schema: CreateJobRequest.extend({ prompt: Prompt }).openapi("CreateJobRequest"),
        },
      },
    },
  },
  responses: { 201: json(Job, "The job, accepted for good."), ...faults },
});

export const getJobRoute = createRoute({
  method: "get",
  path: "/v2/agent/{projectId}/job/{id}",
  operationId: "getJob",
  summary: "Read a job",
  security,
  request: { params: JobParams },
  responses: {
    200: json(Job, "The job."),
    401: faults[401],
    403: faults[403],
    404: faults[404],
    500: faults[500],
  },
});

export const sendMessageRoute = createRoute({
  method: "post",
  path: "/v2/agent/{projectId}/job/{id}/message",
  operationId: "sendMessage",
  summary: "Give a job a follow-up prompt, which becomes its next turn",
  description:
    "While a turn runs, the message waits for its end. A failed job takes messages and becomes active again; an archived one answers 400.",
  security,
  request: {
    params: JobParams,
    headers: IdempotencyHeaders,
    body: {
      required: true,
      content: {
        "application/json": { schema: MessageRequest.extend({ prompt: Prompt }).openapi("MessageRequest") },
      },
    },
  },
  responses: { 200: json(Job, "The job, active; the message is accepted for good."), ...faults },
});

export const healthRoute = createRoute({
  method: "get",
  path: "/healthz",
  operationId: "health",
  summary: "Whether the process lives",
  responses: { 200: json(Health, "It does.") },
});

export const readinessRoute = createRoute({
  method: "get",
  path: "/readyz",
  operationId: "readiness",
  summary: "Whether requests can be accepted",
  responses: { 200: json(Readiness, "They can."), 503: json(Readiness, "They cannot, for now.") },
});
