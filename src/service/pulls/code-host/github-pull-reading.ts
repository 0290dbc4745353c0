import { z } from "zod";
import { boundedList } from "./bounded-list.ts";
import { type GitHubApi } from "./github-api.ts";
import { RefusedByCodeHostError } from "./github-fault.ts";
import {
  type HostedCheck,
  listOf,
  type PullFacts,
  type PullLook,
  ReadCheck,
  toLook,
} from "./github-pull-facts.ts";

const REPOSITORY = "/repos/{owner}/{repo}";
/** Reviews are listed oldest first, and the newest ones count. */
const MAX_REVIEW_PAGES = 10;
const PAGE = 100;

const Pull = z.looseObject({
  head: z.object({ ref: z.string(), sha: z.string() }),
  base: z.object({ ref: z.string() }),
  requested_reviewers: listOf(z.object({ login: z.string() })),
  requested_teams: listOf(z.object({ slug: z.string() })),
});
const CheckRuns = z.object({ check_runs: listOf(ReadCheck) }).transform(({ check_runs: runs }) => runs);
const Statuses = z.object({ statuses: listOf(ReadCheck) }).transform(({ statuses }) => statuses);
const Distance = z.object({ behind_by: z.int() });
const Comparison = z.object({ merge_base_commit: z.object({ sha: z.string() }) });

/**
 * Looks at a pull request with REST, for hosts without GraphQL. What the host refuses to tell of a
 * pull request that it shows makes only that one unreadable.
 */
export async function readPull(
  api: GitHubApi,
  { owner, number }: { owner: string; number: number },
  signal: AbortSignal,
): Promise<PullLook> {
  const at = `GET ${REPOSITORY}/pulls/${number}`;
  const asked = { doing: "Looking at a pull request", signal, schema: z.unknown() };
  const found = await unlessRefused(api.ask(asked, at), [404]);
  if (found === null) return "not-there";
  const { data: pull } = Pull.safeParse(found);
  if (pull === undefined) return "unreadable";
  return (await unlessRefused(readRest(api, { owner, at, pull }, signal))) ?? "unreadable";
}

/** Reads a pull request's reviews and checks. */
async function readRest(
  api: GitHubApi,
  { owner, at, pull }: { owner: string; at: string; pull: z.infer<typeof Pull> },
  signal: AbortSignal,
): Promise<PullLook> {
  let reviews: unknown[] = [];
  for (let page = 1; page <= MAX_REVIEW_PAGES && reviews.length === (page - 1) * PAGE; page += 1) {
    const params = { per_page: PAGE, page };
    const schema = boundedList(z.unknown());
    const more = await api.ask({ doing: "Reading reviews", signal, schema }, `${at}/reviews`, params);
    reviews = [...reviews, ...more];
  }
  const { head, base, requested_reviewers: people, requested_teams: teams } = pull;
  const asPeople = teams.map(({ slug }) => ({ login: `${owner}/${slug}` }));
  const requested = [...people, ...asPeople].map((requestedReviewer) => ({ requestedReviewer }));
  const flat = { headRef: head.ref, headSha: head.sha, baseRef: base.ref };
  const read = { ...pull, ...flat, opinions: reviews, reviews, requested };
  return toLook(read, await readChecks(api, head.sha, signal));
}

/** The checks of a commit, or null if the token may not read them. */
async function readChecks(api: GitHubApi, sha: string, signal: AbortSignal): Promise<HostedCheck[] | null> {
  const read = (what: string, schema: z.ZodType<HostedCheck[]>) => {
    const asked = { doing: "Reading checks", signal, schema };
    // Not every host has both kinds.
    const found = unlessRefused(
      api.ask(asked, `GET ${REPOSITORY}/commits/${sha}/${what}`, { per_page: PAGE }),
      [404, 410, 422],
    );
    return found.then((checks) => checks ?? []);
  };
  return unlessRefused(
    (async () => [...(await read("check-runs", CheckRuns)), ...(await read("status", Statuses))])(),
    [403],
  );
}

/** True if the base branch has commits that this one lacks. */
export async function readIsBehind(
  api: GitHubApi,
  { baseRef, headSha }: Pick<PullFacts, "baseRef" | "headSha">,
  signal: AbortSignal,
): Promise<boolean> {
  const asked = { doing: "Comparing with the base branch", signal, schema: Distance };
  const params = { basehead: `${baseRef}...${headSha}`, per_page: 1 };
  return (await api.ask(asked, `GET ${REPOSITORY}/compare/{basehead}`, params)).behind_by > 0;
}

/** The checks of the merge base: the commit that the pull request's branch grew from. */
export async function readChecksBefore(
  api: GitHubApi,
  { baseRef, headSha }: Pick<PullFacts, "baseRef" | "headSha">,
  signal: AbortSignal,
): Promise<HostedCheck[]> {
  const asked = { doing: "Looking for the merge base", signal, schema: Comparison };
  const params = { basehead: `${baseRef}...${headSha}`, per_page: 1 };
  const { merge_base_commit: base } = await api.ask(asked, `GET ${REPOSITORY}/compare/{basehead}`, params);
  return (await readChecks(api, base.sha, signal)) ?? [];
}

/** Resolves to null if the host answers with one of these statuses, or refuses at all. */
async function unlessRefused<T>(answer: Promise<T>, statuses?: readonly number[]): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RefusedByCodeHostError && statuses?.includes(error.status) !== false) return null;
    throw error;
  }
}
