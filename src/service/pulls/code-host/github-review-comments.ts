import { z } from "zod";
import { MAX_REVIEW_COMMENTS, type ReviewComment } from "../../../shared/contract/pull-request.ts";
import { SHOWN_CHARS } from "../../../shared/contract/reading.ts";
import { cut, startOf } from "../../../shared/text/text.ts";
import { printableText } from "../../base/printable-text.ts";
import { boundedList, listOf } from "./bounded-list.ts";
import type { GitHubApi } from "./github-api.ts";
import { toName } from "./github-pull-facts.ts";

/** The newest reviews that ask for changes whose comments are read. */
const MAX_REVIEWS_READ = 5;
/** So many comments of 64 KiB fit into an answer. */
const MAX_PULLS = 5;
const REST_PAGE = 50;
/** More isn't read, because this thread serves everybody. Less is shown. */
const MAX_READ_CHARS = 8000;

const Id = z.union([z.int(), z.string()]).transform(String);
const Comment = z.object({
  path: z.string(),
  line: z.int().min(0).nullish(),
  body: z.string().nullish(),
});
const Reviewed = z.object({ reviews: listOf(z.object({ id: Id, comments: listOf(Comment) })) });
const Answer = z.object({ repository: z.record(z.string(), z.unknown()).nullish() });
const RestComment = Comment.extend({ pull_request_review_id: Id.nullish() });

/** The first comments on lines of each review, by the review's id (untrusted, bounded). */
export type ReviewComments = ReadonlyMap<string, ReviewComment[]>;

/** Reads comments of several pull requests, some of them in each GraphQL call. */
export async function queryComments(
  api: GitHubApi,
  { owner, repo, numbers }: { owner: string; repo: string; numbers: readonly number[] },
  signal: AbortSignal,
): Promise<Map<number, ReviewComments>> {
  const found = new Map<number, ReviewComments>();
  for (let from = 0; from < numbers.length; from += MAX_PULLS) {
    const some = numbers.slice(from, from + MAX_PULLS);
    const document = `query ($owner: String!, $repo: String!) {
      repository(owner: $owner, name: $repo) { ${some.map(commentsQuery).join("\n")} }
    }`;
    const asked = { doing: "Reading comments of reviews", signal, schema: Answer };
    const { data } = await api.query(asked, document, { owner, repo });
    for (const number of some) {
      const reviews = Reviewed.safeParse(data.repository?.[`p${number}`]).data?.reviews ?? [];
      const first = (comments: z.infer<typeof Comment>[]) =>
        comments.slice(0, MAX_REVIEW_COMMENTS).map(toComment);
      found.set(number, new Map(reviews.map(({ id, comments }) => [id, first(comments)])));
    }
  }
  return found;
}

/** Reads the newest comments of a pull request with REST. */
export async function readComments(
  api: GitHubApi,
  number: number,
  signal: AbortSignal,
): Promise<ReviewComments> {
  const asked = { doing: "Reading comments of reviews", signal, schema: boundedList(RestComment) };
  const params = { sort: "created", direction: "desc", per_page: REST_PAGE };
  const newest = await api.ask(asked, `GET /repos/{owner}/{repo}/pulls/${number}/comments`, params);
  const reviewed = newest
    .toReversed()
    .flatMap(({ pull_request_review_id: id, ...comment }) =>
      typeof id === "string" ? [{ id, comment: toComment(comment) }] : [],
    );
  const byReview = Map.groupBy(reviewed, ({ id }) => id);
  return new Map(
    [...byReview].map(([id, its]) => [id, its.slice(0, MAX_REVIEW_COMMENTS).map(({ comment }) => comment)]),
  );
}

function commentsQuery(number: number): string {
  return `p${number}: pullRequest(number: ${number}) {
    reviews(last: ${MAX_REVIEWS_READ}, states: [CHANGES_REQUESTED]) { nodes {
      id: fullDatabaseId comments(first: ${MAX_REVIEW_COMMENTS}) { nodes { path line body } }
    } }
  }`;
}

function toComment({ path, line = null, body }: z.infer<typeof Comment>): ReviewComment {
  const words = printableText(startOf(body ?? "", MAX_READ_CHARS)).trim();
  return { path: toName(path), line, words: cut(words, SHOWN_CHARS.reason) };
}
