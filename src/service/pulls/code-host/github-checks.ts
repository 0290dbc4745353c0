import { z } from "zod";
import { listOf } from "./bounded-list.ts";
import type { GitHubApi } from "./github-api.ts";
import { unlessRefused } from "./github-fault.ts";
import { readPages } from "./read-pages.ts";

/** The state of a check on a pull request's newest commit. */
export type HostedCheck = {
  name: string;
  state: "pending" | "failed" | "passed";
  /** Null if the host doesn't say. */
  isRequired: boolean | null;
};

const REPOSITORY = "/repos/{owner}/{repo}";
/** Of a hundred checks each, for GraphQL. */
const MAX_PAGES = 10;

/** REST writes states in lower case, GraphQL in upper case. */
const Word = z.string().toLowerCase();
const PASSED = ["success", "neutral", "skipped"];
const PENDING = ["pending", "expected"];
const IsRequired = z.boolean().nullish().default(null);
const CheckRun = z.object({
  name: z.string(),
  status: Word,
  conclusion: Word.nullish(),
  isRequired: IsRequired,
});
const CommitStatus = z.object({ context: z.string(), state: Word, isRequired: IsRequired });
/** A check run or a commit status. */
const ReadCheck = z.union([
  CheckRun.transform(({ name, status, conclusion, isRequired }): HostedCheck => {
    const hasPassed = PASSED.includes(conclusion ?? "neutral");
    return { name, state: status !== "completed" ? "pending" : hasPassed ? "passed" : "failed", isRequired };
  }),
  CommitStatus.transform(({ context: name, state, isRequired }): HostedCheck => {
    const ended = state === "success" ? "passed" : "failed";
    return { name, state: PENDING.includes(state) ? "pending" : ended, isRequired };
  }),
]);

const CheckRuns = z.object({ check_runs: listOf(ReadCheck) }).transform(({ check_runs: runs }) => runs);
const Statuses = z.object({ statuses: listOf(ReadCheck) }).transform(({ statuses }) => statuses);
const Comparison = z.object({ merge_base_commit: z.object({ sha: z.string() }) });

/** The part of a pull request's GraphQL query that asks for its newest commit's checks: a page. */
export function checksQuery(number: number, after = ""): string {
  return `commits(last: 1) { nodes { commit { oid statusCheckRollup { contexts(first: 100 ${after}) {
    pageInfo { hasNextPage endCursor }
    nodes {
      ... on CheckRun { name status conclusion isRequired(pullRequestNumber: ${number}) }
      ... on StatusContext { context state isRequired(pullRequestNumber: ${number}) }
    }
  } } } } }`;
}

const PageInfo = z.object({ hasNextPage: z.boolean(), endCursor: z.string().nullish() });
const Contexts = z.object({ pageInfo: PageInfo.nullish(), nodes: listOf(ReadCheck) });
const Commit = z.object({
  oid: z.string(),
  statusCheckRollup: z.object({ contexts: Contexts }).nullish(),
});
const Shown = z.object({ commits: listOf(z.object({ commit: Commit.nullish() }), 1) });
const Answer = z.object({ repository: z.object({ pullRequest: Shown }) });

/**
 * The checks of the newest commit that a GraphQL answer shows of a pull request, and those of
 * further pages.
 */
export async function shownChecks(
  api: GitHubApi,
  { told, ...asking }: { told: unknown; owner: string; repo: string; number: number },
  signal: AbortSignal,
): Promise<HostedCheck[]> {
  const asked = { doing: "Reading checks", signal, schema: Answer };
  const document = `query ($owner: String!, $repo: String!, $number: Int!, $after: String) {
    repository(owner: $owner, name: $repo) { pullRequest(number: $number) {
      ${checksQuery(asking.number, ", after: $after")}
    } }
  }`;
  let shown = Shown.safeParse(told).data?.commits.at(-1)?.commit;
  const oid = shown?.oid;
  const checks: HostedCheck[] = [];
  // With another commit, everything is read anew in the next look.
  for (let page = 1; shown && shown.oid === oid; page += 1) {
    const { nodes = [], pageInfo } = shown.statusCheckRollup?.contexts ?? {};
    checks.push(...nodes);
    const after = pageInfo?.hasNextPage === true ? pageInfo.endCursor : null;
    if (typeof after !== "string" || page === MAX_PAGES) break;
    const { data } = await api.query(asked, document, { ...asking, after });
    shown = data.repository.pullRequest.commits.at(-1)?.commit;
  }
  return checks;
}

/** The checks of a commit, or null if the token may not read them. */
export async function readChecks(
  api: GitHubApi,
  sha: string,
  signal: AbortSignal,
): Promise<HostedCheck[] | null> {
  const read = (what: string, schema: z.ZodType<HostedCheck[]>) => {
    const asked = { doing: "Reading checks", signal, schema };
    const pages = readPages(api, asked, { route: `GET ${REPOSITORY}/commits/${sha}/${what}` });
    // Not every host has both kinds.
    const found = unlessRefused(pages, [404, 410, 422]);
    return found.then((checks) => checks ?? []);
  };
  return unlessRefused(
    (async () => [...(await read("check-runs", CheckRuns)), ...(await read("status", Statuses))])(),
    [403],
  );
}

/** The checks of the merge base: the commit that the pull request's branch grew from. */
export async function readChecksBefore(
  api: GitHubApi,
  { baseRef, headSha }: { baseRef: string; headSha: string },
  signal: AbortSignal,
): Promise<HostedCheck[]> {
  const asked = { doing: "Looking for the merge base", signal, schema: Comparison };
  const params = { basehead: `${baseRef}...${headSha}`, per_page: 1 };
  const { merge_base_commit: base } = await api.ask(asked, `GET ${REPOSITORY}/compare/{basehead}`, params);
  return (await readChecks(api, base.sha, signal)) ?? [];
}
