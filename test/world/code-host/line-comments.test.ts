// @module-tag all

import { Octokit } from "@octokit/rest";
import { expect, it, vi } from "vitest";
import { PATIENT } from "../../support/patient.ts";
import {
  FILES,
  openPullRequest,
  openTestHost,
  OWNER,
  QUIET,
  refusal,
  REPO,
  type TestHost,
  TOKEN,
} from "./setup.ts";

const at = { owner: OWNER, repo: REPO };
const PAGE = "docs/quickstart.md";
const START = Array.from({ length: 30 }, (_, index) => `Line ${index + 1}`);
const TOKENS = [
  TOKEN,
  { token: "mira", login: "mira" },
  { token: "stranger", login: "stranger" },
  { token: "linter", login: "mira[bot]", kind: "installation" },
] as const;

/** The page with other lines, by their numbers. */
function changed(lines: Record<number, string>): string {
  return `${START.map((line, index) => lines[index + 1] ?? line).join("\n")}\n`;
}

const FIX = { [PAGE]: changed({ 5: "Line five", 20: "Line twenty" }) };

async function open() {
  const test = await openTestHost({ ...FILES, [PAGE]: changed({}) }, { tokens: TOKENS });
  const number = await openPullRequest(test, "fix", FIX);
  const as = (auth: string) => new Octokit({ auth, baseUrl: test.host.apiUrl, log: QUIET });
  return { test, as, pull: { ...at, pull_number: number } };
}

type Comment = { fullDatabaseId: string; body: string; author: { login: string }; diffHunk: string };
type Thread = {
  id: string;
  isResolved: boolean;
  isOutdated: boolean;
  path: string;
  line: number | null;
  comments: { nodes: (Comment & { url: string; pullRequestReview: { state: string } })[] };
};

const THREADS = `{ repository(owner: "tidepool", name: "docs") { pullRequest(number: 1) {
  reviewThreads(first: 50) { totalCount nodes {
    id isResolved isOutdated path line originalLine diffSide
    comments(first: 20) { nodes {
      fullDatabaseId author { login } body diffHunk createdAt url
      pullRequestReview { fullDatabaseId state author { login } }
      replyTo { fullDatabaseId }
    } }
  } }
} } }`;

async function threads(test: TestHost): Promise<Thread[]> {
  const told = await test.octokit.graphql<{
    repository: { pullRequest: { reviewThreads: { nodes: Thread[] } } };
  }>(THREADS);
  return told.repository.pullRequest.reviewThreads.nodes;
}

const REVIEW = {
  event: "REQUEST_CHANGES" as const,
  body: "Two things.",
  comments: [
    { path: PAGE, line: 5, body: "Say `5`." },
    { path: PAGE, line: 20, side: "LEFT", body: "Why does this go?" },
  ],
};

it("takes a review with comments on lines, and shows each with its hunk", async () => {
  const { test, as, pull } = await open();
  await using _test = test;
  const head = await test.tip("fix");
  const { data: review } = await as("mira").rest.pulls.createReview({ ...pull, ...REVIEW });
  const { data } = await test.octokit.rest.pulls.listReviewComments(pull);
  expect(data).toMatchObject([
    {
      pull_request_review_id: review.id,
      path: PAGE,
      line: 5,
      original_line: 5,
      side: "RIGHT",
      body: "Say `5`.",
      user: { login: "mira" },
      author_association: "MEMBER",
      commit_id: head,
      diff_hunk: expect.stringMatching(/^@@ -2,7 \+2,7 @@[^]*\n-Line 5\n\+Line five$/),
      html_url: expect.stringMatching(/\/pull\/1#discussion_r\d+$/),
    },
    { line: 20, side: "LEFT", diff_hunk: expect.stringMatching(/\n-Line 20$/) },
  ]);
  expect(data[0]).not.toHaveProperty("in_reply_to_id");
  expect((await test.octokit.rest.pulls.get(pull)).data.review_comments).toBe(2);
  const one = await test.octokit.rest.pulls.getReviewComment({ ...at, comment_id: data[0]?.id ?? 0 });
  expect(one.data).toEqual(data[0]);
  const own = { ...pull, review_id: review.id };
  const { data: ofReview } = await test.octokit.rest.pulls.listCommentsForReview(own);
  expect(ofReview).toMatchObject([
    { id: data[0]?.id, position: 5, original_position: 5, body: "Say `5`." },
    { id: data[1]?.id },
  ]);
  expect(ofReview[0]).not.toHaveProperty("line");
  const page = { ...pull, sort: "created", direction: "desc", per_page: 1 } as const;
  const listed = await test.octokit.rest.pulls.listReviewComments(page);
  expect(listed.data).toMatchObject([{ line: 20 }]);
  expect(listed.headers.link).toContain('rel="next"');
});

it("takes a comment alone and replies to it, each with a review of its own that has no words", async () => {
  const { test, as, pull } = await open();
  await using _test = test;
  const head = await test.tip("fix");
  await test.octokit.rest.pulls.requestReviewers({ ...pull, reviewers: ["mira"] });
  const { pulls } = as("mira").rest;
  const { data: first } = await pulls.createReviewComment({
    ...pull,
    commit_id: head,
    path: PAGE,
    line: 4,
    side: "RIGHT",
    body: "Hm",
  });
  const reply = { ...pull, comment_id: first.id, body: "Done." };
  const { data: answer } = await test.octokit.rest.pulls.createReplyForReviewComment(reply);
  expect(answer).toMatchObject({
    in_reply_to_id: first.id,
    line: 4,
    path: PAGE,
    user: { login: "docs-agent" },
  });
  expect((await pulls.listReviews(pull)).data).toMatchObject([
    { id: first.pull_request_review_id, state: "COMMENTED", body: "", user: { login: "mira" } },
    { id: answer.pull_request_review_id, state: "COMMENTED", body: "", user: { login: "docs-agent" } },
  ]);
  expect((await pulls.get(pull)).data.requested_reviewers).toEqual([]);
  // There are no replies to replies.
  expect(await refusal(pulls.createReplyForReviewComment({ ...reply, comment_id: answer.id }))).toMatchObject(
    { status: 404 },
  );
  expect(await threads(test)).toMatchObject([
    {
      isResolved: false,
      isOutdated: false,
      path: PAGE,
      line: 4,
      comments: {
        nodes: [
          { fullDatabaseId: String(first.id), author: { login: "mira" }, body: "Hm", url: first.html_url },
          { body: "Done.", replyTo: { fullDatabaseId: String(first.id) } },
        ],
      },
    },
  ]);
  await test.restart();
  expect(await threads(test)).toHaveLength(1);
});

it("refuses a comment that isn't on the diff, or on another commit", async () => {
  const { test, as, pull } = await open();
  await using _test = test;
  const { pulls } = as("mira").rest;
  const right = { ...pull, commit_id: await test.tip("fix"), path: PAGE, line: 5, body: "Hm" };
  const why = async (change: object) => refusal(pulls.createReviewComment({ ...right, ...change }));
  const resource = "PullRequestReviewComment";
  const message = "could not be resolved";
  expect(await why({ line: 12 })).toMatchObject({
    status: 422,
    message: "Validation Failed",
    errors: [{ resource, code: "custom", field: "pull_request_review_thread.line", message }],
  });
  expect(await why({ path: "README.md" })).toMatchObject({
    errors: [{ resource, code: "invalid", field: "pull_request_review_thread.path", message }],
  });
  expect(await why({ commit_id: await test.tip("main") })).toMatchObject({
    errors: [{ field: "commit_id", message: "commit_id is not part of the pull request" }],
  });
  expect(await why({ line: undefined })).toMatchObject({ status: 422, message: /"line" wasn't supplied/ });
  const comments = [
    { path: PAGE, line: 5, body: "Right" },
    { path: PAGE, line: 12, body: "Wrong" },
  ];
  expect(await refusal(pulls.createReview({ ...pull, event: "COMMENT", comments }))).toMatchObject({
    status: 422,
    message: "Unprocessable Entity",
    errors: ["Line could not be resolved"],
  });
  expect((await pulls.listReviews(pull)).data).toEqual([]);
  expect((await pulls.listReviewComments(pull)).data).toEqual([]);
});

it("follows a line through pushes, until somebody changes it", async () => {
  const { test, as, pull } = await open();
  await using _test = test;
  const before = await test.tip("fix");
  await as("mira").rest.pulls.createReview({ ...pull, ...REVIEW });
  const lines = async () => (await threads(test)).map(({ line, isOutdated }) => [line, isOutdated]);
  await test.push("fix", { [PAGE]: `New\n${FIX[PAGE]}` }, "fix");
  expect(await lines()).toEqual([
    [6, false],
    [20, false],
  ]);
  const text = changed({ 5: "Line 5!", 20: "Line twenty" });
  const after = await test.push("fix", { [PAGE]: text }, "fix");
  expect(await lines()).toEqual([
    [null, true],
    [20, false],
  ]);
  const { data } = await test.octokit.rest.pulls.listReviewComments(pull);
  expect(data).toMatchObject([
    { line: null, original_line: 5, position: null, commit_id: before, original_commit_id: before },
    { line: 20, commit_id: after, original_commit_id: before },
  ]);
});

it("lets people with the right resolve a thread, and open it again", async () => {
  const { test, as, pull } = await open();
  await using _test = test;
  await as("mira").rest.pulls.createReview({ ...pull, ...REVIEW });
  test.host.rules.roles.set("stranger", "read");
  const [first] = await threads(test);
  const change = async (token: string, mutation: string, id = first?.id) =>
    as(token).graphql(
      `mutation ($id: ID!) { ${mutation}(input: { threadId: $id }) {
      thread { isResolved resolvedBy { login } } } }`,
      { id },
    );
  await expect(change("stranger", "resolveReviewThread")).rejects.toThrow(
    "stranger does not have the correct permissions to execute `ResolveReviewThread`",
  );
  expect(await change("mira", "resolveReviewThread")).toEqual({
    resolveReviewThread: { thread: { isResolved: true, resolvedBy: { login: "mira" } } },
  });
  expect((await threads(test)).map(({ isResolved }) => isResolved)).toEqual([true, false]);
  await change(TOKEN, "unresolveReviewThread");
  expect((await threads(test)).map(({ isResolved }) => isResolved)).toEqual([false, false]);
  await expect(change("mira", "resolveReviewThread", "PRRT_1")).rejects.toThrow("PRRT_1");
});

it("tells bots from people by their type: in GraphQL, their logins have no ending", async () => {
  const { test, as, pull } = await open();
  await using _test = test;
  for (const token of ["mira", "linter"]) {
    await as(token).rest.pulls.createReview({ ...pull, event: "COMMENT", body: "Hm" });
  }
  const query = `{ repository(owner: "tidepool", name: "docs") { pullRequest(number: 1) {
    reviews(first: 5) { nodes { author { __typename login } } } } } }`;
  const nodes = [
    { author: { __typename: "User", login: "mira" } },
    { author: { __typename: "Bot", login: "mira" } },
  ];
  expect(await test.octokit.graphql(query)).toEqual({
    repository: { pullRequest: { reviews: { nodes } } },
  });
  const { data } = await test.octokit.rest.pulls.listReviews(pull);
  expect(data.map(({ user }) => [user?.login, user?.type])).toEqual([
    ["mira", "User"],
    ["mira[bot]", "Bot"],
  ]);
});

it("tells a webhook about each comment on a line", async () => {
  const { test, as, pull } = await open();
  await using _test = test;
  // Nobody listens there; what was sent is kept.
  test.host.rules.webhook = { url: "http://127.0.0.1:1/", secret: "secret" };
  await as("mira").rest.pulls.createReview({ ...pull, ...REVIEW });
  await vi.waitFor(() => expect(test.host.deliveries).toHaveLength(3), PATIENT);
  expect(test.host.deliveries.map(({ event }) => event).toSorted()).toEqual([
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_comment",
  ]);
  const bodies = test.host.deliveries.map(({ payload }) => JSON.parse(payload).comment?.body);
  expect(bodies).toEqual(expect.arrayContaining(["Say `5`.", "Why does this go?"]));
});
