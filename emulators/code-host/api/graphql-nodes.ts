import { GraphQLError } from "graphql";
import type { Host } from "../host.ts";
import { checksOf, opinionsOf, reviewDecisionOf } from "../merge-state.ts";
import type { PullRequest, GivenReview } from "../pull-request-store.ts";
import type { PullRequests } from "../pull-requests.ts";
import { type CommitCheck, type CommitStatus, latestBy } from "../commit-records.ts";
import type { Caller } from "../tokens.ts";
import { nodeIdOf } from "./shapes.ts";

type Asking = {
  host: Host;
  caller: Exclude<Caller, string>;
  cost: number;
  rateLimit: { limit: number; remaining: number; used: number; resetAt: string };
};
type Page = { first?: number | null; last?: number | null; after?: string | null };

/**
 * What a document of GitHub's GraphQL API starts from. An object's fields are values, or functions
 * of the field's arguments; names and enums are those of docs.github.com/graphql/reference.
 */
export function queryRoot(asking: Asking): object {
  const { host, cost, rateLimit, caller } = asking;
  const node = ({ id }: { id: string }): object => {
    for (const pullRequests of visible(host)) {
      const found = pullRequests.all().find(({ number }) => nodeIdOf(pullRequests.repository, number) === id);
      if (found !== undefined) return pullRequestNode(asking, pullRequests, found);
      if (repositoryId(pullRequests) === id) return repositoryNode(asking, pullRequests);
    }
    throw fault("NOT_FOUND", `Could not resolve to a node with the global id of '${id}'`);
  };
  return {
    node,
    nodes: ({ ids }: { ids: string[] }) => ids.map((id) => node({ id })),
    viewer: { login: caller.login },
    rateLimit: { ...rateLimit, cost },
    repository({ owner, name }: { owner: string; name: string }) {
      const found = host.find(owner, name);
      if (found !== undefined && !host.rules.hiddenRepositories.has(found.repository.fullName)) {
        return repositoryNode(asking, found);
      }
      throw fault("NOT_FOUND", `Could not resolve to a Repository with the name '${owner}/${name}'.`);
    },
    async markPullRequestReadyForReview({ input }: { input: { pullRequestId: string } }) {
      const id = input.pullRequestId;
      for (const pullRequests of visible(host)) {
        const found = pullRequests
          .all()
          .find(({ number }) => nodeIdOf(pullRequests.repository, number) === id);
        if (found === undefined) continue;
        const changed = await pullRequests.change(found.number, { isDraft: false }, caller.login);
        return { pullRequest: changed.ok ? pullRequestNode(asking, pullRequests, changed.value) : null };
      }
      throw fault("NOT_FOUND", `Could not resolve to a node with the global id of '${id}'`);
    },
  };
}

function visible(host: Host): PullRequests[] {
  return [...host.all()].filter(({ repository }) => !host.rules.hiddenRepositories.has(repository.fullName));
}

function repositoryId({ repository }: PullRequests): string {
  return `R_${repository.fullName}`;
}

function repositoryNode(asking: Asking, pullRequests: PullRequests): object {
  const { repository } = pullRequests;
  const commit = async (oid: string | null) => (oid === null ? null : commitNode(asking, pullRequests, oid));
  return {
    __typename: "Repository",
    id: repositoryId(pullRequests),
    name: repository.name,
    nameWithOwner: repository.fullName,
    url: `${asking.host.links().url}/${repository.fullName}`,
    owner: { __typename: "Organization", login: repository.owner },
    isPrivate: asking.host.rules.privateRepositories.has(repository.fullName),
    object: async ({ oid, expression }: { oid?: string; expression?: string }) =>
      commit(oid ?? (await shaOf(pullRequests, expression ?? ""))),
    pullRequest({ number }: { number: number }) {
      const found = pullRequests.find(number);
      if (found !== undefined) return pullRequestNode(asking, pullRequests, found);
      throw fault("NOT_FOUND", `Could not resolve to a PullRequest with the number of ${number}.`);
    },
    pullRequests({
      states,
      orderBy,
      ...page
    }: Page & { states?: string[]; orderBy?: { field: string; direction: string } }) {
      const found = pullRequests
        .all()
        .filter((pullRequest) => states === undefined || states.includes(stateOf(pullRequest)));
      const ordered =
        orderBy?.field === "UPDATED_AT"
          ? found.toSorted((one, other) => one.updatedAt.localeCompare(other.updatedAt))
          : [...found];
      if (orderBy?.direction === "DESC") ordered.reverse();
      return connection(
        ordered.map((pullRequest) => pullRequestNode(asking, pullRequests, pullRequest)),
        page,
      );
    },
  };
}

async function shaOf({ repository }: PullRequests, expression: string): Promise<string | null> {
  return /^[0-9a-f]{40}$/.test(expression) ? expression : repository.branchSha(expression);
}

function stateOf({ state, mergedAt }: PullRequest): "OPEN" | "CLOSED" | "MERGED" {
  if (mergedAt !== null) return "MERGED";
  return state === "open" ? "OPEN" : "CLOSED";
}

function pullRequestNode(asking: Asking, pullRequests: PullRequests, pullRequest: PullRequest): object {
  const { repository, records } = pullRequests;
  const { number } = pullRequest;
  const { links, rules } = asking.host;
  const fullName = rules.renamed.get(repository.fullName) ?? repository.fullName;
  const html = `${links().url}/${fullName}/pull/${number}`;
  const commits = once(async () => pullRequests.commits(pullRequest));
  const mergeability = once(async () => pullRequests.mergeability(pullRequest));
  const head = async () => {
    const oid = (await commits())?.head;
    return oid === undefined ? null : commitNode(asking, pullRequests, oid, pullRequest);
  };
  const reviewNode = (review: GivenReview) => ({
    id: `PRR_${review.id}`,
    databaseId: review.id,
    fullDatabaseId: String(review.id),
    author: userNode(review.author),
    authorAssociation: "MEMBER",
    body: review.body,
    bodyText: review.body,
    state: review.state,
    submittedAt: review.submittedAt,
    createdAt: review.submittedAt,
    updatedAt: review.submittedAt,
    url: `${html}#pullrequestreview-${review.id}`,
    commit: async () => commitNode(asking, pullRequests, review.commitSha),
  });
  return {
    __typename: "PullRequest",
    id: nodeIdOf(repository, number),
    number,
    title: pullRequest.title,
    body: pullRequest.body ?? "",
    url: html,
    state: stateOf(pullRequest),
    isDraft: pullRequest.isDraft,
    closed: pullRequest.state === "closed",
    merged: pullRequest.mergedAt !== null,
    mergedAt: pullRequest.mergedAt,
    mergedBy: pullRequest.mergedBy === null ? null : userNode(pullRequest.mergedBy),
    closedAt: pullRequest.closedAt,
    createdAt: pullRequest.createdAt,
    updatedAt: pullRequest.updatedAt,
    author: userNode(pullRequest.author),
    headRefName: pullRequest.head,
    baseRefName: pullRequest.base,
    headRefOid: async () => (await commits())?.head ?? "",
    baseRefOid: async () => (await commits())?.base ?? "",
    headRef: async () => ({ name: pullRequest.head, target: head }),
    mergeCommit: async () =>
      pullRequest.mergeCommitSha === null
        ? null
        : commitNode(asking, pullRequests, pullRequest.mergeCommitSha),
    async mergeable() {
      const { mergeable } = await mergeability();
      return mergeable === null ? "UNKNOWN" : mergeable ? "MERGEABLE" : "CONFLICTING";
    },
    mergeStateStatus: async () => (await mergeability()).state.toUpperCase(),
    reviewDecision: reviewDecisionOf(pullRequest, records.protection(pullRequest.base)),
    repository: () => repositoryNode(asking, pullRequests),
    labels: (page: Page) =>
      connection(
        pullRequest.labels.map((name) => ({ name })),
        page,
      ),
    comments: (page: Page) =>
      connection(
        pullRequest.comments.map(({ id, author, ...comment }) => ({
          id: `IC_${id}`,
          author: userNode(author),
          ...comment,
        })),
        page,
      ),
    reviews: ({ states, author, ...page }: Page & { states?: string[]; author?: string }) =>
      connection(
        pullRequest.reviews
          .filter(({ state }) => states === undefined || states.includes(state))
          .filter((review) => author === undefined || review.author === author)
          .map(reviewNode),
        page,
      ),
    latestReviews: (page: Page) =>
      connection(latestBy(pullRequest.reviews, ({ author }) => author).map(reviewNode), page),
    latestOpinionatedReviews: (page: Page) => connection(opinionsOf(pullRequest).map(reviewNode), page),
    reviewRequests: (page: Page) =>
      connection(
        pullRequest.reviewers.map((name) => ({ id: `RR_${name}`, requestedReviewer: reviewerNode(name) })),
        page,
      ),
    commits: async (page: Page) => {
      const ends = await commits();
      const list = ends === null ? [] : await repository.commitsBetween(ends.mergeBase, ends.head);
      return connection(
        list.map(({ sha }) => ({
          id: `PURC_${sha}`,
          commit: commitNode(asking, pullRequests, sha, pullRequest),
        })),
        page,
      );
    },
    statusCheckRollup: async () => {
      const oid = (await commits())?.head;
      return oid === undefined ? null : rollupNode(asking, pullRequests, oid, pullRequest);
    },
  };
}

function userNode(login: string): object {
  return { __typename: login.endsWith("[bot]") ? "Bot" : "User", id: `U_${login}`, login, name: login };
}

/** A team is `owner/team`. */
function reviewerNode(name: string): object {
  const [organization = "", slug] = name.split("/");
  if (slug === undefined) return userNode(name);
  return {
    __typename: "Team",
    id: `T_${slug}`,
    slug,
    name: slug,
    combinedSlug: name,
    organization: { login: organization },
  };
}

function commitNode(
  asking: Asking,
  pullRequests: PullRequests,
  oid: string,
  pullRequest?: PullRequest,
): object {
  return {
    __typename: "Commit",
    id: `C_${oid}`,
    oid,
    statusCheckRollup: () => rollupNode(asking, pullRequests, oid, pullRequest),
  };
}

/** Null where a commit has no checks. A fine-grained token may not read it. */
function rollupNode(
  { caller }: Asking,
  pullRequests: PullRequests,
  oid: string,
  pullRequest?: PullRequest,
): object | null {
  if (caller.kind === "fine-grained") {
    throw fault("FORBIDDEN", "Resource not accessible by personal access token");
  }
  const { records } = pullRequests;
  const isRequired =
    (name: string) =>
    ({ pullRequestNumber, pullRequestId }: { pullRequestNumber?: number; pullRequestId?: string }) => {
      const found =
        pullRequests.find(pullRequestNumber ?? 0) ??
        pullRequests
          .all()
          .find(({ number }) => nodeIdOf(pullRequests.repository, number) === pullRequestId) ??
        pullRequest;
      return records.protection(found?.base ?? "")?.requiredChecks.includes(name) ?? false;
    };
  const contexts = [
    ...latestBy(records.checkRuns(oid), ({ name }) => name).map((run) =>
      checkRunNode(run, isRequired(run.name)),
    ),
    ...latestBy(records.statuses(oid), ({ context }) => context).map((status) =>
      statusNode(status, isRequired(status.context)),
    ),
  ];
  if (contexts.length === 0) return null;
  return {
    id: `SCR_${oid}`,
    state: rollupState(pullRequests, oid),
    contexts: (page: Page) => connection(contexts, page),
  };
}

function checkRunNode(run: CommitCheck, isRequired: unknown): object {
  return {
    __typename: "CheckRun",
    id: `CR_${run.id}`,
    databaseId: run.id,
    name: run.name,
    status: run.status.toUpperCase(),
    conclusion: run.conclusion?.toUpperCase() ?? null,
    startedAt: run.startedAt,
    completedAt: run.completedAt,
    title: run.title,
    summary: run.summary,
    detailsUrl: run.detailsUrl,
    isRequired,
  };
}

function statusNode(status: CommitStatus, isRequired: unknown): object {
  return {
    __typename: "StatusContext",
    id: `SC_${status.id}`,
    context: status.context,
    state: status.state.toUpperCase(),
    description: status.description,
    targetUrl: status.targetUrl,
    createdAt: status.createdAt,
    isRequired,
  };
}

function rollupState({ records }: PullRequests, oid: string): "FAILURE" | "PENDING" | "SUCCESS" {
  const states = checksOf(records, oid, null).map(({ state }) => state);
  if (states.includes("failing")) return "FAILURE";
  return states.includes("pending") ? "PENDING" : "SUCCESS";
}

/** Every connection has to be bounded by `first` or `last`, 1 to 100. */
function connection(items: object[], { first, last, after }: Page): object {
  const bound = first ?? last;
  if (bound === undefined || bound === null) {
    const message = "You must provide a `first` or `last` value to properly paginate the connection.";
    throw fault("MISSING_PAGINATION_BOUNDARIES", message);
  }
  if (bound < 1 || bound > 100) {
    throw fault("EXCESSIVE_PAGINATION", `Requesting ${bound} records exceeds the limit of 100 records.`);
  }
  const from =
    after === undefined || after === null ? 0 : Number(Buffer.from(after, "base64").toString()) + 1;
  const nodes = typeof first === "number" ? items.slice(from, from + first) : items.slice(-bound);
  const start = typeof first === "number" ? from : Math.max(0, items.length - bound);
  const cursor = (index: number) => Buffer.from(String(index)).toString("base64");
  return {
    nodes,
    edges: nodes.map((node, index) => ({ node, cursor: cursor(start + index) })),
    totalCount: items.length,
    pageInfo: {
      hasNextPage: start + nodes.length < items.length,
      hasPreviousPage: start > 0,
      startCursor: nodes.length === 0 ? null : cursor(start),
      endCursor: nodes.length === 0 ? null : cursor(start + nodes.length - 1),
    },
  };
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return async () => (made ??= make());
}

function fault(type: string, message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { type } });
}
