import type { Host } from "../host.ts";
import type { LineComment } from "../line-comment.ts";
import { type LineThread, threadsOf } from "../line-threads.ts";
import { mayPush, roleOf } from "../permissions.ts";
import type { GivenReview, PullRequest } from "../pull-request-store.ts";
import type { PullRequests } from "../pull-requests.ts";
import type { Holder } from "../tokens.ts";
import { connection, type Page } from "./graphql-connection.ts";
import { fault } from "./graphql-faults.ts";
import { lineCommentNodeId, threadNodeId } from "./line-comments.ts";

/** The things from which the nodes of threads are made. */
export type ThreadParts = {
  host: Host;
  pullRequests: PullRequests;
  pullRequest: PullRequest;
  reviewNode: (review: GivenReview) => object;
  userNode: (login: string) => object;
};

/** See `PullRequestReviewThread` in docs.github.com/graphql/reference/objects. */
export async function threadNodes(parts: ThreadParts): Promise<{ id: string }[]> {
  const threads = await threadsOf(parts.pullRequests, parts.pullRequest);
  return threads.map((thread) => threadNode(parts, thread));
}

/** Resolves to a review's comments on lines. See `PullRequestReviewComment` there. */
export async function commentNodesOf(parts: ThreadParts, { id }: GivenReview): Promise<object[]> {
  const threads = await threadsOf(parts.pullRequests, parts.pullRequest);
  return threads.flatMap((thread) =>
    [thread.first, ...thread.replies]
      .filter(({ reviewId }) => reviewId === id)
      .map((comment) => commentNode(parts, thread, comment)),
  );
}

function threadNode(parts: ThreadParts, thread: LineThread) {
  const { first, replies, now } = thread;
  const { startLine } = first;
  return {
    id: threadNodeId(parts.pullRequests.repository.fullName, thread),
    isResolved: first.resolvedBy !== null,
    resolvedBy: first.resolvedBy === null ? null : parts.userNode(first.resolvedBy),
    isOutdated: now === null,
    isCollapsed: first.resolvedBy !== null,
    path: first.path,
    line: now?.line ?? null,
    originalLine: first.line,
    startLine: startLine === null || now === null ? null : startLine + now.line - first.line,
    originalStartLine: startLine,
    diffSide: first.side,
    startDiffSide: startLine === null ? null : first.side,
    subjectType: "LINE",
    comments: (page: Page) =>
      connection(
        [first, ...replies].map((comment) => commentNode(parts, thread, comment)),
        page,
      ),
  };
}

function commentNode(parts: ThreadParts, { first, now }: LineThread, comment: LineComment): object {
  const { host, pullRequests, pullRequest } = parts;
  const { fullName } = pullRequests.repository;
  const shownName = host.rules.renamed.get(fullName) ?? fullName;
  const review = pullRequest.reviews.find(({ id }) => id === comment.reviewId);
  const isMember = mayPush(roleOf(host.rules, comment.author, fullName));
  return {
    id: lineCommentNodeId(fullName, comment.id),
    databaseId: comment.id,
    fullDatabaseId: String(comment.id),
    author: parts.userNode(comment.author),
    authorAssociation: isMember ? "MEMBER" : "NONE",
    body: comment.body,
    state: "SUBMITTED",
    path: comment.path,
    line: now?.line ?? null,
    originalLine: comment.line,
    outdated: now === null,
    diffHunk: comment.diffHunk,
    createdAt: comment.createdAt,
    updatedAt: comment.createdAt,
    url: `${host.links().url}/${shownName}/pull/${pullRequest.number}#discussion_r${comment.id}`,
    commit: { oid: now?.commitSha ?? comment.commitSha },
    originalCommit: { oid: comment.commitSha },
    replyTo:
      comment.inReplyTo === null
        ? null
        : { id: lineCommentNodeId(fullName, first.id), fullDatabaseId: String(first.id) },
    pullRequestReview: review === undefined ? null : parts.reviewNode(review),
  };
}

/**
 * See `resolveReviewThread` and `unresolveReviewThread` in
 * docs.github.com/graphql/reference/mutations. People who may push may do it, and the author may,
 * too. The refusal is in GitHub's words.
 */
export async function resolveThread(
  host: Host,
  all: readonly PullRequests[],
  caller: Holder,
  { threadId, isResolved }: { threadId: string; isResolved: boolean },
): Promise<{ pullRequests: PullRequests; number: number }> {
  for (const pullRequests of all) {
    const { fullName } = pullRequests.repository;
    for (const { number, author, lineComments } of pullRequests.all()) {
      const first = lineComments.find((each) => threadNodeId(fullName, { first: each }) === threadId);
      if (first === undefined || first.inReplyTo !== null) continue;
      if (caller.login !== author && !mayPush(roleOf(host.rules, caller.login, fullName))) {
        const name = isResolved ? "ResolveReviewThread" : "UnresolveReviewThread";
        const words = `does not have the correct permissions to execute \`${name}\``;
        throw fault("FORBIDDEN", `${caller.login} ${words}`);
      }
      await pullRequests.resolve(number, first.id, isResolved ? caller.login : null);
      return { pullRequests, number };
    }
  }
  throw fault("NOT_FOUND", `Could not resolve to a node with the global id of '${threadId}'`);
}
