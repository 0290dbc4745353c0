import { Octokit, type RestEndpointMethodTypes } from "@octokit/rest";
import { z } from "zod";
import type { Clock } from "../../../core/clock.ts";
import { parseRetryAfter } from "../../../core/retry.ts";
import { messageOf } from "../../../errors.ts";
import { oneLine } from "../../printable-text.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import type { Redact } from "../redaction.ts";
import { TransientRunError, TurnFailedError } from "../run-error.ts";
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

const REQUEST_TIME_LIMIT_MS = 30_000;
const MAX_PULLS = 100;

export type GitHubOptions = {
  apiUrl: string;
  owner: string;
  repo: string;
  token: string | null;
  /** The variable that the token comes from. */
  tokenEnv: string;
  clock: Clock;
  redact: Redact;
};

/** Pull requests on GitHub, or on what speaks its REST API. Requests are not repeated here: a whole turn is, cheaply. */
export function createGitHubCodeHost({
  apiUrl,
  owner,
  repo,
  token,
  tokenEnv,
  clock,
  redact,
}: GitHubOptions): PullRequestHost {
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
    act: (limited: AbortSignal) => Promise<{ data: unknown }>,
    schema: z.ZodType<Data>,
  ): Promise<Data> {
    let data: unknown;
    try {
      ({ data } = await act(AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIME_LIMIT_MS)])));
    } catch (error) {
      signal.throwIfAborted();
      throw faultOf(doing, error, { redact, tokenEnv, nowMs: clock.now() });
    }
    const parsed = schema.safeParse(data);
    if (parsed.success) return parsed.data;
    // A proxy or a page for people: more often a passing state than what will always be there.
    throw new TransientRunError("The code host's answer isn't what its API promises.", { details: [doing] });
  }

  return {
    async find(branch, signal) {
      const params: RestEndpointMethodTypes["pulls"]["list"]["parameters"] = {
        owner,
        repo,
        head: `${owner}:${branch}`,
        state: "all",
        sort: "created",
        direction: "desc",
        per_page: MAX_PULLS,
      };
      const pulls = await ask(
        "Looking for the pull request",
        signal,
        (limited) => octokit.rest.pulls.list({ ...params, request: { signal: limited } }),
        z.array(Pull),
      );
      // Hosts that do not know the filter return all.
      return pulls
        .filter((pull) => pull.head.ref === branch && !isFromFork(pull))
        .toSorted((a, b) => b.number - a.number)
        .map(toPullRequest);
    },

    async create({ branch, base, title, body }, signal) {
      try {
        const pull = await ask(
          "Opening the pull request",
          signal,
          (limited) =>
            octokit.rest.pulls.create({
              owner,
              repo,
              head: branch,
              base,
              title,
              body,
              request: { signal: limited },
            }),
          Pull,
        );
        return toPullRequest(pull);
      } catch (error) {
        if (error instanceof TurnFailedError && /already exists/i.test(error.details.join(" ")))
          return "exists";
        throw error;
      }
    },

    async updateBody(number, body, signal) {
      const pull = await ask(
        "Updating the pull request",
        signal,
        (limited) =>
          octokit.rest.pulls.update({ owner, repo, pull_number: number, body, request: { signal: limited } }),
        Pull,
      );
      return toPullRequest(pull);
    },

    async get(number, signal) {
      const pull = await ask(
        "Reading the pull request",
        signal,
        (limited) =>
          octokit.rest.pulls.get({ owner, repo, pull_number: number, request: { signal: limited } }),
        Pull,
      );
      return toPullRequest(pull);
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
  { redact, tokenEnv, nowMs }: { redact: Redact; tokenEnv: string; nowMs: number },
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
        retryAfterMs: parseRetryAfter(headers["retry-after"], nowMs),
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
