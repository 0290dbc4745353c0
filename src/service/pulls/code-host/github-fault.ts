import { z } from "zod";
import type { Clock } from "../../../shared/machine/ports.ts";
import { messageOf } from "../../../shared/errors.ts";
import { boundRetryAfterMs, parseRetryAfter } from "../../../shared/machine/retry-after.ts";
import { oneLine, redactedLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";
import { TransientRunError, TurnFailedError } from "../../base/run-error.ts";
import { RedirectedElsewhereError, TooLargeAnswerError } from "./bounded-fetch.ts";
import type { TokenProvider } from "./token-provider.ts";

/** The error that Octokit throws. */
const RequestFailure = z.object({
  status: z.int(),
  message: z.string(),
  response: z
    .object({
      headers: z.record(z.string(), z.unknown()),
      data: z.unknown(),
    })
    .optional(),
});
/** https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api */
const RefusalBody = z.object({
  message: z.string(),
  errors: z
    .array(
      z.union([
        z.string(),
        z.object({ message: z.string() }).transform(({ message }) => message),
        z
          .object({ field: z.string(), code: z.string() })
          .transform(({ field, code }) => `${field} is ${code.replaceAll("_", " ")}`),
        z.unknown().transform(() => ""),
      ]),
    )
    .catch([]),
});

/** GitHub's limit of what is made within a minute (https://github.com/cli/cli/issues/4801). */
const TOO_QUICK = /submitted too quickly/i;
/** The wait that GitHub asks for if a secondary limit names no time. */
export const SECONDARY_WAIT_MS = 60_000;
/** Of what a host says of a refusal. */
export const MAX_SAID = 500;
export const MAX_LINE = 500;
const MAX_LINES = 10;

/** What is needed to describe API faults in words. */
export type FaultWords = {
  clock: Clock;
  redact: Redact;
  /** What a refusal means: the reason, for people, and what the operator can do. */
  refusalOf: TokenProvider["refusalOf"];
};

/** The code host refused a request for good. `said` is its own text, bounded and redacted. */
export class RefusedByCodeHostError extends TurnFailedError {
  readonly status: number;
  readonly said: string;

  constructor(
    reason: string,
    { status, said, details }: { status: number; said: string; details: string[] },
  ) {
    super(reason, { details });
    this.status = status;
    this.said = said;
  }
}

const UNREACHED = "Check codeHost.apiUrl, the network, and HTTPS_PROXY if you set it.";

/**
 * This usually comes from a proxy or an error page, so it is more often temporary than permanent.
 */
export function brokenPromise(doing: string): TransientRunError {
  const details = ["Check that codeHost.apiUrl is the address of its API.", doing];
  return new TransientRunError("The code host's answer isn't what its API promises.", { details });
}

/** What an error of Octokit means. `doing` says what the request was for. */
export function faultOf(
  doing: string,
  error: unknown,
  { redact, clock, refusalOf }: FaultWords,
): TransientRunError | RefusedByCodeHostError {
  // Octokit wraps what `fetch` throws.
  if (error instanceof Error && error.cause instanceof RedirectedElsewhereError) {
    const { status, message } = error.cause;
    const details = [`${message} Correct codeHost.apiUrl.`, doing];
    return new RefusedByCodeHostError("The code host redirects to another host.", {
      status,
      said: "",
      details,
    });
  }
  if (error instanceof Error && error.cause instanceof TooLargeAnswerError) {
    const details = [`${doing}: ${error.cause.message}`];
    return new TransientRunError("The code host's answer is too large.", { details });
  }
  const failure = RequestFailure.safeParse(error);
  if (!failure.success) {
    const details = [UNREACHED, `${doing}: ${redactedLine(redact, messageOf(error), 300)}`];
    return new TransientRunError("The code host can't be reached.", { details });
  }
  const { status, message, response } = failure.data;
  const headers = response?.headers ?? {};
  const lines = wordsOf(status, headers, response?.data).map((line) => redactedLine(redact, line, MAX_LINE));
  const said =
    lines.length > 0 ? oneLine(lines.join(" "), MAX_SAID) : redactedLine(redact, message, MAX_SAID);
  const isSecondary = status === 403 && /secondary rate limit|abuse detection/i.test(said);
  const isLimited =
    status === 429 ||
    isSecondary ||
    (status === 422 && TOO_QUICK.test(said)) ||
    (status === 403 && (headers["retry-after"] !== undefined || headers["x-ratelimit-remaining"] === "0"));
  // Octokit reports a lost connection as a 500 without a response.
  if (isLimited || status >= 500) {
    const reason = response ? `The code host answered ${status}.` : "The code host can't be reached.";
    const retryAfterMs = waitOf(headers, clock) ?? (isLimited ? SECONDARY_WAIT_MS : null);
    const details = [...(response ? [] : [UNREACHED]), `${doing}: ${said}`];
    return new TransientRunError(reason, { retryAfterMs, details });
  }
  const permissions = permissionsOf(headers["x-accepted-github-permissions"]);
  const [reason, advice] = refusalOf({ status, said: lines, permissions });
  return new RefusedByCodeHostError(reason, { status, said, details: [advice, `${doing}: ${said}`] });
}

/** The lines of what the host says, with what only a status or a header says put into words. */
function wordsOf(status: number, headers: Readonly<Record<string, unknown>>, body: unknown): string[] {
  const parsed = RefusalBody.safeParse(body).data;
  // Any other body comes from a proxy or an error page.
  const lines = parsed === undefined ? [] : [parsed.message, ...parsed.errors.slice(0, MAX_LINES)];
  // https://docs.github.com/en/rest/authentication/authenticating-to-the-rest-api
  const sso = headers["x-github-sso"];
  if (typeof sso === "string" && sso.startsWith("required")) lines.push("Single sign-on is required.");
  if (status === 410) lines.push("Pull requests are disabled.");
  return lines.filter((line) => line !== "" && line !== "Validation Failed");
}

/** The wait that the host asks for, in milliseconds, or null if it doesn't say. */
export function waitOf(headers: Readonly<Record<string, unknown>>, clock: Clock): number | null {
  const asked = parseRetryAfter(headers["retry-after"], clock.wallMs());
  if (asked !== null || headers["x-ratelimit-remaining"] !== "0") return asked;
  const resetAt = Number(headers["x-ratelimit-reset"]) * 1000;
  return Number.isNaN(resetAt) ? null : boundRetryAfterMs(resetAt - clock.wallMs());
}

/**
 * Puts `issues=write,contents=read; pull_requests=write` into words. Null if the host doesn't say.
 */
function permissionsOf(header: unknown): string | null {
  if (typeof header !== "string" || !/^[a-z_=,; ]{1,300}$/.test(header)) return null;
  const either = header.split(";").map((all) => all.trim().split(/ *, */).join(" and "));
  return either.join(" or ").replaceAll("=", ": ");
}

/** Resolves to null if the host answers with one of these statuses, or refuses at all. */
export async function unlessRefused<T>(answer: Promise<T>, statuses?: readonly number[]): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RefusedByCodeHostError && statuses?.includes(error.status) !== false) return null;
    throw error;
  }
}
