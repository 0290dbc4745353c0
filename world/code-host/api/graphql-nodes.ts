import { changedFiles } from "../changed-files.ts";
import type { Host } from "../host.ts";
import { checksOf, opinionsOf, reviewDecisionOf } from "../merge-state.ts";
import type { PullRequest } from "../pull-request-store.ts";
import type { PullRequests } from "../pull-requests.ts";
import { latestBy } from "../commit-records.ts";
import { mayPush, roleOf } from "../permissions.ts";
import type { Caller } from "../tokens.ts";
import { type CommitInput, createCommitOnBranch, type RefsInput, updateRefs } from "./commits.ts";
import { checkRunNode, statusContextNode } from "./graphql-checks.ts";
import { connection, type Page } from "./graphql-connection.ts";
import { deploymentsOf } from "./graphql-deployments.ts";
import { fault } from "./graphql-faults.ts";
import { commentNodesOf, resolveThread, threadNodes, type ThreadParts } from "./graphql-threads.ts";
import { idOf, nodeIdOf, repositoryNodeIdOf } from "./shapes.ts";

type Asking = {
  host: Host;
  caller: Exclude<Caller, string>;
  cost: number;
  rateLimit: { limit: number; remaining: number; used: number; resetAt: string };
};

/**
 * Returns the root of a document in GitHub's GraphQL API. An object's fields are values, or
 * functions of the field's arguments. Names and enums are those of
 * docs.github.com/graphql/reference.
 */
export function queryRoot(asking: Asking): object {
  const { host, cost, rateLimit, caller } = asking;
  const named = (owner: string, name: string): PullRequests => {
    const found = host.find(owner, name);
    if (found !== undefined && !host.rules.hiddenRepositories.has(found.repository.fullName)) return found;
    throw fault("NOT_FOUND", `Could not resolve to a Repository with the name '${owner}/${name}'.`);
  };
  return {
    rateLimit: { ...rateLimit, cost },
    repository({ owner, name }: { owner: string; name: string }) {
      return repositoryNode(asking, named(owner, name));
    },
    async createCommitOnBranch({ input }: { input: CommitInput }) {
      const [owner = "", name = ""] = (input.branch.repositoryNameWithOwner ?? "").split("/");
      return createCommitOnBranch(named(owner, name), caller, input);
    },
    async updateRefs({ input }: { input: RefsInput }) {
      const found = visible(host).find(
        ({ repository }) => repositoryNodeIdOf(repository) === input.repositoryId,
      );
      return updateRefs(found, input);
    },
    resolveReviewThread: async ({ input }: { input: { threadId: string } }) =>
      resolved(asking, { ...input, isResolved: true }),
    unresolveReviewThread: async ({ input }: { input: { threadId: string } }) =>
      resolved(asking, { ...input, isResolved: false }),
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

async function resolved(asking: Asking, input: { threadId: string; isResolved: boolean }): Promise<object> {
  const { host, caller } = asking;
  const { pullRequests, number } = await resolveThread(host, visible(host), caller, input);
  const pullRequest = pullRequests.find(number);
  const nodes =
    pullRequest === undefined ? [] : await threadNodes(threadParts(asking, pullRequests, pullRequest));
  return { thread: nodes.find(({ id }) => id === input.threadId) ?? null };
}

function visible(host: Host): PullRequests[] {
  return [...host.all()].filter(({ repository }) => !host.rules.hiddenRepositories.has(repository.fullName));
}

/** See `Repository.pullRequests` in docs.github.com/graphql/reference/objects. */
type PullRequestsAsked = Page & {
  states?: string[] | null;
  baseRefName?: string;
  headRefName?: string;
  orderBy?: { field: string; direction: "ASC" | "DESC" } | null;
};

function repositoryNode(asking: Asking, pullRequests: PullRequests): object {
  const { repository } = pullRequests;
  const { fullName } = repository;
  const { rules } = asking.host;
  return {
    id: repositoryNodeIdOf(pullRequests.repository),
    nameWithOwner: rules.renamed.get(fullName) ?? fullName,
    async ref({ qualifiedName }: { qualifiedName: string }) {
      const name = qualifiedName.replace(/^refs\/heads\//, "");
      const oid = await repository.branchSha(name);
      if (oid === null) return null;
      return { name, target: { __typename: "Commit", ...commitNode(asking, pullRequests, oid) } };
    },
    pullRequests({ states, baseRefName, headRefName, orderBy, ...page }: PullRequestsAsked) {
      const found = pullRequests
        .all()
        .filter((each) => states?.includes(stateOf(each)) ?? true)
        .filter(({ base }) => baseRefName === undefined || baseRefName === base)
        .filter(({ head }) => headRefName === undefined || headRefName === head);
      const ordered =
        orderBy?.field === "UPDATED_AT"
          ? found.toSorted((one, other) => one.updatedAt.localeCompare(other.updatedAt))
          : found;
      const list = orderBy?.direction === "DESC" ? ordered.toReversed() : ordered;
      return connection(
        list.map((each) => pullRequestNode(asking, pullRequests, each)),
        page,
      );
    },
    pullRequest({ number }: { number: number }) {
      const found = pullRequests.find(number);
      if (found !== undefined) return pullRequestNode(asking, pullRequests, found);
      throw fault("NOT_FOUND", `Could not resolve to a PullRequest with the number of ${number}.`);
    },
  };
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
  const commits = once(async () => pullRequests.commits(pullRequest));
  const mergeability = once(async () => pullRequests.mergeability(pullRequest));
  const threads = threadParts(asking, pullRequests, pullRequest);
  const { reviewNode } = threads;
  const isWriter = (login: string) => mayPush(roleOf(rules, login, repository.fullName));
  return {
    number,
    title: pullRequest.title,
    url: `${links().url}/${fullName}/pull/${number}`,
    state: stateOf(pullRequest),
    isDraft: pullRequest.isDraft,
    createdAt: pullRequest.createdAt,
    updatedAt: pullRequest.updatedAt,
    author: userNode(pullRequest.author),
    headRefName: pullRequest.head,
    baseRefName: pullRequest.base,
    headRefOid: async () => (await commits())?.head ?? "",
    async mergeable() {
      const { mergeable } = await mergeability();
      return mergeable === null ? "UNKNOWN" : mergeable ? "MERGEABLE" : "CONFLICTING";
    },
    mergeStateStatus: async () => (await mergeability()).state.toUpperCase(),
    reviewDecision: reviewDecisionOf(pullRequest, records.protection(pullRequest.base)),
    reviews({ states, ...page }: Page & { states?: string[] }) {
      const wanted = pullRequest.reviews.filter(({ state }) => states?.includes(state) ?? true);
      return connection(wanted.map(reviewNode), page);
    },
    latestOpinionatedReviews({ writersOnly = false, ...page }: Page & { writersOnly?: boolean }) {
      const wanted = opinionsOf(pullRequest).filter(({ author }) => !writersOnly || isWriter(author));
      return connection(wanted.map(reviewNode), page);
    },
    reviewThreads: async (page: Page) => connection(await threadNodes(threads), page),
    reviewRequests: (page: Page) =>
      connection(
        pullRequest.reviewers.map((name) => ({ requestedReviewer: reviewerNode(name) })),
        page,
      ),
    files: async (page: Page) => {
      const ends = await commits();
      const files = ends === null ? [] : await changedFiles(repository, ends.mergeBase, ends.head);
      return connection(
        files.map(({ filename: path, status, additions, deletions }) => ({
          path,
          changeType: status === "removed" ? "DELETED" : status.toUpperCase(),
          additions,
          deletions,
        })),
        page,
      );
    },
    commits: async (page: Page) => {
      const ends = await commits();
      const list = ends === null ? [] : await repository.commitsBetween(ends.mergeBase, ends.head);
      return connection(
        list.map(({ sha }) => ({ commit: commitNode(asking, pullRequests, sha) })),
        page,
      );
    },
  };
}

/** Returns the parts of reviews and their comments on lines. */
function threadParts(asking: Asking, pullRequests: PullRequests, pullRequest: PullRequest): ThreadParts {
  const { host } = asking;
  const { fullName } = pullRequests.repository;
  const web = `${host.links().url}/${host.rules.renamed.get(fullName) ?? fullName}`;
  const parts: ThreadParts = {
    host,
    pullRequests,
    pullRequest,
    userNode,
    reviewNode: (review) => ({
      id: `PRR_${idOf("review", fullName, review.id)}`,
      databaseId: review.id,
      fullDatabaseId: String(review.id),
      url: `${web}/pull/${pullRequest.number}#pullrequestreview-${review.id}`,
      author: userNode(review.author),
      authorCanPushToRepository: mayPush(roleOf(host.rules, review.author, fullName)),
      body: review.body,
      state: review.state,
      submittedAt: review.submittedAt,
      commit: commitNode(asking, pullRequests, review.commitSha),
      comments: async (page: Page) => connection(await commentNodesOf(parts, review), page),
    }),
  };
  return parts;
}

/**
 * Returns a person or an App's account. A bot's login has no `[bot]` here, as people found out at
 * GitHub, so that only its type tells it from a person with the same name.
 */
function userNode(login: string): object {
  const name = login.replace(/\[bot\]$/, "");
  return { __typename: name === login ? "User" : "Bot", login: name };
}

/** Returns a reviewer. A team is `owner/team`. */
function reviewerNode(name: string): object {
  return name.includes("/") ? { __typename: "Team", combinedSlug: name } : userNode(name);
}

function commitNode(asking: Asking, pullRequests: PullRequests, oid: string): object {
  return {
    oid,
    statusCheckRollup: () => rollupNode(asking, pullRequests, oid),
    deployments: (page: Page & { environments?: string[] | null }) =>
      deploymentsOf(asking.caller, pullRequests.records, oid, page),
  };
}

/**
 * Returns the state of a commit's checks. Null if it has none. A fine-grained token may not read
 * it.
 */
function rollupNode({ caller, host }: Asking, pullRequests: PullRequests, oid: string): object | null {
  if (caller.kind === "fine-grained") {
    throw fault("FORBIDDEN", "Resource not accessible by personal access token");
  }
  const { records } = pullRequests;
  const isRequired =
    (name: string) =>
    ({ pullRequestNumber }: { pullRequestNumber: number }) => {
      const base = pullRequests.find(pullRequestNumber)?.base ?? "";
      return records.protection(base)?.requiredChecks.includes(name) ?? false;
    };
  const web = `${host.links().url}/${pullRequests.repository.fullName}`;
  const contexts = [
    ...latestBy(records.checkRuns(oid), ({ name }) => name).map((run) => ({
      ...checkRunNode(run, web),
      isRequired: isRequired(run.name),
    })),
    ...latestBy(records.statuses(oid), ({ context }) => context).map((status) => ({
      ...statusContextNode(status),
      isRequired: isRequired(status.context),
    })),
  ];
  if (contexts.length === 0) return null;
  return { state: rollupState(pullRequests, oid), contexts: (page: Page) => connection(contexts, page) };
}

function rollupState({ records }: PullRequests, oid: string): "FAILURE" | "PENDING" | "SUCCESS" {
  const states = checksOf(records, oid, null).map(({ state }) => state);
  if (states.includes("failing")) return "FAILURE";
  return states.includes("pending") ? "PENDING" : "SUCCESS";
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return async () => (made ??= make());
}
