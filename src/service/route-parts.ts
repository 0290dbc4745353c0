import { z } from "@hono/zod-openapi";
import { Capability } from "../core/job-service.ts";
import { CAPABILITIES_HEADER, formatCapabilities } from "../job-client/capabilities.ts";
import { ErrorBody, WireJob } from "../job-client/schema.ts";

/** The most bytes of a request's body. */
export const MAX_BODY_BYTES = 256 * 1024;
/** … if it has attachments, which are larger in base64. */
export const MAX_BODY_BYTES_WITH_ATTACHMENTS = 12 * 1024 ** 2;

/** What `/openapi.json` says of the service as a whole. Without an address in the settings, it is where the document is. */
export function aboutService(publicBaseUrl: string | null) {
  return {
    openapi: "3.1.0",
    info: {
      title: "Docs Agent job service",
      version: "2",
      description:
        "Runs a coding agent in a checkout of a documentation repository and opens the pull request.",
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    servers: [{ url: publicBaseUrl ?? "/" }],
  };
}

/** Sent with every answer: what this service offers beyond the contract. */
export const CAPABILITIES = formatCapabilities(Capability.options);

export const ProjectParams = z.object({
  projectId: z.string().openapi({ description: "The project's id." }),
});
export const JobParams = ProjectParams.extend({ id: z.string().openapi({ description: "The job's id." }) });

/** By which a client asks for the optional fields of a job's record. */
export const ReaderHeaders = z.object({
  [CAPABILITIES_HEADER.toLowerCase()]: z.string().optional().openapi({
    description:
      "What the client reads beyond the contract, separated by commas: `turns` and `questions` add these fields to the job. Without this header the job has the contract's fields only.",
    example: "turns, questions",
  }),
});

export const JobAnswer = WireJob.extend({}).openapi("JobRecord");
const Fault = ErrorBody.extend({}).openapi("Error");

/** Headers of answers, which the document names once, by its name for each. */
export const HEADERS = {
  Capabilities: {
    description:
      "What this service offers beyond the contract, separated by commas. `idempotency-key`: a create or a message whose answer was lost may be sent again with the same `Idempotency-Key`. `turns`: jobs tell their turns. `questions`: and what their agent asks, which can be answered. `list`, `cancel`, `archive`: jobs can be listed, their turns canceled, and they can be archived. `attachments`: creates and messages take files. `requester`: creates and messages take `words` and `requester`.",
    required: true,
    schema: { type: "string", example: CAPABILITIES },
  },
  RetryAfter: { description: "Seconds to wait.", required: true, schema: { type: "integer" } },
  Authenticate: { description: "How to authenticate.", required: true, schema: { type: "string" } },
  Allow: { description: "The methods.", required: true, schema: { type: "string" } },
} as const;

type HeaderRefs = Record<string, { $ref: string }>;

function headerRef(name: keyof typeof HEADERS): { $ref: string } {
  return { $ref: `#/components/headers/${name}` };
}

const capabilities: HeaderRefs = { [CAPABILITIES_HEADER]: headerRef("Capabilities") };

/** An answer in JSON, as it is documented. */
export function json<T extends z.ZodType>(schema: T, description: string, headers: HeaderRefs = {}) {
  return {
    description,
    headers: { ...capabilities, ...headers },
    content: { "application/json": { schema } },
  };
}

function fault(description: string, headers: HeaderRefs = {}) {
  return json(Fault, description, headers);
}

/** What any operation may answer instead. */
export const faults = {
  400: fault("The request is not valid; `error` names the field."),
  401: fault("No key, or none that is known.", {
    "WWW-Authenticate": headerRef("Authenticate"),
  }),
  403: fault("The key is another project's."),
  404: fault("No such project, or no such job."),
  405: fault("Another method is wanted at this address.", { Allow: headerRef("Allow") }),
  408: { description: "The request wasn't complete within 30 s. The connection is closed." },
  409: fault("The question has another answer already."),
  413: fault(
    `The body has more than ${MAX_BODY_BYTES} bytes or, of a create or a message with attachments, more than ${MAX_BODY_BYTES_WITH_ATTACHMENTS}.`,
  ),
  415: fault("The body is not JSON, or it is encoded."),
  422: fault("The idempotency key was used for another request."),
  429: fault("Too many of them for now.", { "Retry-After": headerRef("RetryAfter") }),
  431: { description: "The headers have more than 16 KiB. The connection is closed." },
  500: fault("The service failed; whether the request was carried out is not known."),
};

/** An admin key is wanted. */
export const security = [{ adminKey: [] }];
