import { Octokit } from "@octokit/rest";
import { z } from "zod";
import type { Clock } from "../../../src/core/ports/clock.ts";
import { parseRetryAfter } from "../../../src/core/job/retry.ts";
import { messageOf } from "../../../src/core/errors.ts";
import { oneLine } from "../printable-text.ts";
import type { Redact } from "../redaction.ts";
import { TransientRunError, TurnFailedError } from "../run-error.ts";
import type { RunnerProject } from "../turn.ts";
import type { PullRequestHost, HostedPullRequest } from "./code-host.ts";

/** Missing where a host doesn't tell, null where the repository is gone. */
const Repository = z.object({ full_name: z.string() }).nullish();

const Pull = z.object({
  number: z.int().positive(),
  title: z.string(),
  state: z.enum(["open", "closed"]),
  merged_at: z.string().nullish(),
  html_url: z.url({ protocol: /^https?$/ }).max(2000),
  body: z.string().nullish(),
  head: z.object({ ref: z.string(), sha: z.string(), repo: Repository }),
  base: z.object({ repo: Repository }).optional(),
  // Not in lists.
  changed_files: z.int().min(0).optional(),
  additions: z.int().min(0).optional(),
  deletions: z.int().min(0).optional(),
});
type Pull = z.infer<typeof Pull>;

/** What Octokit throws. */
const RequestFailure = z.object({
  status: z.int(),
  message: z.string(),
  response: z.object({ headers: z.record(z.string(), z.unknown()) }).optional(),
});

const PULLS = "/repos/{owner}/{repo}/pulls";
const REQUEST_TIME_LIMIT_MS = 30_000;
const MAX_PULLS = 100;
const MAX_BODY_BYTES = 20 * 1024 * 1024;

export type GitHubOptions = Omit<NonNullable<RunnerProject["codeHost"]>, "kind"> & {
  clock: Clock;
  redact: Redact;
};

/**
 * Pull requests on GitHub, or on what speaks its REST API. Requests are not repeated here: a whole
 * turn is, cheaply.
 */
export function createGitHubCodeHost(options: GitHubOptions): PullRequestHost {
  const { apiUrl, owner, repo, token } = options;
  const octokit = new Octokit({
    ...(token === null ? {} : { auth: token }),
    baseUrl: apiUrl.replace(/\/+$/, ""),
    userAgent: "docs-agent",
    request: { fetch: boundedFetch },
    // Its own lines would go to the console.
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });

  async function ask<Data>(
    doing: string,
    signal: AbortSignal,
    schema: z.ZodType<Data>,
    route: string,
    params: Record<string, unknown> = {},
  ): Promise<Data> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIME_LIMIT_MS)]);
    let data: unknown;
    try {
      ({ data } = await octokit.request(route, { owner, repo, ...params, request: { signal: limited } }));
    } catch (error) {
      signal.throwIfAborted();
      throw faultOf(doing, error, options);
    }
    const parsed = schema.safeParse(data);
    if (parsed.success) return parsed.data;
    // A proxy or a page for people: more often a passing state than what will always be there.
    throw new TransientRunError("The code host's answer isn't what its API promises.", { details: [doing] });
  }

  return {
    async find(branch, signal) {
      const params = {
        head: `${owner}:${branch}`,
        state: "all",
        sort: "created",
        direction: "desc",
        per_page: MAX_PULLS,
      };
      const pulls = await ask("Looking for the pull request", signal, z.array(Pull), `GET ${PULLS}`, params);
      // Hosts that do not know the filter return all.
      return pulls
        .filter((pull) => pull.head.ref === branch && !isFromFork(pull))
        .toSorted((a, b) => b.number - a.number)
        .map(toPullRequest);
    },

    async create({ branch, ...texts }, signal) {
      try {
        const params = { head: branch, ...texts };
        return toPullRequest(await ask("Opening the pull request", signal, Pull, `POST ${PULLS}`, params));
      } catch (error) {
        if (error instanceof TurnFailedError && /already exists/i.test(error.details.join(" ")))
          return "exists";
        throw error;
      }
    },

    async updateBody(number, body, signal) {
      const route = `PATCH ${PULLS}/${number}`;
      return toPullRequest(await ask("Updating the pull request", signal, Pull, route, { body }));
    },

    async get(number, signal) {
      return toPullRequest(await ask("Reading the pull request", signal, Pull, `GET ${PULLS}/${number}`));
    },
  };
}

/** By the answer alone: the settings may have the repository's old name. */
function isFromFork({ head, base }: Pull): boolean {
  return head.repo && base?.repo ? head.repo.full_name !== base.repo.full_name : false;
}

function toPullRequest(pull: Pull): HostedPullRequest {
  const { number, title, state, merged_at: mergedAt, html_url: url, body, head } = pull;
  const { changed_files: files, additions, deletions } = pull;
  const hasSize = files !== undefined && additions !== undefined && deletions !== undefined;
  return {
    number,
    title,
    state: state === "closed" && mergedAt ? "merged" : state,
    headRef: head.ref,
    headSha: head.sha,
    url,
    body: body ?? null,
    size: hasSize ? { files, additions, deletions } : null,
  };
}

function faultOf(
  doing: string,
  error: unknown,
  { redact, tokenEnv, clock }: GitHubOptions,
): TransientRunError | TurnFailedError {
  const failure = RequestFailure.safeParse(error);
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
  return new TurnFailedError(reason, { details: [advice, `${doing}: ${said}`] });
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
