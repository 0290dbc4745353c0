import { Octokit } from "@octokit/rest";
import { z } from "zod";
import type { Clock } from "../../../src/core/ports/clock.ts";
import { parseRetryAfter } from "../../../src/core/job/retry.ts";
import { messageOf } from "../../../src/core/errors.ts";
import { oneLine } from "../printable-text.ts";
import type { Redact } from "../redaction.ts";
import { TransientRunError, TurnFailedError } from "../run-error.ts";
import type { RunnerProject } from "../turn.ts";

/** What Octokit throws. */
const RequestFailure = z.object({
  status: z.int(),
  message: z.string(),
  response: z.object({ headers: z.record(z.string(), z.unknown()) }).optional(),
});

/** What it throws for an answer of GraphQL that has errors. */
const GraphqlFailure = z.object({ name: z.literal("GraphqlResponseError"), message: z.string() });

const REQUEST_TIME_LIMIT_MS = 30_000;
const MAX_BODY_BYTES = 20 * 1024 * 1024;

export type GitHubOptions = Omit<NonNullable<RunnerProject["codeHost"]>, "kind"> & {
  clock: Clock;
  redact: Redact;
};

/** The code host refused a request for good. `said`: its own words, bounded and redacted. */
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

/** One request: its route or its GraphQL document, and what its answer has to look like. */
type Asked<Data> = { doing: string; signal: AbortSignal; schema: z.ZodType<Data> };

/**
 * Requests to GitHub's API, or to what speaks it. They reject with a `TransientRunError` when
 * asking again may help, else with a {@link RefusedByCodeHostError}. Nothing is repeated here: a
 * whole turn is, cheaply.
 */
export class GitHubApi {
  readonly #options: GitHubOptions;
  readonly #octokit: Octokit;

  constructor(options: GitHubOptions) {
    const { apiUrl, token } = options;
    this.#options = options;
    this.#octokit = new Octokit({
      ...(token === null ? {} : { auth: token }),
      baseUrl: apiUrl.replace(/\/+$/, ""),
      userAgent: "docs-agent",
      request: { fetch: boundedFetch },
      // Its own lines would go to the console.
      log: { debug() {}, info() {}, warn() {}, error() {} },
    });
  }

  /** `route`: a method and a path, with `{owner}` and `{repo}` for those of the settings. */
  async ask<Data>(asked: Asked<Data>, route: string, params: Record<string, unknown> = {}): Promise<Data> {
    const { owner, repo } = this.#options;
    return this.#answer(asked, async (request) => {
      const { data } = await this.#octokit.request(route, { owner, repo, ...params, request });
      return data;
    });
  }

  async query<Data>(asked: Asked<Data>, document: string, variables: Record<string, string>): Promise<Data> {
    return this.#answer(asked, (request) => this.#octokit.graphql(document, { ...variables, request }));
  }

  async #answer<Data>(
    { doing, signal, schema }: Asked<Data>,
    send: (request: { signal: AbortSignal }) => Promise<unknown>,
  ): Promise<Data> {
    let data: unknown;
    try {
      data = await send({ signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIME_LIMIT_MS)]) });
    } catch (error) {
      signal.throwIfAborted();
      throw faultOf(doing, error, this.#options);
    }
    const parsed = schema.safeParse(data);
    if (parsed.success) return parsed.data;
    // A proxy or a page for people: more often a passing state than what will always be there.
    throw new TransientRunError("The code host's answer isn't what its API promises.", { details: [doing] });
  }
}

function faultOf(
  doing: string,
  error: unknown,
  { redact, tokenEnv, clock }: GitHubOptions,
): TransientRunError | RefusedByCodeHostError {
  const failure = RequestFailure.safeParse(error);
  const refused = GraphqlFailure.safeParse(error);
  if (refused.success) {
    const said = oneLine(redact(refused.data.message), 500);
    return new RefusedByCodeHostError("The code host refused.", { status: 200, said, details: [said] });
  }
  if (!failure.success) {
    const details = [`${doing}: ${oneLine(redact(messageOf(error)), 300)}`];
    return new TransientRunError("The code host can't be reached.", { details });
  }
  const { status, message, response } = failure.data;
  const said = oneLine(redact(message), 500);
  const headers = response?.headers ?? {};
  const isLimited =
    status === 429 ||
    (status === 403 && (headers["retry-after"] !== undefined || headers["x-ratelimit-remaining"] === "0"));
  // Octokit reports a lost connection as 500 without a response.
  if (isLimited || status >= 500) {
    return new TransientRunError(
      response ? `The code host answered ${status}.` : "The code host can't be reached.",
      {
        retryAfterMs: parseRetryAfter(headers["retry-after"], clock.now()),
        details: [`${doing}: ${said}`],
      },
    );
  }
  const [reason, advice] = refusalOf(status, tokenEnv);
  return new RefusedByCodeHostError(reason, { status, said, details: [advice, `${doing}: ${said}`] });
}

/** What a refusal means: the reason for people, and what the operator can do. */
function refusalOf(status: number, tokenEnv: string): [reason: string, advice: string] {
  switch (status) {
    case 401:
      return ["The code host refused the service's token.", `Set ${tokenEnv} to a valid token.`];
    case 403:
      return [
        "The service's token may not open pull requests.",
        `Give the token in ${tokenEnv} the right to write pull requests.`,
      ];
    case 404:
      return [
        "There is no such repository at the code host, or the service's token may not see it.",
        `Check codeHost.owner and codeHost.repo, and what the token in ${tokenEnv} may see.`,
      ];
    default:
      return [`The code host answered ${status}.`, ""];
  }
}

/** `fetch`, with an error instead of a response body of more than 20 MiB. */
async function boundedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  if (!response.body) return response;
  let bytes = 0;
  const bounded = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.length;
        if (bytes > MAX_BODY_BYTES) controller.error(new Error("The answer is too large"));
        else controller.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  return new Response(bounded, { status, statusText, headers });
}
