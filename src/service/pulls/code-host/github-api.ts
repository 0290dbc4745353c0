import { Octokit } from "@octokit/rest";
import { z } from "zod";
import type { Clock } from "../../../shared/machine/ports.ts";
import { oneLine, redactedLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";
import { TransientRunError } from "../../base/run-error.ts";
import type { GitHubSettings } from "../../config/config.ts";
import { boundedList } from "./bounded-list.ts";
import { type AnswerOptions, boundedFetch } from "./bounded-fetch.ts";
import {
  brokenPromise,
  faultOf,
  type FaultWords,
  MAX_LINE,
  MAX_SAID,
  RefusedByCodeHostError,
  SECONDARY_WAIT_MS,
  waitOf,
} from "./github-fault.ts";
import type { TokenProvider } from "./token-provider.ts";

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

const REQUEST_TIME_LIMIT_MS = 30_000;
export type GitHubOptions = Pick<GitHubSettings, "apiUrl" | "owner" | "repo"> & {
  tokens: TokenProvider;
  clock: Clock;
  redact: Redact;
} & AnswerOptions;

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
