import type { Announced, AnswerWith, FeedChanges, JobServiceFault } from "../rules/ports/job-service.ts";
import { JobDiff } from "../../shared/contract/diff.ts";
import { cut, jsonOf } from "../../shared/text/text.ts";
import { ErrorBody } from "../../shared/contract/request.ts";
import { LEVEL_KEY, levelOfService, saysItHonorsKeys } from "../../shared/contract/level.ts";
import type { Exchange } from "./exchange.ts";
import {
  ReadBesideChanges,
  ReadBeyondContract,
  ReadChanges,
  ReadJob,
  type ReportedJob,
} from "../rules/known-job.ts";
import { parseRetryAfter } from "../../shared/machine/retry-after.ts";

const MAX_SAID_CHARS = 300;
/** Characters that could forge a log line or reorder the text around it. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu;

/** What reading an exchange needs to know about the call. */
type CallContext = {
  /** Names the call in messages, without base URL and secrets. */
  call: string;
  /** True if the call only reads, so it has no effect whatever the answer. */
  isRead: boolean;
  /** The job that the answer must be about. Null for a create. */
  jobId: string | null;
  /** `host:port` of the job service. */
  host: string;
  /** True if the project's settings say that its service honors idempotency keys. */
  honorsIdempotencyKeys: boolean;
  /** Removes the API key from a text. */
  redact: (text: string) => string;
};

/** What a body says, without secrets. `problem`: how it breaks the contract. */
export type Reader<T> = (json: unknown, context: CallContext) => T | { problem: string };

/** Interprets an exchange as what `read` makes of a body in JSON, or a fault. */
export function readExchange<T extends object>(
  exchange: Exchange,
  context: CallContext,
  read: Reader<T>,
): Announced & AnswerWith<T> {
  const said = exchange.kind === "answer" ? exchange.headers[LEVEL_KEY] : null;
  const honorsIdempotencyKeys = context.honorsIdempotencyKeys || saysItHonorsKeys(said);
  const announced = { honorsIdempotencyKeys, level: levelOfService(said) };
  const found = readOutcome(exchange, context, read);
  if (!("message" in found)) return { ...announced, ok: true, ...found };
  const message = context.redact(`${context.call}: ${found.message}`);
  return { ...announced, ok: false, fault: { ...found, message } };
}

function readOutcome<T extends object>(
  exchange: Exchange,
  context: CallContext,
  read: Reader<T>,
): T | JobServiceFault {
  if (exchange.kind === "unsendable") {
    return { kind: "rejected", message: `cannot be sent: ${exchange.reason}` };
  }
  if (exchange.kind === "no-answer") {
    const [kind, effect] = exchange.sent
      ? (["unknown", "it may have arrived"] as const)
      : (["not-created", "it was not sent"] as const);
    const { reason } = exchange;
    return { kind, reason, message: `no answer from ${context.host} (${reason}); ${effect}` };
  }
  const isSuccess = exchange.status >= 200 && exchange.status < 300;
  return isSuccess ? readSuccess(exchange, context, read) : readRefusal(exchange, context);
}

type Answered = Extract<Exchange, { kind: "answer" }>;

function readSuccess<T extends object>(
  { status, body, reason }: Answered,
  context: CallContext,
  read: Reader<T>,
): T | JobServiceFault {
  if (body === null) return { kind: "unknown", status, message: `answered ${status}, but: ${reason}` };
  const json = jsonOf(body);
  if (json === undefined) {
    return { kind: "unknown", status, message: `answered ${status} without a JSON body` };
  }
  const found = read(json, context);
  if ("problem" in found) {
    return { kind: "contract", status, message: `answered ${status} with ${found.problem}` };
  }
  return found;
}

/** Reads a record of the job that the call is about. */
export function readJob(
  json: unknown,
  { jobId, redact }: CallContext,
): Required<ReportedJob> | { problem: string } {
  const record = ReadJob.safeParse(json);
  if (!record.success) {
    const issues = record.error.issues.map(
      (issue) => `${issue.path.join(".") || "the record"}: ${issue.message}`,
    );
    return { problem: `a record that breaks the contract (${issues.join("; ")})` };
  }
  if (jobId !== null && record.data.id !== jobId) return { problem: "the record of another job" };
  // People will read it, so a service must not be able to repeat the key in it.
  return { job: record.data, report: ReadBeyondContract.parse(redacted(json, redact) ?? {}) };
}

/** Reads an answer of the feed. Jobs that can't be read are left out. */
export function readChanges(json: unknown, context: CallContext): FeedChanges | { problem: string } {
  const page = ReadChanges.safeParse(json);
  if (!page.success) return { problem: "what isn't an answer of a feed" };
  const { jobs, next } = page.data;
  // Each job once: of several, the last one is the newest.
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const changed = [...byId.values()].flatMap((job) => {
    const read = readJob(job, context);
    return "problem" in read ? [] : [read];
  });
  return { changed, next, ...ReadBesideChanges.parse(redacted(json, context.redact) ?? {}) };
}

export function readJobDiff(json: unknown, { redact }: CallContext): { diff: JobDiff } | { problem: string } {
  const diff = JobDiff.safeParse(redacted(json, redact));
  return diff.success ? { diff: diff.data } : { problem: "a diff that can't be read" };
}

function readRefusal({ status, headers, body }: Answered, context: CallContext): JobServiceFault {
  const asked = parseRetryAfter([headers["retry-after"]].flat()[0], Date.now());
  const error = ErrorBody.safeParse(jsonOf(body ?? "")).data?.error;
  const isContracts = error !== undefined;
  const isServices = isContracts || asked !== null;
  const kind = kindOfStatus(status, { isContracts, isServices, isRead: context.isRead });
  const said = cleaned(error ?? "", context.redact);
  return {
    kind,
    status,
    message: `answered ${status}${isContracts ? "" : NOT_SERVICES}${remedyFor(status, isContracts)}`,
    ...(kind === "not-created" && asked !== null ? { retryAfterMs: asked } : {}),
    ...(said === null ? {} : { said }),
  };
}

/**
 * Statuses that refuse a create or a message for good, whoever sends them. They concern the request
 * itself (its key, form or size), which was refused before it had an effect. Repeating it for a day
 * wouldn't help and would only delay the message that says what to do, so the body needn't follow
 * the contract.
 */
const REFUSED_BY_ANYONE = new Set([400, 401, 403, 413, 422]);
/**
 * 4xx that don't tell if the call had an effect: 408 and nginx's 499 mean that someone stopped
 * waiting.
 */
const STOPPED_WAITING = new Set([408, 499]);

/** Derives from a status other than 2xx if the call had an effect and if it is worth repeating. */
function kindOfStatus(
  status: number,
  by: { isContracts: boolean; isServices: boolean; isRead: boolean },
): JobServiceFault["kind"] {
  // A gateway also answers 429 and 503 after it has passed the request on (after its own retry, or
  // if the service stopped).
  if (status === 429 || status === 503) return by.isServices ? "not-created" : "unknown";
  if (status < 300 || status >= 500 || STOPPED_WAITING.has(status)) return "unknown";
  if (status >= 400 && by.isContracts) return status === 404 ? "missing" : "rejected";
  // From here on, something in front of the service answered in its place, such as a redirect or a
  // page for people.
  if (by.isRead) return "unknown";
  return REFUSED_BY_ANYONE.has(status) ? "rejected" : "not-created";
}

const NOT_SERVICES = " without the job service's JSON";

function remedyFor(status: number, isContracts: boolean): string {
  if (status >= 300 && status < 400) {
    return (
      ", a redirect: the base URL is wrong, set the address it leads to (redirects are not " +
      "followed, they could carry the API key to another host)"
    );
  }
  const front = isContracts ? "" : ", the base URL, and what stands in front of the service";
  if (status === 401) return `: the API key is not accepted, check it${front}`;
  if (status === 403) return `: the API key may not do this in this project, check both${front}`;
  if (status === 404 && !isContracts) return ": check the base URL, and what stands in front of the service";
  return "";
}

/** One bounded line without secrets. Null if nothing is left. */
function cleaned(error: string, redact: (text: string) => string): string | null {
  // Redacted before it is cut, because a cut key would no longer be recognized.
  return cut(redact(error.replace(UNPRINTABLE, " ").trim()), MAX_SAID_CHARS) || null;
}

/** A copy of the JSON with the API key removed from its texts. */
function redacted(json: unknown, redact: (text: string) => string): unknown {
  return jsonOf(redact(JSON.stringify(json)));
}
