import { z } from "zod";
import type { PullLook } from "./followed-pull.ts";
import type { GitHubApi, GraphqlError } from "./github-api.ts";
import { listOf, ReadCheck, toLook } from "./github-pull-facts.ts";

/** The newest reviews whose words are read. A review may have 64 KB of them. */
const MAX_WORDS = 30;

/** https://docs.github.com/en/graphql/reference/objects#pullrequest, in the words of REST. */
function pullOf(number: number, readsTeams: boolean): string {
  return `p${number}: pullRequest(number: ${number}) {
    number html_url: url title state draft: isDraft created_at: createdAt updated_at: updatedAt
    headRef: headRefName headSha: headRefOid baseRef: baseRefName
    mergeable mergeable_state: mergeStateStatus reviewDecision
    user: author { login }
    opinions: latestOpinionatedReviews(first: 100) { nodes { state user: author { login } } }
    reviews(last: ${MAX_WORDS}, states: [APPROVED, CHANGES_REQUESTED, COMMENTED]) {
      nodes { id: databaseId state body submitted_at: submittedAt user: author { login } }
    }
    requested: reviewRequests(first: 20) { nodes { requestedReviewer {
      ... on User { login } ... on Bot { login } ... on Mannequin { login }
      ${readsTeams ? "... on Team { login: combinedSlug }" : ""}
    } } }
    commits(last: 1) { nodes { commit { statusCheckRollup { contexts(first: 100) { nodes {
      ... on CheckRun { name status conclusion isRequired(pullRequestNumber: ${number}) }
      ... on StatusContext { context state isRequired(pullRequestNumber: ${number}) }
    } } } } } }
  }`;
}

const Rollup = z.object({ contexts: listOf(ReadCheck) }).nullish();
const Commits = z.object({
  commits: listOf(z.object({ commit: z.object({ statusCheckRollup: Rollup }).nullish() })),
});
const Answer = z.object({ repository: z.record(z.string(), z.unknown()).nullish() });

/** Looks at some pull requests in one call of GraphQL. */
export async function queryPulls(
  api: GitHubApi,
  asking: { owner: string; repo: string; numbers: readonly number[]; readsTeams: boolean },
  signal: AbortSignal,
): Promise<Map<number, PullLook>> {
  const { owner, repo, numbers, readsTeams } = asking;
  const pulls = numbers.map((number) => pullOf(number, readsTeams)).join("\n");
  const document = `query ($owner: String!, $repo: String!) {
    repository(owner: $owner, name: $repo) { ${pulls} }
  }`;
  const asked = { doing: "Looking at pull requests", signal, schema: Answer };
  const { data, errors } = await api.query(asked, document, { owner, repo });
  // Without a repository, the token may not see it, unless there was another trouble.
  const isHidden = !data.repository && errors.every(isRefusal);
  return new Map(
    numbers.map((number): [number, PullLook] => {
      const told = data.repository?.[`p${number}`];
      const faults = errors.filter(({ path }) => path?.[1] === `p${number}`);
      const isGone = isHidden || faults.some((fault) => fault.path?.length === 2 && isRefusal(fault));
      if (!told) return [number, isGone ? "not-there" : "unreadable"];
      if (faults.some(({ path }) => path?.includes("commits"))) return [number, toLook(told, null)];
      const commit = Commits.safeParse(told).data?.commits.at(-1)?.commit;
      return [number, toLook(told, commit?.statusCheckRollup?.contexts ?? [])];
    }),
  );
}

function isRefusal({ type }: GraphqlError): boolean {
  return type === "NOT_FOUND" || type === "FORBIDDEN";
}
