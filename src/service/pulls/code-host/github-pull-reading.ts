import { z } from "zod";
import { boundedList, listOf } from "./bounded-list.ts";
import { type GitHubApi } from "./github-api.ts";
import { readChecks } from "./github-checks.ts";
import { unlessRefused } from "./github-fault.ts";
import { type PullFacts, type PullLook, toLook } from "./github-pull-facts.ts";
import { readPages } from "./read-pages.ts";

const REPOSITORY = "/repos/{owner}/{repo}";

const Pull = z.looseObject({
  head: z.object({ ref: z.string(), sha: z.string() }),
  base: z.object({ ref: z.string() }),
  requested_reviewers: listOf(z.object({ login: z.string() })),
  requested_teams: listOf(z.object({ slug: z.string() })),
});
const Distance = z.object({ behind_by: z.int() });

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
  const asked = { doing: "Reading reviews", signal, schema: boundedList(z.unknown()) };
  const reviews = await readPages(api, asked, { route: `${at}/reviews` });
  const { head, base, requested_reviewers: people, requested_teams: teams } = pull;
  const asPeople = teams.map(({ slug }) => ({ login: `${owner}/${slug}` }));
  const requested = [...people, ...asPeople].map((requestedReviewer) => ({ requestedReviewer }));
  const flat = { headRef: head.ref, headSha: head.sha, baseRef: base.ref };
  const read = { ...pull, ...flat, opinions: reviews, reviews, requested };
  return toLook(read, await readChecks(api, head.sha, signal));
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
