import { createRoute, z } from "@hono/zod-openapi";
import { ATTACHMENT_LIMITS, ATTACHMENT_TYPE } from "../core/attachment.ts";
import { CreateJobRequest, MessageRequest } from "../job-client/schema.ts";
import { faults, JobAnswer, JobParams, json, ProjectParams, ReaderHeaders, security } from "./route-parts.ts";

/** The most bytes of a prompt in UTF-8. */
export const MAX_PROMPT_BYTES = 64 * 1024;

const MAX_WORDS_CHARS = 8000;
const MAX_NAME_CHARS = 200;
const MAX_LINK_CHARS = 2000;

const WANT_PROMPT = `a text of 1 to ${MAX_PROMPT_BYTES} bytes in UTF-8 with something to read in it`;
/** Neither white space nor something that nobody sees, such as an empty cell of Braille. */
const VISIBLE = /[^\u2800\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u;
const Prompt = z
  .string(WANT_PROMPT)
  .min(1, WANT_PROMPT)
  .refine((prompt) => VISIBLE.test(prompt) && prompt.isWellFormed(), WANT_PROMPT)
  .refine((prompt) => Buffer.byteLength(prompt) <= MAX_PROMPT_BYTES, WANT_PROMPT)
  .openapi({
    description: `What the agent is to do, at most ${MAX_PROMPT_BYTES} bytes in UTF-8, with something to read in it.`,
  });

const { count, bytes, totalBytes, nameChars } = ATTACHMENT_LIMITS;
const WANT_LIST = `a list of at most ${count} attachments`;
const WANT_NAME = `a file name of 1 to ${nameChars} characters`;
const WANT_TYPE =
  "text/…, image/png, image/jpeg, image/gif, image/webp, application/pdf, application/json or application/yaml";
const WANT_DATA = `a file of 1 to ${bytes} bytes in base64`;
const WANT_ATTACHMENT = "an object with name, mediaType and data";
const Attachment = z
  .object(
    {
      name: z
        .string(WANT_NAME)
        .min(1, WANT_NAME)
        .max(nameChars, WANT_NAME)
        .refine((name) => name.isWellFormed(), WANT_NAME)
        .openapi({ description: "The file's name, for the agent and for people.", example: "shot.png" }),
      mediaType: z.string(WANT_TYPE).regex(ATTACHMENT_TYPE, WANT_TYPE).openapi({
        description: "The file has to be what this says. Text is in UTF-8.",
        example: "image/png",
      }),
      data: z
        .string(WANT_DATA)
        .min(1, WANT_DATA)
        .max(4 * Math.ceil(bytes / 3), WANT_DATA)
        .openapi({ description: "The file in base64, with padding." }),
    },
    WANT_ATTACHMENT,
  )
  .openapi("Attachment");
const WANT_WORDS = `a text of 1 to ${MAX_WORDS_CHARS} characters with something to read in them`;
const WANT_REQUESTER = "an object with name, link and isPrivate";
const WANT_PERSON = `a text of 1 to ${MAX_NAME_CHARS} characters with something to read in them`;
const WANT_LINK = `an http or https address of at most ${MAX_LINK_CHARS} characters, or null`;
const textOf = (maxChars: number, want: string) =>
  z
    .string(want)
    .min(1, want)
    .max(maxChars, want)
    .refine((text) => VISIBLE.test(text) && text.isWellFormed(), want);
const Requester = z
  .object(
    {
      name: textOf(MAX_NAME_CHARS, WANT_PERSON).openapi({
        description: "The person's name, for people.",
        example: "Ana",
      }),
      link: z
        .url({ protocol: /^https?$/, error: WANT_LINK })
        .max(MAX_LINK_CHARS, WANT_LINK)
        .nullable()
        .openapi({
          description: "Where the person asked; null if there is no link to it.",
        }),
      isPrivate: z.boolean("true or false").openapi({
        description: "True if not everybody in the workspace can read the place where the person asked.",
      }),
    },
    WANT_REQUESTER,
  )
  .openapi("Requester");
const PromptBody = {
  prompt: Prompt,
  words: textOf(MAX_WORDS_CHARS, WANT_WORDS).optional().openapi({
    description:
      "The part of the prompt that the person typed. Pull requests and commit messages quote these words and nothing else of the prompt.",
  }),
  requester: Requester.optional().openapi({ description: "Who asked. Kept with the turn, shown nowhere." }),
  attachments: z
    .array(Attachment, WANT_LIST)
    .max(count, WANT_LIST)
    .optional()
    .openapi({
      description: `Files for the agent, at most ${totalBytes} bytes together. They are kept until the turn has ended.`,
    }),
};

const WANT_KEY = "1 to 255 printable ASCII characters without spaces";
const WriterHeaders = ReaderHeaders.extend({
  "idempotency-key": z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, WANT_KEY)
    .optional()
    .openapi({
      description:
        "The same key with the same request gets the first answer again, for 7 days; with another request 422. Keys are a project's own.",
    }),
});

export const Health = z.object({ status: z.literal("ok").describe("The process lives.") }).openapi("Health");
export const Readiness = z
  .object({
    status: z.enum(["ok", "unavailable"]).openapi({ description: "Whether requests can be accepted." }),
    tasks: z
      .object({
        waiting: z.int().describe("What waits."),
        running: z.int().describe("Turns that run."),
        dead: z.int().describe("Abandoned tasks."),
      })
      .nullable()
      .openapi({
        description: "`running` counts the turns that run now; those that wait for room are in `waiting`.",
      }),
  })
  .openapi("Readiness");

const refusals = {
  400: faults[400],
  401: faults[401],
  403: faults[403],
  404: faults[404],
  405: faults[405],
  408: faults[408],
  413: faults[413],
  415: faults[415],
  422: faults[422],
  429: faults[429],
  431: faults[431],
  500: faults[500],
};

export const createJobRoute = createRoute({
  method: "post",
  path: "/v2/agent/{projectId}/job",
  operationId: "createJob",
  summary: "Create a job",
  security,
  request: {
    params: ProjectParams,
    headers: WriterHeaders,
    body: {
      required: true,
      content: {
        "application/json": {
          schema: CreateJobRequest.extend(PromptBody).openapi("CreateJobRequest"),
        },
      },
    },
  },
  responses: { 201: json(JobAnswer, "The job, accepted for good."), ...refusals },
});

export const getJobRoute = createRoute({
  method: "get",
  path: "/v2/agent/{projectId}/job/{id}",
  operationId: "getJob",
  summary: "Read a job",
  security,
  request: { params: JobParams, headers: ReaderHeaders },
  responses: {
    200: json(JobAnswer, "The job."),
    401: faults[401],
    403: faults[403],
    404: faults[404],
    405: faults[405],
    431: faults[431],
    500: faults[500],
  },
});

export const sendMessageRoute = createRoute({
  method: "post",
  path: "/v2/agent/{projectId}/job/{id}/message",
  operationId: "sendMessage",
  summary: "Give a job a follow-up prompt, which becomes its next turn",
  description:
    "While a turn runs, the message waits for its end. A failed job takes messages and becomes active again. An archived one takes none: 400, and `error` says so; create a new job.",
  security,
  request: {
    params: JobParams,
    headers: WriterHeaders,
    body: {
      required: true,
      content: {
        "application/json": { schema: MessageRequest.extend(PromptBody).openapi("MessageRequest") },
      },
    },
  },
  responses: { 200: json(JobAnswer, "The job, active; the message is accepted for good."), ...refusals },
});

export const healthRoute = createRoute({
  method: "get",
  path: "/healthz",
  operationId: "health",
  summary: "Whether the process lives",
  security: [],
  responses: { 200: json(Health, "It does."), 405: faults[405], 431: faults[431] },
});

export const readinessRoute = createRoute({
  method: "get",
  path: "/readyz",
  operationId: "readiness",
  summary: "Whether requests can be accepted",
  security: [],
  responses: {
    200: json(Readiness, "They can."),
    405: faults[405],
    431: faults[431],
    503: json(Readiness, "They cannot, for now."),
  },
});
