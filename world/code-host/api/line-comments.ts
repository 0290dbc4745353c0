import type { Context, Hono } from "hono";
import type { Host } from "../host.ts";
import type { LineComment } from "../line-comment.ts";
import { type LineThread, threadsOf } from "../line-threads.ts";
import { mayPush, roleOf } from "../permissions.ts";
import type { PullRequest } from "../pull-request-store.ts";
import type { Repository } from "../repository.ts";
import { CommentOnLine, readBody, WriteComment } from "./bodies.ts";
import type { ApiEnv } from "./env.ts";
import { ApiRefusal, notFound, refusalOf, validationFailed } from "./errors.ts";
import { pageOf } from "./paging.ts";
import { loginOf, named } from "./pulls.ts";
import { mustFind } from "./repos.ts";
import { idOf, type Links, userShape } from "./shapes.ts";

const REPOSITORY = "/repos/:owner/:repo";
const COMMENTS = `${REPOSITORY}/pulls/:number/comments`;

/**
 * Adds the routes for comments on lines (docs.github.com/rest/pulls/comments). A comment that is
 * written alone is a review of its own, with the state COMMENTED and no words, and so is a reply.
 * Comments on whole files and comments by `position` aren't covered.
 */
export function addLineCommentRoutes(api: Hono<ApiEnv>, host: Host): void {
  const shown = async (context: Context<ApiEnv>, comment: LineComment) => {
    const { pullRequests, pullRequest } = named(context, host);
    const threads = await threadsOf(pullRequests, pullRequest);
    return lineCommentShape(comment, threads, pullRequest, pullRequests.repository, host);
  };

  api.get(COMMENTS, async (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const threads = await threadsOf(pullRequests, pullRequest);
    const page = pageOf(context, listed(context, pullRequest), host.links().apiUrl);
    return context.json(
      page.map((comment) => lineCommentShape(comment, threads, pullRequest, pullRequests.repository, host)),
    );
  });

  api.get(`${REPOSITORY}/pulls/comments/:id{[0-9]+}`, async (context) => {
    const pullRequests = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    for (const pullRequest of pullRequests.all()) {
      const comment = pullRequest.lineComments.find(({ id }) => String(id) === context.req.param("id"));
      if (comment === undefined) continue;
      const threads = await threadsOf(pullRequests, pullRequest);
      return context.json(lineCommentShape(comment, threads, pullRequest, pullRequests.repository, host));
    }
    throw notFound();
  });

  api.post(COMMENTS, async (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const body = await readBody(context, CommentOnLine);
    const author = loginOf(context);
    if (body.in_reply_to !== undefined) {
      const reply = await pullRequests.reply(pullRequest.number, body.in_reply_to, author, body.body);
      if (reply === undefined) throw notFound();
      return context.json(await shown(context, reply), 201);
    }
    const { commit_id: commit, path, line, side, start_line: startLine } = body;
    if (commit === undefined || path === undefined || line === undefined) {
      const missing = Object.entries({ commit_id: commit, path, line }).filter(
        ([, value]) => value === undefined,
      );
      const words = missing.map(([name]) => `"${name}" wasn't supplied.`);
      throw new ApiRefusal(422, `Invalid request.\n\n${words.join("\n")}`);
    }
    const given = await pullRequests.review(pullRequest.number, {
      author,
      state: "COMMENTED",
      body: "",
      commit,
      comments: [{ path, line, side, startLine, body: body.body }],
    });
    if (!given.ok) {
      const { refusal } = given;
      if (refusal.kind !== "no-such-line") throw refusalOf(refusal, pullRequests.repository.owner);
      throw unresolved(refusal.what);
    }
    const made = pullRequests
      .find(pullRequest.number)
      ?.lineComments.find(({ reviewId }) => reviewId === given.value.id);
    if (made === undefined) throw notFound();
    return context.json(await shown(context, made), 201);
  });

  // A reply goes only to a thread's first comment, because replies have no replies.
  api.post(`${COMMENTS}/:id{[0-9]+}/replies`, async (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const { body } = await readBody(context, WriteComment);
    const id = Number(context.req.param("id"));
    const reply = await pullRequests.reply(pullRequest.number, id, loginOf(context), body);
    if (reply === undefined) throw notFound();
    return context.json(await shown(context, reply), 201);
  });

  // The answer has positions in the diff instead of lines, like the example on that page.
  api.get(`${REPOSITORY}/pulls/:number/reviews/:review/comments`, async (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const review = pullRequest.reviews.find(({ id }) => String(id) === context.req.param("review"));
    if (review === undefined) throw notFound();
    const threads = await threadsOf(pullRequests, pullRequest);
    const own = pullRequest.lineComments.filter(({ reviewId }) => reviewId === review.id);
    const page = pageOf(context, own, host.links().apiUrl);
    return context.json(
      page.map((comment) => positionShape(comment, threads, pullRequest, pullRequests.repository, host)),
    );
  });
}

/** Returns a refusal in words that people quote. */
function unresolved(what: "path" | "line" | "commit_id"): ApiRefusal {
  const resource = "PullRequestReviewComment";
  if (what === "commit_id") {
    const message = "commit_id is not part of the pull request";
    return validationFailed({ resource, code: "custom", field: what, message });
  }
  const code = what === "path" ? "invalid" : "custom";
  const field = `pull_request_review_thread.${what}`;
  return validationFailed({ resource, code, field, message: "could not be resolved" });
}

/** Returns the comments in the order of their ids, unless `sort` says otherwise. */
function listed(context: Context<ApiEnv>, { lineComments }: PullRequest): LineComment[] {
  const { sort, direction, since } = context.req.query();
  const found = lineComments.filter(({ createdAt }) => since === undefined || createdAt >= since);
  return sort !== undefined && direction === "desc" ? found.toReversed() : found;
}

/** Returns the fields that both forms have. */
function positionShape(
  comment: LineComment,
  threads: readonly LineThread[],
  { number }: PullRequest,
  { fullName }: Repository,
  host: Host,
) {
  const links: Links = host.links();
  const url = `${links.apiUrl}/repos/${fullName}/pulls/comments/${comment.id}`;
  const htmlUrl = `${links.url}/${fullName}/pull/${number}#discussion_r${comment.id}`;
  const pullUrl = `${links.apiUrl}/repos/${fullName}/pulls/${number}`;
  const { now = null } = threads.find(({ first }) => first.id === (comment.inReplyTo ?? comment.id)) ?? {};
  const isMember = mayPush(roleOf(host.rules, comment.author, fullName));
  return {
    url,
    pull_request_review_id: comment.reviewId,
    id: comment.id,
    node_id: lineCommentNodeId(fullName, comment.id),
    diff_hunk: comment.diffHunk,
    path: comment.path,
    position: now?.position ?? null,
    original_position: comment.position,
    commit_id: now?.commitSha ?? comment.commitSha,
    original_commit_id: comment.commitSha,
    user: userShape(comment.author, "User", links),
    body: comment.body,
    created_at: comment.createdAt,
    updated_at: comment.createdAt,
    html_url: htmlUrl,
    pull_request_url: pullUrl,
    author_association: isMember ? "MEMBER" : "NONE",
    _links: { self: { href: url }, html: { href: htmlUrl }, pull_request: { href: pullUrl } },
    ...(comment.inReplyTo === null ? {} : { in_reply_to_id: comment.inReplyTo }),
  };
}

export function lineCommentShape(
  comment: LineComment,
  threads: readonly LineThread[],
  pullRequest: PullRequest,
  repository: Repository,
  host: Host,
) {
  const { now = null } = threads.find(({ first }) => first.id === (comment.inReplyTo ?? comment.id)) ?? {};
  const { startLine } = comment;
  return {
    ...positionShape(comment, threads, pullRequest, repository, host),
    line: now?.line ?? null,
    original_line: comment.line,
    side: comment.side,
    start_line: startLine === null || now === null ? null : startLine + now.line - comment.line,
    original_start_line: startLine,
    start_side: startLine === null ? null : comment.side,
    subject_type: "line",
  };
}

/** Returns a comment's id in the GraphQL API. */
export function lineCommentNodeId(fullName: string, id: number): string {
  return `PRRC_${idOf("line-comment", fullName, id)}`;
}

/** Returns the id of its thread there. */
export function threadNodeId(fullName: string, { first }: Pick<LineThread, "first">): string {
  return `PRRT_${idOf("thread", fullName, first.id)}`;
}
