import type { z } from "zod";
import { LEVEL_HEADER } from "../../shared/contract/level.ts";
import { ErrorBody } from "../../shared/contract/request.ts";
import { MAX_BODY_BYTES, MAX_BODY_BYTES_WITH_ATTACHMENTS } from "./bounded-body.ts";

/** Headers of answers. The document describes each once and refers to it by name. */
export const HEADERS = {
  Level: {
    description:
      "What this service speaks. `docs-agent/1` is everything that this document describes but " +
      "answering reviews and bringing a branch up to date, which `docs-agent/2` adds, and asking for " +
      "an answer that changes nothing, which `docs-agent/3` adds. A create " +
      "or a message whose answer was lost may then be sent again with the same `Idempotency-Key`. " +
      "What follows the comma names the same part by part, for clients of an earlier version.",
    required: true,
    schema: { type: "string", example: "docs-agent/3, docs-agent/2, docs-agent/1" },
  },
  RetryAfter: { description: "Seconds to wait.", required: true, schema: { type: "integer" } },
  Authenticate: { description: "How to authenticate.", required: true, schema: { type: "string" } },
  Allow: { description: "The allowed methods.", required: true, schema: { type: "string" } },
} as const;

type HeaderRefs = Record<string, { $ref: string }>;

/** Refers to one of {@link HEADERS}. */
export function headerRef(name: keyof typeof HEADERS): { $ref: string } {
  return { $ref: `#/components/headers/${name}` };
}

const level: HeaderRefs = { [LEVEL_HEADER]: headerRef("Level") };

/** Describes an answer in JSON. */
export function jsonAnswer<T extends z.ZodType>(schema: T, description: string, headers: HeaderRefs = {}) {
  return {
    description,
    headers: { ...level, ...headers },
    content: { "application/json": { schema } },
  };
}

/** Describes a required body in JSON. */
export function jsonBody<T extends z.ZodType>(schema: T) {
  return { required: true, content: { "application/json": { schema } } };
}

/** Describes a refusal. */
export function refusal(description: string, headers: HeaderRefs = {}) {
  return jsonAnswer(ErrorBody, description, headers);
}

/** Refusals of any address. */
export const noMethod = {
  405: refusal("This address doesn't allow the method. `Allow` names those it does.", {
    Allow: headerRef("Allow"),
  }),
  431: { description: "The headers have more than 16 KiB. The connection is closed." },
};
/** Refusals that any operation of a project may answer with. */
export const refusals = {
  ...noMethod,
  401: refusal("The admin key is missing or unknown.", { "WWW-Authenticate": headerRef("Authenticate") }),
  403: refusal("The key belongs to another project."),
  404: refusal("No such project, or no such job."),
  500: refusal("The service failed. It isn't known whether the request was carried out."),
};
/** The refusal of what isn't as the document says. */
export const invalid = { 400: refusal("The request isn't valid. `error` names the field.") };
/** Refusals of any POST. */
export const postRefusals = {
  ...refusals,
  ...invalid,
  408: { description: "The request wasn't complete within 30 s. The connection is closed." },
  413: refusal(
    `The body is larger than ${MAX_BODY_BYTES} bytes, or ${MAX_BODY_BYTES_WITH_ATTACHMENTS} for a ` +
      "create or a message with attachments.",
  ),
};
/** Refusals of a POST with a body. */
export const bodyRefusals = { ...postRefusals, 415: refusal("The body is not JSON, or it is encoded.") };
/** Refusals of a create and a message. */
export const turnRefusals = {
  ...bodyRefusals,
  422: refusal("The idempotency key was used for another request."),
  429: refusal("Too many requests for now. Repeat it after `Retry-After`.", {
    "Retry-After": headerRef("RetryAfter"),
  }),
};
