import { z } from "zod";
import { Account } from "./account.ts";
import { listOf } from "./bounded-list.ts";
import type { GitHubApi } from "./github-api.ts";
import { readChecks } from "./github-checks.ts";
import { unlessRefused } from "./github-fault.ts";
import { type PullFacts, type PullLook, toLook } from "./github-pull-facts.ts";
import { readPages } from "./read-pages.ts";
import type { WriteAccess } from "./write-access.ts";

const REPOSITORY = "/repos/{owner}/{repo}";

const Pull = z.looseObject({
  head: z.object({ ref: z.string(), sha: z.string() }),
  base: z.object({ ref: z.string() }),
  requested_reviewers: listOf(z.object({ login: z.string() })),
  requested_teams: listOf(z.object({ slug: z.string() })),
});
const Review = z.looseObject({ state: z.string(), user: z.unknown() });
const CHOICES = ["APPROVED", "CHANGES_REQUESTED"];
/** The most people of whom the host is asked if they may write, for one pull request. */
const MAX_PEOPLE = 30;
const Distance = z.object({ behind_by: z.int() });

/**
 * Looks at a pull request with REST, for hosts without GraphQL. What the host refuses to tell of a
 * pull request that it shows makes only that one unreadable.
 */
export async function readPull(
  api: GitHubApi,
  { owner, number, access }: { owner: string; number: number; access: WriteAccess },
  signal: AbortSignal,
): Promise<PullLook> {
  const at = `GET ${REPOSITORY}/pulls/${number}`;
  const asked = { doing: "Looking at a pull request", signal, schema: z.unknown() };
  const found = await unlessRefused(api.ask(asked, at), [404]);
  if (found === null) return "not-there";
  const { data: pull } = Pull.safeParse(found);
  if (pull === undefined) return "unreadable";
  return (await unlessRefused(readRest(api, { owner, at, pull, access }, signal))) ?? "unreadable";
}

/** Reads a pull request's reviews and checks. */
async function readRest(
  api: GitHubApi,
  { owner, at, pull, access }: { owner: string; at: string; pull: z.infer<typeof Pull>; access: WriteAccess },
  signal: AbortSignal,
): Promise<PullLook> {
  const asked = { doing: "Reading reviews", signal, schema: listOf(Review) };
  const reviews = await withAccess(await readPages(api, asked, { route: `${at}/reviews` }), access, signal);
  const { head, base, requested_reviewers: people, requested_teams: teams } = pull;
  const asPeople = teams.map(({ slug }) => ({ login: `${owner}/${slug}` }));
  const requested = [...people, ...asPeople].map((requestedReviewer) => ({ requestedReviewer }));
  const flat = { headRef: head.ref, headSha: head.sha, baseRef: base.ref };
  const read = { ...pull, ...flat, opinions: reviews, reviews, requested };
  return toLook(read, await readChecks(api, head.sha, signal));
}

/** The reviews, each with whether its author may write, as far as the host tells. */
async function withAccess(
  reviews: readonly z.infer<typeof Review>[],
  access: WriteAccess,
  signal: AbortSignal,
): Promise<object[]> {
  const choosing = reviews.filter(({ state }) => CHOICES.includes(state));
  const people = new Set(choosing.flatMap((review) => personOf(review) ?? []));
  const known = new Map<string, boolean | null>();
  for (const login of [...people].slice(-MAX_PEOPLE)) {
    known.set(login, await access.mayWrite(login, signal));
  }
  return reviews.map((review) => ({ ...review, mayWrite: known.get(personOf(review) ?? "") }));
}

/** Null for a bot, of which this can't be asked. */
function personOf({ user }: z.infer<typeof Review>): string | null {
  const { data: account } = Account.safeParse(user);
  return account === undefined || account.isBot ? null : account.login;
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
