// @module-tag all

import { expect, it, vi } from "vitest";
import { updateBranch } from "../../../world/code-host/branch-updates.ts";
import { PATIENT } from "../../support/patient.ts";
import { installed } from "./installed.ts";
import { FILES, openPullRequest, openTestHost, OWNER, refusal, REPO, type TestHost } from "./setup.ts";

const at = { owner: OWNER, repo: REPO };
const MOVED = { "elsewhere.md": "b\n" };

async function open(now?: () => Date) {
  const test = await openTestHost(FILES, now === undefined ? {} : { now });
  const number = await openPullRequest(test, "fix", { "README.md": "mine\n" });
  return { test, pull: { ...at, pull_number: number } };
}

async function parentsOf(test: TestHost, sha: string): Promise<string[]> {
  const { data } = await test.octokit.rest.git.getCommit({ ...at, commit_sha: sha });
  return data.parents.map((parent) => parent.sha);
}

it("brings a pull request's branch up to date soon after it says so, with a merge by whoever asked", async () => {
  const { test, pull } = await open();
  await using _test = test;
  const before = await test.tip("fix");
  const base = await test.push("main", MOVED);
  const { pulls, git } = test.octokit.rest;
  const { status, data } = await pulls.updateBranch({ ...pull, expected_head_sha: before });
  expect([status, data.message]).toEqual([202, "Updating pull request branch."]);
  await vi.waitFor(async () => expect(await test.tip("fix")).not.toBe(before), PATIENT);
  const after = await test.tip("fix");
  expect(await parentsOf(test, after)).toEqual([before, base]);
  expect((await git.getCommit({ ...at, commit_sha: after })).data).toMatchObject({
    message: "Merge branch 'main' into fix",
    author: { name: "docs-agent" },
    committer: { name: "GitHub" },
  });
  expect((await pulls.get(pull)).data).toMatchObject({ head: { sha: after }, commits: 2, changed_files: 1 });
});

it("refuses to update a branch in GitHub's words", async () => {
  const { test, pull } = await open();
  await using _test = test;
  const why = async (expected?: string) =>
    refusal(
      test.octokit.rest.pulls.updateBranch({
        ...pull,
        ...(expected === undefined ? {} : { expected_head_sha: expected }),
      }),
    );
  const refused = (message: string) => ({ status: 422, message });
  expect(await why()).toMatchObject(refused("There are no new commits on the base branch."));
  expect(await why("0".repeat(40))).toMatchObject(
    refused("expected head sha didn’t match current head ref."),
  );
  await test.push("main", { "README.md": "theirs\n" });
  const head = await test.tip("fix");
  expect(await why()).toMatchObject(refused("merge conflict between base and head"));
  expect(await test.tip("fix")).toBe(head);
});

it("merges a branch into another: a new commit, nothing to do, a conflict, or no such branch", async () => {
  const { test } = await open();
  await using _test = test;
  const { repos } = test.octokit.rest;
  const merge = (base: string, head: string) => repos.merge({ ...at, base, head });
  const [before, moved] = [await test.tip("fix"), await test.push("main", MOVED)];
  const { status, data } = await merge("fix", "main");
  expect([status, data.commit.message]).toEqual([201, "Merge main into fix"]);
  expect(data.parents.map(({ sha }) => sha)).toEqual([before, moved]);
  expect(await test.tip("fix")).toBe(data.sha);
  expect((await merge("fix", moved)).status).toBe(204);
  await test.push("main", { "README.md": "theirs\n" });
  expect(await refusal(merge("fix", "main"))).toMatchObject({ status: 409, message: "Merge conflict" });
  expect(await refusal(merge("gone", "main"))).toMatchObject({ status: 404, message: "Base does not exist" });
  expect(await refusal(merge("fix", "gone"))).toMatchObject({ status: 404, message: "Head does not exist" });
  expect(await refusal(merge("fix", "1".repeat(40)))).toMatchObject({ status: 404 });
});

it("makes a merge commit of git's objects, and moves a branch to it only forward", async () => {
  const { test, pull } = await open();
  await using _test = test;
  const app = installed(test, { contents: "write", metadata: "read", pull_requests: "write" });
  const { git } = app.rest;
  const head = await test.tip("fix");
  const base = await test.push("main", { "README.md": "theirs\n", "gone.md": "g\n", ...MOVED });
  const { data: blob } = await git.createBlob({
    ...at,
    content: Buffer.from("both: ñ\n").toString("base64"),
    encoding: "base64",
  });
  const { data: baseCommit } = await git.getCommit({ ...at, commit_sha: base });
  const file = (path: string) => ({ path, mode: "100644", type: "blob" }) as const;
  const { data: tree } = await git.createTree({
    ...at,
    base_tree: baseCommit.tree.sha,
    tree: [
      { ...file("README.md"), sha: blob.sha },
      { ...file("docs/new.md"), content: "new\n" },
      { ...file("gone.md"), sha: null },
    ],
  });
  const parents = [head, base];
  const { data: commit } = await git.createCommit({ ...at, message: "Merge main", tree: tree.sha, parents });
  expect(commit).toMatchObject({
    author: { name: "docs-app[bot]" },
    parents: [{ sha: head }, { sha: base }],
  });
  await git.updateRef({ ...at, ref: "heads/fix", sha: commit.sha });
  const { data } = await git.getTree({ ...at, tree_sha: tree.sha, recursive: "1" });
  expect(data.tree.filter(({ type }) => type === "blob").map(({ path }) => path)).toEqual([
    "README.md",
    "docs/new.md",
    "docs/quickstart.md",
    "elsewhere.md",
  ]);
  const { pulls } = test.octokit.rest;
  await pulls.get(pull);
  expect((await pulls.get(pull)).data).toMatchObject({ head: { sha: commit.sha }, mergeable: true });
  const refused = (message: string) => ({ status: 422, message });
  const move = (sha: string, force = false) => git.updateRef({ ...at, ref: "heads/fix", sha, force });
  expect(await refusal(move(head))).toMatchObject(refused("Update is not a fast forward"));
  expect(await refusal(move("1".repeat(40)))).toMatchObject(refused("Object does not exist"));
  expect(await refusal(git.updateRef({ ...at, ref: "heads/gone", sha: head }))).toMatchObject(
    refused("Reference does not exist"),
  );
  expect((await move(head, true)).data.object.sha).toBe(head);
});

it("refuses objects that it doesn't have", async () => {
  const { test } = await open();
  await using _test = test;
  const { git } = test.octokit.rest;
  const none = "1".repeat(40);
  const { data: tip } = await git.getCommit({ ...at, commit_sha: await test.tip("main") });
  const entry = { path: "a.md", mode: "100644", type: "blob" } as const;
  const refused = (message: string) => ({ status: 422, message });
  expect(await refusal(git.createTree({ ...at, tree: [{ ...entry, sha: none }] }))).toMatchObject(
    refused("GitRPC::BadObjectState"),
  );
  expect(
    await refusal(git.createTree({ ...at, base_tree: tip.tree.sha, tree: [{ ...entry, sha: null }] })),
  ).toMatchObject(refused("GitRPC::BadObjectState"));
  expect(await refusal(git.createCommit({ ...at, message: "m", tree: none }))).toMatchObject(
    refused("Tree SHA does not exist"),
  );
  expect(
    await refusal(git.createCommit({ ...at, message: "m", tree: tip.tree.sha, parents: [tip.tree.sha] })),
  ).toMatchObject(refused("Parent SHA does not exist or is not a commit object"));
  expect(await refusal(git.getCommit({ ...at, commit_sha: none }))).toMatchObject({ status: 404 });
});

it("lets no App change a branch without the permission for contents", async () => {
  const { test, pull } = await open();
  await using _test = test;
  await test.push("main", MOVED);
  const app = installed(test, { contents: "read", metadata: "read", pull_requests: "write" }).rest;
  const calls = [
    app.pulls.updateBranch(pull),
    app.repos.merge({ ...at, base: "fix", head: "main" }),
    app.git.createBlob({ ...at, content: "a" }),
    app.git.updateRef({ ...at, ref: "heads/fix", sha: await test.tip("main"), force: true }),
  ];
  for (const call of calls) {
    expect(await call.catch((thrown: unknown) => thrown)).toMatchObject({
      status: 403,
      response: { headers: { "x-accepted-github-permissions": "contents=write" } },
    });
  }
});

it("keeps a push that comes between the answer to an update and its merge", async () => {
  const { test, pull } = await open();
  await using _test = test;
  await test.push("main", MOVED);
  const person = { name: "Ana", email: "ana@example.com" };
  const started = await updateBranch(test.host.repository(OWNER, REPO), pull.pull_number, {
    expected: undefined,
    people: { author: person, committer: person },
  });
  if (!started.ok) throw new Error(started.why);
  const pushed = await test.push("fix", { "more.md": "m\n" }, "fix");
  await started.finish();
  expect(await test.tip("fix")).toBe(pushed);
});

it("finds out anew whether there are conflicts when the base moved, which is no update", async () => {
  let seconds = 0;
  const { test, pull } = await open(() => new Date(seconds * 1000));
  await using _test = test;
  const query = `{ repository(owner: "tidepool", name: "docs") {
    pullRequest(number: 1) { mergeable mergeStateStatus updatedAt } } }`;
  const look = async () => {
    const { repository } = await test.octokit.graphql<{ repository: { pullRequest: object } }>(query);
    return repository.pullRequest;
  };
  await look();
  expect(await look()).toMatchObject({ mergeable: "MERGEABLE", mergeStateStatus: "CLEAN" });
  const { updated_at: before } = (await test.octokit.rest.pulls.get(pull)).data;
  seconds = 3600;
  await test.push("main", { "README.md": "theirs\n" });
  const updatedAt = before;
  expect(await look()).toEqual({ mergeable: "UNKNOWN", mergeStateStatus: "UNKNOWN", updatedAt });
  expect(await look()).toEqual({ mergeable: "CONFLICTING", mergeStateStatus: "DIRTY", updatedAt });
  expect((await test.octokit.rest.pulls.list(at)).data).toMatchObject([{ updated_at: before }]);
});
