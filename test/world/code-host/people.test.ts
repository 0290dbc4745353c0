// @module-tag all

import { Octokit } from "@octokit/rest";
import { expect, it } from "vitest";
import { FILES, openPullRequest, openTestHost, OWNER, QUIET, refusal, REPO, TOKEN } from "./setup.ts";

const at = { owner: OWNER, repo: REPO };
const TOKENS = [
  TOKEN,
  { token: "mira", login: "mira" },
  { token: "app", login: "docs[bot]", kind: "installation" },
] as const;

async function open() {
  const test = await openTestHost(FILES, { tokens: TOKENS });
  const number = await openPullRequest(test, "fix", { "a.md": "a\n" });
  const as = (auth: string) => new Octokit({ auth, baseUrl: test.host.apiUrl, log: QUIET }).rest;
  return { test, as, pull: { ...at, pull_number: number } };
}

it("tells what a person may do in a repository, by the older words and by the role", async () => {
  const { test, as } = await open();
  await using _test = test;
  const { rules } = test.host;
  const role = async (username: string) =>
    (await as("app").repos.getCollaboratorPermissionLevel({ ...at, username })).data;
  for (const [login, given] of [
    ["ana", "admin"],
    ["ben", "maintain"],
    ["cleo", "triage"],
    ["dan", "none"],
  ] as const) {
    rules.roles.set(login, given);
  }
  expect(await role("ana")).toMatchObject({ permission: "admin", role_name: "admin" });
  expect(await role("ben")).toMatchObject({ permission: "write", role_name: "maintain" });
  expect(await role("cleo")).toMatchObject({ permission: "read", role_name: "triage" });
  expect(await role("mira")).toMatchObject({ permission: "write", user: { login: "mira" } });
  // Whoever is no collaborator may read what is public.
  expect(await role("dan")).toMatchObject({ permission: "read" });
  rules.collaborators = new Set(["ana"]);
  expect(await role("mira")).toMatchObject({ permission: "read" });
  rules.privateRepositories.add("tidepool/docs");
  expect(await role("dan")).toMatchObject({ permission: "none", role_name: "none" });
  expect(await role("mira")).toMatchObject({ permission: "none" });
});

it("tells that to nobody who may not push, and of no account that isn't a person's", async () => {
  const { test, as } = await open();
  await using _test = test;
  const ask = async (token: string, username: string) =>
    refusal(as(token).repos.getCollaboratorPermissionLevel({ ...at, username }));
  test.host.rules.roles.set("mira", "triage");
  expect(await ask("mira", "ana")).toMatchObject({
    status: 403,
    message: "Must have push access to view collaborator permission.",
  });
  expect(await ask(TOKEN, "dependabot[bot]")).toMatchObject({
    status: 404,
    message: "dependabot[bot] is not a user",
  });
  test.host.rules.goneAccounts.add("gone");
  expect(await ask("app", "gone")).toMatchObject({ status: 404, message: "Not Found" });
  const anyone = new Octokit({ baseUrl: test.host.apiUrl, log: QUIET }).rest;
  expect(
    await refusal(anyone.repos.getCollaboratorPermissionLevel({ ...at, username: "ana" })),
  ).toMatchObject({ status: 401 });
});

it("asks for a review again after one was given, in REST and in GraphQL", async () => {
  const { test, as, pull } = await open();
  await using _test = test;
  const waiting = async () => {
    const { data } = await test.octokit.rest.pulls.get(pull);
    const { repository } = await test.octokit.graphql<{
      repository: { pullRequest: { reviewRequests: { nodes: { requestedReviewer: { login: string } }[] } } };
    }>(`{ repository(owner: "tidepool", name: "docs") { pullRequest(number: ${pull.pull_number}) {
      reviewRequests(first: 5) { nodes { requestedReviewer { ... on User { login } } } } } } }`);
    const { nodes } = repository.pullRequest.reviewRequests;
    return [
      data.requested_reviewers?.map(({ login }) => login),
      nodes.map(({ requestedReviewer: { login } }) => login),
    ];
  };
  await as(TOKEN).pulls.requestReviewers({ ...pull, reviewers: ["mira"] });
  await as("mira").pulls.createReview({ ...pull, event: "REQUEST_CHANGES", body: "Shorter." });
  expect(await waiting()).toEqual([[], []]);
  await as(TOKEN).pulls.requestReviewers({ ...pull, reviewers: ["mira"] });
  expect(await waiting()).toEqual([["mira"], ["mira"]]);
  // Who asked for changes has done so until there is another review.
  expect((await as(TOKEN).pulls.listReviews(pull)).data).toMatchObject([{ state: "CHANGES_REQUESTED" }]);
});

it("asks neither the author nor a stranger for a review", async () => {
  const { test, as, pull } = await open();
  await using _test = test;
  test.host.rules.roles.set("stranger", "none").set("cleo", "read");
  const ask = (...reviewers: string[]) => as(TOKEN).pulls.requestReviewers({ ...pull, reviewers });
  expect(await refusal(ask("mira", "docs-agent"))).toMatchObject({
    status: 422,
    message: "Review cannot be requested from pull request author.",
  });
  expect(await refusal(ask("stranger"))).toMatchObject({
    status: 422,
    message:
      "Reviews may only be requested from collaborators. One or more of the users or teams you " +
      "specified is not a collaborator of the tidepool/docs repository.",
  });
  expect((await ask("cleo")).status).toBe(201);
});
