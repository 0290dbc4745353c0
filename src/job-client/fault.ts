import type { JobServiceAnswer, JobServiceFault } from "../core/job-service.ts";
import type { AnswerHeaders, Exchange } from "./exchange.ts";
import { parseRetryAfter } from "./retry-after.ts";
import { ErrorBody, ReceivedJobRecord, toJob } from "./schema.ts";

const MAX_SAID_CHARS = 300;
/** What could forge a log line or reorder the text around it. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu;

/** What the reading of an exchange needs to know of the call. */
export type CallContext = {
  /** Names the call in messages; without base URL and secrets. */
  call: string;
  /** `host:port` of the job service. */
  host: string;
  /** Takes the API key out of a text. */
  redact: (text: string) => string;
  /** Epoch milliseconds. */
  now: () => number;
};

/** What an exchange means: a job, or one fault. */
export function readExchange(exchange: Exchange, context: CallContext): JobServiceAnswer {
  switch (exchange.kind) {
    case "unsendable":
      return refused(context, { kind: "rejected", message: `cannot be sent: ${exchange.reason}` });
    case "no-answer": {
      const kind = exchange.sent ? "unknown" : "not-created";
      return refused(context, {
        kind,
        message: `no answer from ${context.host} (${exchange.reason}); ${exchange.sent ? "it may have arrived" : "it was not sent"}`,
      });
    }
    case "answer":
      if (exchange.status >= 200 && exchange.status < 300) return readSuccess(exchange, context);
      return refused(context, readRefusal(exchange, context));
    default:
      return exchange satisfies never;
  }
}

type Answered = Extract<Exchange, { kind: "answer" }>;

function readSuccess({ status, body, reason }: Answered, context: CallContext): JobServiceAnswer {
  if (body === null) {
    return refused(context, { kind: "unknown", status, message: `answered ${status}, but: ${reason}` });
  }
  const json = parseJson(body);
  if (json === undefined) {
    return refused(context, { kind: "unknown", status, message: `answered ${status} without a JSON body` });
  }
  const record = ReceivedJobRecord.safeParse(json);
  if (record.success) return { ok: true, job: toJob(record.data) };
  const issues = record.error.issues.map(
    (issue) => `${issue.path.join(".") || "the record"}: ${issue.message}`,
  );
  return refused(context, {
    kind: "contract",
    status,
    message: `answered ${status} with a record that breaks the contract (${issues.join("; ")})`,
  });
}

function readRefusal({ status, headers, body }: Answered, context: CallContext): JobServiceFault {
  const kind = kindOfStatus(status);
  const retryAfterMs =
    kind === "not-created" ? parseRetryAfter(first(headers, "retry-after"), context.now) : null;
  const said = body === null ? null : readSaid(body, context.redact);
  return {
    kind,
    status,
    message: `answered ${status}${remedyFor(status)}`,
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
    ...(said === null ? {} : { said }),
  };
}

/** What a status other than 2xx says about whether the call had an effect, and whether to repeat it. */
function kindOfStatus(status: number): JobServiceFault["kind"] {
  if (status === 429 || status === 503) return "not-created";
  if (status === 404) return "missing";
  if (status === 408) return "unknown";
  if (status >= 300 && status < 500) return "rejected";
  return "unknown";
}

function remedyFor(status: number): string {
  if (status >= 300 && status < 400) {
    return ", a redirect: the base URL is wrong, set the address it leads to (redirects are not followed, they could carry the API key to another host)";
  }
  if (status === 401) return ": the API key is not accepted, check it";
  if (status === 403) return ": the API key may not do this in this project, check both";
  return "";
}

function readSaid(body: string, redact: (text: string) => string): string | null {
  const parsed = ErrorBody.safeParse(parseJson(body));
  if (!parsed.success) return null;
  // Redacted before it is cut: a cut key would no longer be recognised.
  const said = redact(parsed.data.error.replace(UNPRINTABLE, " ").trim());
  if (said === "") return null;
  return said.length <= MAX_SAID_CHARS ? said : `${said.slice(0, MAX_SAID_CHARS - 1).toWellFormed()}…`;
}

function refused({ call, redact }: CallContext, fault: JobServiceFault): JobServiceAnswer {
  return { ok: false, fault: { ...fault, message: redact(`${call}: ${fault.message}`) } };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function first(headers: AnswerHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}
