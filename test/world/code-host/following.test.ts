// @module-tag all

import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { Octokit } from "@octokit/rest";
import { expect, it, onTestFinished, vi } from "vitest";
import { closeNow, listenOnLoopback } from "../../../world/loopback-server.ts";
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
import { PATIENT } from "../../support/patient.ts";

const at = { owner: OWNER, repo: REPO };
const TOKENS = [
  TOKEN,
  { token: "mira", login: "mira" },
  { token: "narrow", kind: "fine-grained" },
  { token: "ci", login: "checks[bot]", kind: "installation" },
] as const;

async function open(now?: () => Date) {
  const test = await openTestHost(FILES, { tokens: TOKENS, ...(now === undefined ? {} : { now }) });
  const number = await openPullRequest(test, "fix", { "README.md": "mine\n" });
  const head = await test.tip("fix");
  return { test, number, head, pull: { ...at, pull_number: number } };
}

function as(test: TestHost, token: string) {
  return new Octokit({ auth: token, baseUrl: test.host.apiUrl, log: QUIET });
}

async function graphql(test: TestHost, query: string, token = TOKEN) {
  const answer = await fetch(`${test.host.url}/api/graphql`, {
    method: "POST",
    headers: { authorization: `bearer ${token}` },
    body: JSON.stringify({ query }),
  });
  return { status: answer.status, headers: answer.headers, body: await answer.json() };
}

it("takes reviews, and stops waiting for who gave one; nobody approves their own", async () => {
  const { test, pull } = await open();
  await using _test = test;
  const mine = test.octokit.rest.pulls;
  const hers = as(test, "mira").rest.pulls;
  await mine.requestReviewers({ ...pull, reviewers: ["mira", "otto"] });
  expect(await refusal(mine.createReview({ ...pull, event: "APPROVE" }))).toMatchObject({
    status: 422,
    errors: ["Can not approve your own pull request"],
  });
  expect(await refusal(hers.createReview({ ...pull, event: "REQUEST_CHANGES" }))).toMatchObject({
    status: 422,
  });
  const body = "Say it shorter.";
  const { data: review } = await hers.createReview({ ...pull, event: "REQUEST_CHANGES", body });
  expect((await mine.listReviews(pull)).data).toMatchObject([
    { id: review.id, user: { login: "mira" }, state: "CHANGES_REQUESTED", body },
  ]);
  expect((await mine.get(pull)).data.requested_reviewers).toMatchObject([{ login: "otto" }]);
  await mine.dismissReview({ ...pull, review_id: review.id, message: "Done" });
  expect((await mine.listReviews(pull)).data).toMatchObject([{ id: review.id, state: "DISMISSED" }]);
});

it("merges nothing that the branch's rules are against, and says why in GitHub's words", async () => {
  const { test, pull, head } = await open();
  await using _test = test;
  const { pulls, repos } = test.octokit.rest;
  await repos.updateBranchProtection({
    ...at,
    branch: "main",
    required_status_checks: { strict: false, contexts: ["links"] },
    required_pull_request_reviews: { required_approving_review_count: 1 },
    enforce_admins: true,
    restrictions: null,
  });
  const why = async () => refusal(pulls.merge(pull));
  expect(await why()).toMatchObject({
    status: 405,
    message:
      "At least 1 approving review is required by reviewers with write access.\n" +
      'Required status check "links" is expected.',
  });
  await as(test, "mira").rest.pulls.createReview({ ...pull, event: "APPROVE" });
  const ci = as(test, "ci").rest.checks;
  const run = { ...at, name: "links", head_sha: head } as const;
  const { data } = await ci.create({ ...run, status: "in_progress" });
  expect(await why()).toMatchObject({ message: 'Required status check "links" is in progress.' });
  await ci.update({ ...at, check_run_id: data.id, conclusion: "failure" });
  expect(await why()).toMatchObject({ message: 'Required status check "links" is failing.' });
  expect((await pulls.get(pull)).data.mergeable_state).toBe("blocked");
  await ci.create({ ...run, conclusion: "success" });
  expect((await pulls.get(pull)).data).toMatchObject({ mergeable: true, mergeable_state: "clean" });
  expect((await pulls.merge(pull)).data.merged).toBe(true);
  expect((await pulls.get(pull)).data).toMatchObject({ state: "closed", merged: true });
});

it("doesn't know at first whether a pull request can be merged", async () => {
  const { test, pull } = await open();
  await using _test = test;
  const look = async () => (await test.octokit.rest.pulls.get(pull)).data.mergeable;
  expect([await look(), await look()]).toEqual([null, true]);
  const base = await test.tip("main");
  await test.push("main", { "README.md": "theirs\n" });
  expect([await look(), await look()]).toEqual([null, false]);
  const compared = await test.octokit.rest.repos.compareCommits({
    ...at,
    base: "main",
    head: "tidepool:fix",
  });
  expect(compared.data).toMatchObject({ status: "diverged", merge_base_commit: { sha: base } });
});

it("moves updated_at with reviews, comments, labels, pushes and states, not with checks", async () => {
  let seconds = 0;
  const { test, pull, head, number } = await open(() => new Date(seconds * 1000));
  await using _test = test;
  const { pulls, issues } = test.octokit.rest;
  const issue = { ...at, issue_number: number };
  const moved = async (change: () => Promise<unknown>) => {
    seconds += 10;
    await change();
    const { data } = await pulls.get(pull);
    return Date.parse(data.updated_at) === seconds * 1000;
  };
  expect(await moved(() => pulls.createReview({ ...pull, event: "COMMENT", body: "Hm" }))).toBe(true);
  expect(await moved(() => issues.createComment({ ...issue, body: "Hm" }))).toBe(true);
  expect(await moved(() => issues.addLabels({ ...issue, labels: ["docs"] }))).toBe(true);
  expect(await moved(() => test.push("fix", { "b.md": "b\n" }, "fix"))).toBe(true);
  expect(await moved(() => pulls.update({ ...pull, state: "closed" }))).toBe(true);
  expect(await moved(() => pulls.update({ ...pull, state: "open" }))).toBe(true);
  const status = { ...at, sha: head, state: "failure", context: "build" } as const;
  expect(await moved(() => test.octokit.rest.repos.createCommitStatus(status))).toBe(false);
});

it("answers 304 for free, but not to another token's ETag", async () => {
  const { test, pull } = await open();
  await using _test = test;
  const url = `${test.host.apiUrl}/repos/tidepool/docs/pulls?state=all&sort=updated&direction=desc`;
  const look = async (token: string, etag: string) =>
    fetch(url, { headers: { authorization: `bearer ${token}`, "if-none-match": etag } });
  const first = await look(TOKEN, "");
  const etag = first.headers.get("etag") ?? "";
  test.host.resetCalls();
  const second = await look(TOKEN, etag);
  expect([second.status, await second.text(), second.headers.get("x-ratelimit-used")]).toEqual([
    304,
    "",
    "0",
  ]);
  expect((await look("mira", etag)).status).toBe(200);
  await test.octokit.rest.pulls.update({ ...pull, title: "Another" });
  expect((await look(TOKEN, etag)).status).toBe(200);
  expect(test.host.calls).toMatchObject({ paid: 3, notModified: 1 });
});

it("refuses calls over a token's limit until its hour is over", async () => {
  let now = 0;
  const { test, pull } = await open(() => new Date(now));
  await using _test = test;
  test.host.resetCalls();
  test.host.rules.callsPerHour = 2;
  const look = () => test.octokit.rest.pulls.get(pull);
  await look();
  expect((await look()).headers).toMatchObject({ "x-ratelimit-remaining": "0", "x-ratelimit-reset": "3600" });
  expect(await refusal(look())).toMatchObject({ status: 403, message: /rate limit exceeded/ });
  expect((await as(test, "mira").rest.pulls.get(pull)).status).toBe(200);
  now = 3_600_000;
  expect((await look()).status).toBe(200);
  expect(test.host.calls.refused).toBe(1);
});

it("keeps check runs from fine-grained tokens, and lets only an App write them", async () => {
  const { test, head } = await open();
  await using _test = test;
  const ref = { ...at, ref: head };
  expect(await refusal(as(test, "narrow").rest.checks.listForRef(ref))).toMatchObject({
    status: 403,
    message: "Resource not accessible by personal access token",
  });
  expect(await refusal(test.octokit.rest.checks.create({ ...at, name: "x", head_sha: head }))).toMatchObject({
    status: 403,
  });
  await as(test, "ci").rest.checks.create({ ...at, name: "x", head_sha: head, conclusion: "failure" });
  await as(test, "ci").rest.checks.create({ ...at, name: "x", head_sha: head, conclusion: "success" });
  const { data } = await test.octokit.rest.checks.listForRef(ref);
  expect(data).toMatchObject({
    total_count: 1,
    check_runs: [{ status: "completed", conclusion: "success" }],
  });
  await test.octokit.rest.repos.createCommitStatus({ ...at, sha: head, state: "pending", context: "build" });
  const combined = await as(test, "narrow").rest.repos.getCombinedStatusForRef(ref);
  expect(combined.data).toMatchObject({
    state: "pending",
    statuses: [{ context: "build", state: "pending" }],
  });
});

const QUERY = `{
  repository(owner: "tidepool", name: "docs") {
    pullRequest(number: 1) {
      state isDraft mergeable mergeStateStatus reviewDecision
      reviewRequests(first: 10) { nodes { requestedReviewer { ... on User { login } ... on Team { combinedSlug } } } }
      reviews(last: 10) { nodes { author { login } state body } }
      commits(last: 1) { nodes { commit { oid statusCheckRollup { state contexts(first: 50) { nodes {
        __typename
        ... on CheckRun { name status conclusion isRequired(pullRequestNumber: 1) }
        ... on StatusContext { context state isRequired(pullRequestNumber: 1) }
      } } } } } }
    }
  }
  rateLimit { cost remaining }
}`;

it("answers GraphQL about a pull request, by GitHub's own schema", async () => {
  const { test, pull, head } = await open();
  await using _test = test;
  await test.host.repository(OWNER, REPO).records.saveProtection("main", {
    approvals: 1,
    requiredChecks: ["links"],
    isStrict: false,
    dismissesStaleReviews: false,
  });
  await test.octokit.rest.pulls.requestReviewers({ ...pull, reviewers: ["otto"], team_reviewers: ["docs"] });
  await as(test, "mira").rest.pulls.createReview({ ...pull, event: "APPROVE", body: "Good" });
  await test.host.setCheck(OWNER, REPO, { sha: head, name: "links", result: "failed" });
  await test.octokit.rest.repos.createCommitStatus({ ...at, sha: head, state: "success", context: "build" });
  const asked = async (token?: string) => (await graphql(test, QUERY, token)).body;
  expect(await asked()).toMatchObject({
    data: { repository: { pullRequest: { mergeable: "UNKNOWN", mergeStateStatus: "UNKNOWN" } } },
  });
  expect(await asked()).toEqual({
    data: {
      repository: {
        pullRequest: {
          state: "OPEN",
          isDraft: false,
          mergeable: "MERGEABLE",
          mergeStateStatus: "BLOCKED",
          reviewDecision: "APPROVED",
          reviewRequests: {
            nodes: [
              { requestedReviewer: { login: "otto" } },
              { requestedReviewer: { combinedSlug: "tidepool/docs" } },
            ],
          },
          reviews: { nodes: [{ author: { login: "mira" }, state: "APPROVED", body: "Good" }] },
          commits: {
            nodes: [
              {
                commit: {
                  oid: head,
                  statusCheckRollup: {
                    state: "FAILURE",
                    contexts: {
                      nodes: [
                        {
                          __typename: "CheckRun",
                          name: "links",
                          status: "COMPLETED",
                          conclusion: "FAILURE",
                          isRequired: true,
                        },
                        {
                          __typename: "StatusContext",
                          context: "build",
                          state: "SUCCESS",
                          isRequired: false,
                        },
                      ],
                    },
                  },
                },
              },
            ],
          },
        },
      },
      rateLimit: { cost: 1, remaining: 4998 },
    },
  });
  expect(await asked("narrow")).toMatchObject({
    errors: [{ type: "FORBIDDEN", message: "Resource not accessible by personal access token" }],
  });
  expect((await graphql(test, "{ viewer { nothing } }")).body).toMatchObject({
    errors: [{ message: /Cannot query field "nothing" on type "User"/ }],
  });
  test.host.rules.hasGraphql = false;
  expect((await graphql(test, QUERY)).status).toBe(404);
});

it("tells a webhook what happened, signed, once", async () => {
  const { test, pull, head } = await open();
  await using _test = test;
  const heard: { event: string; action: unknown }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      const signature = `sha256=${createHmac("sha256", "secret").update(text).digest("hex")}`;
      const isRight = request.headers["x-hub-signature-256"] === signature;
      const { action = null } = JSON.parse(text);
      if (isRight) heard.push({ event: String(request.headers["x-github-event"]), action });
      response.writeHead(500).end();
    });
  });
  const port = await listenOnLoopback(server, 0);
  onTestFinished(() => closeNow(server));
  test.host.rules.webhook = { url: `http://127.0.0.1:${port}/`, secret: "secret" };
  await as(test, "mira").rest.pulls.createReview({ ...pull, event: "APPROVE" });
  await test.host.setCheck(OWNER, REPO, { sha: head, name: "links", result: "passed" });
  await test.octokit.rest.repos.createCommitStatus({ ...at, sha: head, state: "success" });
  await test.octokit.rest.pulls.merge(pull);
  const all = [
    { event: "pull_request_review", action: "submitted" },
    { event: "check_suite", action: "completed" },
    { event: "status", action: null },
    { event: "pull_request", action: "closed" },
  ];
  await vi.waitFor(
    () => expect(test.host.deliveries.map(({ status }) => status)).toEqual([500, 500, 500, 500]),
    PATIENT,
  );
  expect(heard).toEqual(expect.arrayContaining(all));
  expect(heard).toHaveLength(all.length);
  await test.host.redeliver(test.host.deliveries[0]?.id ?? "");
  expect(heard).toHaveLength(all.length + 1);
});

it("keeps reviews, checks and rules over a restart", async () => {
  const { test, pull, head } = await open();
  await using _test = test;
  await as(test, "mira").rest.pulls.createReview({ ...pull, event: "APPROVE" });
  await test.host.setCheck(OWNER, REPO, { sha: head, name: "links", result: "failed" });
  await test.host.repository(OWNER, REPO).records.saveProtection("main", {
    approvals: 1,
    requiredChecks: ["links"],
    isStrict: false,
    dismissesStaleReviews: false,
  });
  await test.restart();
  expect(await refusal(test.octokit.rest.pulls.merge(pull))).toMatchObject({
    status: 405,
    message: 'Required status check "links" is failing.',
  });
});
