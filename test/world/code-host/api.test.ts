// @module-tag all

import { Octokit } from "@octokit/rest";
import { expect, it } from "vitest";
import { openPullRequest, openTestHost, OWNER, QUIET, refusal, REPO, TOKEN } from "./setup.ts";

const at = { owner: OWNER, repo: REPO };

it("tells of a repository, its branches and refs, also with slashes in the name", async () => {
  await using test = await openTestHost();
  const sha = await test.push("docs-agent/7f3a", { "a.md": "a\n" });
  const { rest } = test.octokit;
  const repo = await rest.repos.get(at);
  expect(repo.data).toMatchObject({
    full_name: "tidepool/docs",
    default_branch: "main",
    permissions: { push: true },
    clone_url: test.host.gitUrl(OWNER, REPO),
  });
  expect((await rest.repos.getBranch({ ...at, branch: "docs-agent/7f3a" })).data.commit.sha).toBe(sha);
  expect((await rest.git.getRef({ ...at, ref: "heads/docs-agent/7f3a" })).data).toMatchObject({
    ref: "refs/heads/docs-agent/7f3a",
    object: { sha, type: "commit" },
  });
});

it("opens a pull request, finds it by its branch, and changes its title and body", async () => {
  await using test = await openTestHost();
  const { pulls } = test.octokit.rest;
  expect((await pulls.list({ ...at, head: "tidepool:fix", state: "all" })).data).toEqual([]);
  const number = await openPullRequest(test, "fix", {
    "docs/quickstart.md": "# Quickstart\n\nOne\n2\n",
  });
  const found = await pulls.list({ ...at, head: "tidepool:fix", state: "all" });
  expect(found.data).toHaveLength(1);
  expect(found.data[0]).toMatchObject({
    number,
    html_url: `${test.host.url}/tidepool/docs/pull/${number}`,
    state: "open",
    head: { ref: "fix", label: "tidepool:fix", sha: await test.tip("fix") },
    base: { ref: "main" },
  });
  await pulls.update({ ...at, pull_number: number, title: "Better", body: "Why" });
  expect((await pulls.get({ ...at, pull_number: number })).data).toMatchObject({
    title: "Better",
    body: "Why",
    mergeable: true,
    mergeable_state: "clean",
    merged: false,
    commits: 1,
    additions: 1,
    deletions: 2,
    changed_files: 1,
  });
});

it("has drafts that become ready, labels, assignees and reviewers, and refuses as GitHub does", async () => {
  await using test = await openTestHost();
  const { rest } = test.octokit;
  const { rules } = test.host;
  await test.push("fix", { "a.md": "a\n" });
  const wanted = { ...at, title: "Fix", head: "fix", base: "main", draft: true };
  rules.hasDrafts = false;
  expect(await refusal(rest.pulls.create(wanted))).toMatchObject({ status: 422 });
  rules.hasDrafts = true;
  const { data } = await rest.pulls.create(wanted);
  expect(data.draft).toBe(true);
  await test.octokit.graphql(
    "mutation ($id: ID!) { markPullRequestReadyForReview(input: { pullRequestId: $id }) { clientMutationId } }",
    { id: data.node_id },
  );
  rules.collaborators = new Set(["ana", "tidepool/docs-team"]);
  const pull = { ...at, pull_number: data.number };
  const issue = { ...at, issue_number: data.number };
  await rest.issues.addLabels({ ...issue, labels: ["docs"] });
  await rest.issues.addAssignees({ ...issue, assignees: ["ana", "nobody"] });
  expect(await refusal(rest.pulls.requestReviewers({ ...pull, reviewers: ["ana", "nobody"] }))).toMatchObject(
    {
      status: 422,
    },
  );
  await rest.pulls.requestReviewers({ ...pull, reviewers: ["ana"], team_reviewers: ["docs-team"] });
  expect((await rest.pulls.get(pull)).data).toMatchObject({
    draft: false,
    labels: [{ name: "docs" }],
    assignees: [{ login: "ana" }],
    requested_reviewers: [{ login: "ana" }],
    requested_teams: [{ slug: "docs-team" }],
  });
  rules.privateRepositories.add("tidepool/docs");
  expect((await rest.repos.get(at)).data).toMatchObject({ private: true, visibility: "private" });
});

it("lists what changed in each file, with names that git would quote", async () => {
  await using test = await openTestHost();
  const work = await test.clone("work");
  await work.push("names", { 'docs/ñandú\tand "this".md': "x\n", "bin.dat": "a\0b" });
  await work.git("mv", "README.md", "START.md");
  await work.git("rm", "--quiet", "docs/quickstart.md");
  await work.git("commit", "--quiet", "-m", "More");
  await work.git("push", "--quiet", "origin", "names");
  const { data } = await test.octokit.rest.pulls.create({ ...at, title: "t", head: "names", base: "main" });
  const files = await test.octokit.rest.pulls.listFiles({ ...at, pull_number: data.number });
  const brief = files.data.map(({ filename, status, additions, deletions, previous_filename }) => ({
    filename,
    status,
    additions,
    deletions,
    previous_filename,
  }));
  expect(brief).toEqual([
    { filename: "START.md", status: "renamed", additions: 0, deletions: 0, previous_filename: "README.md" },
    { filename: "bin.dat", status: "added", additions: 0, deletions: 0 },
    { filename: "docs/quickstart.md", status: "removed", additions: 0, deletions: 5 },
    { filename: 'docs/ñandú\tand "this".md', status: "added", additions: 1, deletions: 0 },
  ]);
  expect(files.data.map(({ patch }) => patch?.split("\n")[0])).toEqual([
    undefined,
    undefined,
    "@@ -1,5 +0,0 @@",
    "@@ -0,0 +1 @@",
  ]);
});

it("follows pushes to an open pull request, and keeps what a closed one was about", async () => {
  await using test = await openTestHost();
  const work = await test.clone("work");
  const { pulls } = test.octokit.rest;
  const number = await openPullRequest(test, "fix", { "a.md": "a\n" }, work);
  await work.push("fix", { "b.md": "b\n" }, "fix");
  expect((await pulls.get({ ...at, pull_number: number })).data.commits).toBe(2);
  await pulls.update({ ...at, pull_number: number, state: "closed" });
  await work.push("fix", { "c.md": "c\n" }, "fix");
  const closed = await pulls.get({ ...at, pull_number: number });
  expect(closed.data).toMatchObject({ state: "closed", commits: 2, merged: false });
  await pulls.update({ ...at, pull_number: number, state: "open" });
  expect((await pulls.get({ ...at, pull_number: number })).data).toMatchObject({ state: "open", commits: 3 });
});

it("closes a pull request whose branch is deleted, and does not reopen it", async () => {
  await using test = await openTestHost();
  const work = await test.clone("work");
  const number = await openPullRequest(test, "fix", { "a.md": "a\n" });
  await work.git("push", "--quiet", "origin", ":fix");
  const { data } = await test.octokit.rest.pulls.get({ ...at, pull_number: number });
  expect(data).toMatchObject({ state: "closed", changed_files: 1 });
  const refused = await refusal(
    test.octokit.rest.pulls.update({ ...at, pull_number: number, state: "open" }),
  );
  expect(refused).toMatchObject({ status: 422, message: "Validation Failed" });
});

it.each(["merge", "squash", "rebase"] as const)("merges by %s, in the repository itself", async (method) => {
  await using test = await openTestHost();
  const { pulls } = test.octokit.rest;
  const number = await openPullRequest(test, "fix", { "a.md": "a\n" });
  await test.push("main", { "elsewhere.md": "b\n" });
  const merged = await pulls.merge({ ...at, pull_number: number, merge_method: method });
  expect(merged.data).toMatchObject({ merged: true, message: "Pull Request successfully merged" });
  const work = await test.clone("work");
  expect((await work.git("rev-parse", "origin/main")).trim()).toBe(merged.data.sha);
  expect(await work.git("ls-tree", "--name-only", "origin/main")).toContain("a.md\n");
  expect(await work.git("ls-tree", "--name-only", "origin/main")).toContain("elsewhere.md\n");
  const parents = (await work.git("log", "-1", "--format=%P", "origin/main")).trim().split(" ");
  expect(parents).toHaveLength(method === "merge" ? 2 : 1);
  expect((await pulls.get({ ...at, pull_number: number })).data).toMatchObject({
    state: "closed",
    merged: true,
    merge_commit_sha: merged.data.sha,
    changed_files: 1,
  });
  expect(await refusal(pulls.merge({ ...at, pull_number: number }))).toMatchObject({ status: 405 });
  expect((await pulls.checkIfMerged({ ...at, pull_number: number })).status).toBe(204);
});

it("sees a pull request as merged when its commits were pushed to the base", async () => {
  await using test = await openTestHost();
  const work = await test.clone("work");
  const number = await openPullRequest(test, "fix", { "a.md": "a\n" }, work);
  await work.git("push", "--quiet", "origin", "fix:main");
  const { data } = await test.octokit.rest.pulls.get({ ...at, pull_number: number });
  expect(data).toMatchObject({ state: "closed", merged: true, changed_files: 1, commits: 1 });
});

it("refuses a merge that conflicts, and one of another head", async () => {
  await using test = await openTestHost();
  const { pulls } = test.octokit.rest;
  const number = await openPullRequest(test, "fix", { "README.md": "mine\n" });
  const stale = { ...at, pull_number: number, sha: "0".repeat(40) };
  expect(await refusal(pulls.merge(stale))).toMatchObject({
    status: 409,
    message: "Head branch was modified. Review and try the merge again.",
  });
  const before = await test.push("main", { "README.md": "theirs\n" });
  expect(await refusal(pulls.merge({ ...at, pull_number: number }))).toMatchObject({
    status: 405,
    message: "Pull Request is not mergeable",
  });
  expect((await pulls.get({ ...at, pull_number: number })).data).toMatchObject({
    mergeable: false,
    mergeable_state: "dirty",
    state: "open",
  });
  const main = await test.octokit.rest.repos.getBranch({ ...at, branch: "main" });
  expect(main.data.commit.sha).toBe(before);
});

it("gives a pull request another base, if there is such a branch and it has none of this head", async () => {
  await using test = await openTestHost();
  const { pulls } = test.octokit.rest;
  await test.push("v1", { "v1.md": "1\n" });
  const number = await openPullRequest(test, "fix", { "a.md": "a\n" });
  const change = (base: string) => pulls.update({ ...at, pull_number: number, base });
  expect(await refusal(change("nowhere"))).toMatchObject({ status: 422 });
  expect((await change("v1")).data).toMatchObject({ base: { ref: "v1" }, state: "open" });
  expect((await pulls.create({ ...at, title: "Also", head: "fix", base: "main" })).status).toBe(201);
  expect(await refusal(change("main"))).toMatchObject({ status: 422 });
});

it("refuses what GitHub refuses, in its words", async () => {
  await using test = await openTestHost();
  const { pulls } = test.octokit.rest;
  const create = (values: object) =>
    refusal(pulls.create({ ...at, title: "t", head: "fix", base: "main", ...values }));
  await test.push("fix", { "a.md": "a\n" });
  expect(await create({ head: "main" })).toMatchObject({
    status: 422,
    message: "Validation Failed",
    errors: [{ resource: "PullRequest", code: "custom", message: "No commits between main and main" }],
  });
  expect(await create({ head: "nowhere" })).toMatchObject({
    status: 422,
    errors: [{ resource: "PullRequest", field: "head", code: "invalid" }],
  });
  expect(await create({ base: "nowhere" })).toMatchObject({
    status: 422,
    errors: [{ resource: "PullRequest", field: "base", code: "invalid" }],
  });
  expect(await create({ head: "someone-else:fix" })).toMatchObject({ status: 422 });
  expect(await create({ title: " " })).toMatchObject({
    status: 422,
    errors: [{ code: "missing_field", field: "title" }],
  });
  expect(await create({ title: "t".repeat(257) })).toMatchObject({ status: 422 });
  expect(await create({ body: "b".repeat(65_537) })).toMatchObject({ status: 422 });
  await pulls.create({ ...at, title: "t", head: "tidepool:fix", base: "main" });
  expect(await create({})).toMatchObject({
    status: 422,
    errors: [
      { resource: "PullRequest", code: "custom", message: "A pull request already exists for tidepool:fix." },
    ],
  });
});

it("opens one pull request for a branch, whoever asks at the same time", async () => {
  await using test = await openTestHost();
  await test.push("fix", { "a.md": "a\n" });
  const create = () => test.octokit.rest.pulls.create({ ...at, title: "t", head: "fix", base: "main" });
  const made = await Promise.allSettled(Array.from({ length: 8 }, create));
  expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
});

it.each([
  ["GET /repos/tidepool/none", 404],
  ["GET /repos/tidepool/docs/branches/none", 404],
  ["GET /repos/tidepool/docs/branches/..%2f..", 404],
  ["GET /repos/tidepool/docs/git/ref/heads/--help", 404],
  ["GET /repos/tidepool/docs/pulls/1", 404],
  ["GET /repos/tidepool/docs/pulls/x", 404],
  ["PUT /repos/tidepool/docs/pulls/1/merge", 404],
  ["GET /nothing", 404],
])("%s is %i with GitHub's error body", async (call, status) => {
  await using test = await openTestHost();
  const [method = "", path = ""] = call.split(" ");
  const answer = await fetch(`${test.host.apiUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  expect(answer.status).toBe(status);
  expect(await answer.json()).toMatchObject({
    message: "Not Found",
    documentation_url: expect.stringContaining("https://docs.github.com/"),
  });
});

it("lets anyone read, and nobody write without a token it knows", async () => {
  await using test = await openTestHost();
  const anyone = new Octokit({ baseUrl: test.host.apiUrl, log: QUIET });
  const guess = new Octokit({ baseUrl: test.host.apiUrl, auth: "guess", log: QUIET });
  expect((await anyone.rest.repos.get(at)).data.permissions).toMatchObject({ push: false });
  const wanted = { ...at, title: "t", head: "main", base: "main" };
  expect(await refusal(anyone.rest.pulls.create(wanted))).toMatchObject({
    status: 401,
    message: "Requires authentication",
  });
  expect(await refusal(guess.rest.repos.get(at))).toMatchObject({ status: 401, message: "Bad credentials" });
});

it.each([
  ["{", 400, "Problems parsing JSON"],
  ["[]", 400, "Body should be a JSON object"],
  ["{}", 422, "wasn't supplied"],
  [JSON.stringify({ title: 1, head: "a", base: "b" }), 422, "Invalid request"],
  [`"${"x".repeat(1_100_000)}"`, 413, "too large"],
])("refuses the body %#", async (body, status, message) => {
  await using test = await openTestHost();
  const answer = await fetch(`${test.host.apiUrl}/repos/${OWNER}/${REPO}/pulls`, {
    method: "POST",
    headers: { authorization: `token ${TOKEN}`, "content-type": "application/json" },
    body,
  });
  expect(answer.status).toBe(status);
  expect(await answer.json()).toMatchObject({ message: expect.stringContaining(message) });
});

it("pages through a list as Octokit asks for it", async () => {
  await using test = await openTestHost();
  const work = await test.clone("work");
  const { octokit } = test;
  const heads = ["b0", "b1", "b2", "b3", "b4"];
  await work.push("b0", { "a.md": "x\n" });
  await work.git("push", "--quiet", "origin", ...heads.map((head) => `HEAD:refs/heads/${head}`));
  for (const head of heads) await octokit.rest.pulls.create({ ...at, title: head, head, base: "main" });
  const all = await octokit.paginate(octokit.rest.pulls.list, { ...at, per_page: 2 });
  expect(all.map(({ number }) => number)).toEqual([5, 4, 3, 2, 1]);
  const oldest = await octokit.rest.pulls.list({ ...at, per_page: 2, direction: "asc", page: 3 });
  expect(oldest.data.map(({ number }) => number)).toEqual([5]);
});

it("keeps its pull requests over a restart, and takes in what was pushed to git behind its back", async () => {
  await using test = await openTestHost();
  const work = await test.clone("work");
  const number = await openPullRequest(test, "fix", { "a.md": "a\n" }, work);
  await test.host.close();
  const bare = `${test.dataDir}/repositories/${OWNER}/${REPO}.git`;
  await work.git("push", "--quiet", bare, "fix:main");
  await test.restart();
  const { data } = await test.octokit.rest.pulls.get({ ...at, pull_number: number });
  expect(data).toMatchObject({ number, title: "Change of fix", merged: true });
});
