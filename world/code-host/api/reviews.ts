import type { Context, Hono } from "hono";
import type { Host } from "../host.ts";
import type { Comment, PullRequest, GivenReview } from "../pull-request-store.ts";
import type { Repository } from "../repository.ts";
import { DismissReview, GiveReview, readBody, WriteComment } from "./bodies.ts";
import type { ApiEnv } from "./env.ts";
import { notFound, refusalOf } from "./errors.ts";
import { pageOf } from "./paging.ts";
import { loginOf, named } from "./pulls.ts";
import { type Links, userShape } from "./shapes.ts";

const REPOSITORY = "/repos/:owner/:repo";
const REVIEWS = `${REPOSITORY}/pulls/:number/reviews`;
const COMMENTS = `${REPOSITORY}/issues/:number/comments`;
const STATES = { APPROVE: "APPROVED", REQUEST_CHANGES: "CHANGES_REQUESTED", COMMENT: "COMMENTED" } as const;

/**
 * Adds the routes for reviews and the conversation (docs.github.com/rest/pulls/reviews,
 * /rest/issues/comments). Pending reviews aren't covered.
 */
export function addReviewRoutes(api: Hono<ApiEnv>, host: Host): void {
  api.get(REVIEWS, (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const page = pageOf(context, pullRequest.reviews, host.links().apiUrl);
    return context.json(
      page.map((review) => reviewShape(review, pullRequest, pullRequests.repository, host.links())),
    );
  });

  api.get(`${REVIEWS}/:review`, (context) => {
    const { pullRequests, pullRequest, review } = namedReview(context, host);
    return context.json(reviewShape(review, pullRequest, pullRequests.repository, host.links()));
  });

  api.post(REVIEWS, async (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const { event, body, commit_id: commit, comments } = await readBody(context, GiveReview);
    const given = await pullRequests.review(pullRequest.number, {
      author: loginOf(context),
      state: STATES[event],
      body: body ?? "",
      commit,
      comments: comments.map(({ start_line: startLine, ...comment }) => ({ ...comment, startLine })),
    });
    if (!given.ok) throw refusalOf(given.refusal, pullRequests.repository.owner);
    return context.json(reviewShape(given.value, pullRequest, pullRequests.repository, host.links()));
  });

  api.put(`${REVIEWS}/:review/dismissals`, async (context) => {
    const { pullRequests, pullRequest, review } = namedReview(context, host);
    await readBody(context, DismissReview);
    const dismissed = await pullRequests.dismiss(pullRequest.number, review.id, loginOf(context));
    if (dismissed === undefined) throw notFound();
    return context.json(reviewShape(dismissed, pullRequest, pullRequests.repository, host.links()));
  });

  api.get(COMMENTS, (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const page = pageOf(context, pullRequest.comments, host.links().apiUrl);
    return context.json(
      page.map((comment) => commentShape(comment, pullRequest, pullRequests.repository, host.links())),
    );
  });

  api.post(COMMENTS, async (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const { body } = await readBody(context, WriteComment);
    const comment = await pullRequests.comment(pullRequest.number, loginOf(context), body);
    return context.json(commentShape(comment, pullRequest, pullRequests.repository, host.links()), 201);
  });
}

function namedReview(context: Context<ApiEnv>, host: Host) {
  const found = named(context, host);
  const review = found.pullRequest.reviews.find(({ id }) => String(id) === context.req.param("review"));
  if (review === undefined) throw notFound();
  return { ...found, review };
}

export function reviewShape(
  review: GivenReview,
  { number }: PullRequest,
  { fullName }: Repository,
  links: Links,
) {
  return {
    id: review.id,
    node_id: `PRR_${review.id}`,
    user: userShape(review.author, "User", links),
    body: review.body,
    state: review.state,
    html_url: `${links.url}/${fullName}/pull/${number}#pullrequestreview-${review.id}`,
    pull_request_url: `${links.apiUrl}/repos/${fullName}/pulls/${number}`,
    submitted_at: review.submittedAt,
    commit_id: review.commitSha,
    author_association: "MEMBER",
  };
}

export function commentShape(
  comment: Comment,
  { number }: PullRequest,
  { fullName }: Repository,
  links: Links,
) {
  return {
    id: comment.id,
    node_id: `IC_${comment.id}`,
    url: `${links.apiUrl}/repos/${fullName}/issues/comments/${comment.id}`,
    html_url: `${links.url}/${fullName}/pull/${number}#issuecomment-${comment.id}`,
    user: userShape(comment.author, "User", links),
    body: comment.body,
    created_at: comment.createdAt,
    updated_at: comment.createdAt,
    author_association: "MEMBER",
  };
}
