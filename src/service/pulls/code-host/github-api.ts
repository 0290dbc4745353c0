import { Octokit } from "@octokit/rest";
import { z } from "zod";
import type { Clock } from "../../../shared/machine/ports.ts";
import { messageOf } from "../../../shared/errors.ts";
import { oneLine, redactedLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";
import { TransientRunError, TurnFailedError } from "../../base/run-error.ts";
import type { GitHubSettings } from "../../config/config.ts";
import { boundedList } from "./bounded-list.ts";
import {
  type AnswerOptions,
  boundedFetch,
  RedirectedElsewhereError,
  TooLargeAnswerError,
} from "./bounded-fetch.ts";
import type { TokenProvider } from "./token-provider.ts";
import { boundRetryAfterMs, parseRetryAfter } from "../../../shared/machine/retry-after.ts";

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

/** An error in one part of a GraphQL answer. */
const GraphqlError = z.object({
  type: z.string().nullish(),
  message: z.string().catch(""),
  path: boundedList(z.union([z.string(), z.number()])).nullish(),
});
export type GraphqlError = z.infer<typeof GraphqlError>;
const GraphqlAnswer = z.object({
  data: z.unknown().optional(),
  errors: boundedList(GraphqlError).default([]),
});

/** GitHub's limit of what is made within a minute (https://github.com/cli/cli/issues/4801). */
const TOO_QUICK = /submitted too quickly/i;
/** The wait that GitHub asks for if a secondary limit names no time. */
const SECONDARY_WAIT_MS = 60_000;
const REQUEST_TIME_LIMIT_MS = 30_000;
/** Of what a host says of a refusal. */
const [MAX_SAID, MAX_LINES, MAX_LINE] = [500, 10, 500];

/** What is needed to describe API faults in words. */
export type FaultWords = {
  clock: Clock;
  redact: Redact;
  /** What a refusal means: the reason, for people, and what the operator can do. */
  refusalOf: TokenProvider["refusalOf"];
};

export type GitHubOptions = Pick<GitHubSettings, "apiUrl" | "owner" | "repo"> & {
  tokens: TokenProvider;
  clock: Clock;
  redact: Redact;
} & AnswerOptions;

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

/** One request: what it does, in words, and the schema that its answer must match. */
export type Asked<Data> = { doing: string; signal: AbortSignal; schema: z.ZodType<Data> };

/** What each request carries. `headers` authenticate it. */
type Sending = { request: { signal: AbortSignal }; headers: Record<string, string> };
type Answer<Data> = { data: Data; headers: Readonly<Record<string, unknown>> };

/**
 * Sends requests to GitHub's API, or a compatible one. They reject with a `TransientRunError` if
 * asking again may help, and otherwise with a {@link RefusedByCodeHostError}. A request is only
 * repeated here if its token had expired. Otherwise the whole turn is repeated, which is cheap.
 */
export class GitHubApi {
  readonly #options: GitHubOptions;
  readonly #octokit: Octokit;

  constructor(options: GitHubOptions) {
    this.#options = options;
    const fetch = (url: string, init?: RequestInit) => boundedFetch(url, init, options);
    this.#octokit = new Octokit({ ...octokitOptions(options.apiUrl), request: { fetch } });
  }

  /**
   * `route` is a method and a path. `{owner}` and `{repo}` in it are replaced by those of the
   * settings.
   */
  async ask<Data>(asked: Asked<Data>, route: string, params: Record<string, unknown> = {}): Promise<Data> {
    return (await this.answer(asked, route, params)).data;
  }

  /** Like {@link ask}, with the answer's headers. */
  async answer<Data>(
    asked: Asked<Data>,
    route: string,
    params: Record<string, unknown> & { headers?: Record<string, string> } = {},
  ): Promise<Answer<Data>> {
    const { owner, repo } = this.#options;
    return this.#asMe(asked, ({ request, headers }) => {
      const sent = { owner, repo, ...params, request };
      return this.#octokit.request(route, { ...sent, headers: { ...params.headers, ...headers } });
    });
  }

  /**
   * Like {@link answer}. Resolves to null if nothing has changed since the answer with this `etag`.
   */
  async answerIfChanged<Data>(
    asked: Asked<Data>,
    route: string,
    { etag, ...params }: Record<string, unknown> & { etag: string | null },
  ): Promise<Answer<Data> | null> {
    const headers = etag === null ? {} : { "if-none-match": etag };
    try {
      return await this.answer(asked, route, { ...params, headers });
    } catch (error) {
      // Octokit treats a 304 as a failure.
      if (error instanceof RefusedByCodeHostError && error.status === 304) return null;
      throw error;
    }
  }

  /**
   * Sends a GraphQL query. `errors` say what is missing from an answer that still matches the
   * schema.
   */
  async query<Data>(
    asked: Asked<Data>,
    query: string,
    variables: Record<string, unknown>,
  ): Promise<{ data: Data; errors: GraphqlError[] }> {
    const { apiUrl, tokens, clock, redact } = this.#options;
    const route = `POST ${apiUrl.replace(/(?:\/v3)?\/*$/, "")}/graphql`;
    const { data: answer, headers } = await this.#asMe({ ...asked, schema: GraphqlAnswer }, (sending) =>
      this.#octokit.request(route, { query, variables, ...sending }),
    );
    const { data, errors } = answer;
    const lines = errors.map(({ message }) => redactedLine(redact, message, MAX_LINE));
    const said = oneLine(lines.join(" "), MAX_SAID);
    if (errors.some(({ type }) => type === "RATE_LIMITED")) {
      const retryAfterMs = waitOf({ ...headers, "x-ratelimit-remaining": "0" }, clock) ?? SECONDARY_WAIT_MS;
      throw new TransientRunError("The code host's limit is reached.", { retryAfterMs, details: [said] });
    }
    const parsed = asked.schema.safeParse(data);
    if (parsed.success) return { data: parsed.data, errors };
    if (errors.length === 0) throw brokenPromise(asked.doing);
    const [reason, advice] = tokens.refusalOf({ status: 200, said: lines, permissions: null });
    throw new RefusedByCodeHostError(reason, { status: 200, said, details: [advice, said] });
  }

  async #asMe<Data>(
    asked: Asked<Data>,
    send: (sending: Sending) => Promise<Answer<unknown>>,
  ): Promise<Answer<Data>> {
    const { tokens, clock, redact } = this.#options;
    const words: FaultWords = { clock, redact, refusalOf: (refusal) => tokens.refusalOf(refusal) };
    for (let isAgain = false; ; isAgain = true) {
      const token = await tokens.token(asked.signal);
      const headers = token === null ? {} : { authorization: `token ${token}` };
      try {
        return await answered(asked, words, (request) => send({ request, headers }));
      } catch (error) {
        const isRefused = error instanceof RefusedByCodeHostError && error.status === 401;
        if (!isRefused || token === null || !tokens.drop(token)) throw error;
        // It may take a moment until all of the host's servers accept a new token.
        if (isAgain) throw new TransientRunError(error.message, { cause: error, details: error.details });
      }
    }
  }
}

/** Options for Octokit, without a token and without logging. */
export function octokitOptions(apiUrl: string) {
  return {
    baseUrl: apiUrl.replace(/\/+$/, ""),
    userAgent: "docs-agent",
    request: { fetch: boundedFetch },
    // Octokit would write its own log lines to the console.
    log: { debug() {}, info() {}, warn() {}, error() {} },
  };
}

/** Sends one request and checks the answer. Rejects as {@link GitHubApi} does. */
export async function answered<Data>(
  { doing, signal, schema }: Asked<Data>,
  words: FaultWords,
  send: (request: { signal: AbortSignal }) => Promise<Answer<unknown>>,
): Promise<Answer<Data>> {
  let answer: Answer<unknown>;
  try {
    answer = await send({ signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIME_LIMIT_MS)]) });
  } catch (error) {
    signal.throwIfAborted();
    throw faultOf(doing, error, words);
  }
  const parsed = schema.safeParse(answer.data);
  if (parsed.success) return { data: parsed.data, headers: answer.headers };
  throw brokenPromise(doing);
}

/**
 * This usually comes from a proxy or an error page, so it is more often temporary than permanent.
 */
export function brokenPromise(doing: string): TransientRunError {
  return new TransientRunError("The code host's answer isn't what its API promises.", { details: [doing] });
}

function faultOf(
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
    const details = [`${doing}: ${redactedLine(redact, messageOf(error), 300)}`];
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
    return new TransientRunError(reason, { retryAfterMs, details: [`${doing}: ${said}`] });
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
function waitOf(headers: Readonly<Record<string, unknown>>, clock: Clock): number | null {
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
