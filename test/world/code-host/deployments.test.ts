// @module-tag all

import { expect, it, vi } from "vitest";
import { PATIENT } from "../../support/patient.ts";
import { installed } from "./installed.ts";
import { openPullRequest, openTestHost, OWNER, refusal, REPO, type TestHost } from "./setup.ts";

const at = { owner: OWNER, repo: REPO };
const PREVIEW = "https://fix.preview.example.com";

async function open() {
  const test = await openTestHost();
  await openPullRequest(test, "fix", { "a.md": "a\n" });
  return { test, head: await test.tip("fix") };
}

async function deploy(test: TestHost, environment: string, more: object = {}): Promise<number> {
  const { data } = await test.octokit.rest.repos.createDeployment({
    ...at,
    ref: "fix",
    environment,
    ...more,
  });
  if (!("id" in data)) throw new Error("It was not made");
  return Number(data.id);
}

it("tells where a commit was put, and what became of it, newest first", async () => {
  const { test, head } = await open();
  await using _test = test;
  const { repos } = test.octokit.rest;
  const preview = await deploy(test, "preview", { transient_environment: true });
  await deploy(test, "production", { ref: "main" });
  const status = { ...at, deployment_id: preview };
  await repos.createDeploymentStatus({ ...status, state: "in_progress", log_url: `${PREVIEW}/log` });
  await repos.createDeploymentStatus({ ...status, state: "success", environment_url: PREVIEW });
  const list = async (asked: object) => (await repos.listDeployments({ ...at, ...asked })).data;
  expect(await list({})).toMatchObject([{ environment: "production" }, { environment: "preview" }]);
  for (const asked of [{ sha: head }, { ref: "fix" }, { environment: "preview" }]) {
    expect(await list(asked)).toMatchObject([{ id: preview, sha: head, transient_environment: true }]);
  }
  expect((await repos.listDeploymentStatuses(status)).data).toMatchObject([
    { state: "success", environment_url: PREVIEW, log_url: "" },
    { state: "in_progress", environment_url: "", log_url: `${PREVIEW}/log`, target_url: `${PREVIEW}/log` },
  ]);
  expect(await refusal(repos.listDeploymentStatuses({ ...at, deployment_id: 1 }))).toMatchObject({
    status: 404,
  });
  expect(await refusal(repos.createDeployment({ ...at, ref: "gone" }))).toMatchObject({
    status: 422,
    message: "No ref found for: gone",
  });
  await test.restart();
  expect((await test.octokit.rest.repos.listDeployments(at)).data).toHaveLength(2);
});

it("ends what was in an environment before, except in production and where it is transient", async () => {
  const { test } = await open();
  await using _test = test;
  const { repos } = test.octokit.rest;
  const succeed = async (environment: string, more: object = {}) => {
    const id = await deploy(test, environment, more);
    await repos.createDeploymentStatus({ ...at, deployment_id: id, state: "success" });
    return id;
  };
  const newest = async (id: number) =>
    (await repos.listDeploymentStatuses({ ...at, deployment_id: id })).data[0]?.state;
  const [staging, production, preview] = [
    await succeed("staging"),
    await succeed("production"),
    await succeed("preview", { transient_environment: true }),
  ];
  for (const environment of ["staging", "production", "preview"]) await succeed(environment);
  expect([await newest(staging), await newest(production), await newest(preview)]).toEqual([
    "inactive",
    "success",
    "success",
  ]);
});

it("tells an App about deployments only with the permission, and names it", async () => {
  const { test, head } = await open();
  await using _test = test;
  await deploy(test, "preview");
  const permissions: Record<string, string> = { metadata: "read", contents: "write", pull_requests: "write" };
  const app = installed(test, permissions);
  const call = app.rest.repos.listDeployments(at);
  const thrown = await call.catch((reason: unknown) => reason);
  expect(thrown).toMatchObject({
    status: 403,
    response: {
      data: { message: "Resource not accessible by integration" },
      headers: { "x-accepted-github-permissions": "deployments=read" },
    },
  });
  const query = `{ repository(owner: "tidepool", name: "docs") { pullRequest(number: 1) {
    commits(last: 1) { nodes { commit { oid deployments(last: 5, environments: ["preview"]) {
      nodes { databaseId environment state latestStatus { state environmentUrl logUrl } } } } } } } } }`;
  await expect(app.graphql(query)).rejects.toThrow("Resource not accessible by integration");
  permissions["deployments"] = "read";
  const [found] = (await app.rest.repos.listDeployments(at)).data;
  await test.octokit.rest.repos.createDeploymentStatus({
    ...at,
    deployment_id: found?.id ?? 0,
    state: "success",
    environment_url: PREVIEW,
  });
  const nodes = [
    {
      databaseId: found?.id,
      environment: "preview",
      state: "ACTIVE",
      latestStatus: { state: "SUCCESS", environmentUrl: PREVIEW, logUrl: null },
    },
  ];
  expect(await app.graphql(query)).toEqual({
    repository: { pullRequest: { commits: { nodes: [{ commit: { oid: head, deployments: { nodes } } }] } } },
  });
  expect(await refusal(app.rest.repos.createDeployment({ ...at, ref: "fix" }))).toMatchObject({
    status: 403,
  });
});

it("tells a webhook about a deployment's status", async () => {
  const { test } = await open();
  await using _test = test;
  // Nobody listens there; what was sent is kept.
  test.host.rules.webhook = { url: "http://127.0.0.1:1/", secret: "secret" };
  const id = await deploy(test, "preview");
  await test.octokit.rest.repos.createDeploymentStatus({ ...at, deployment_id: id, state: "failure" });
  await vi.waitFor(() => expect(test.host.deliveries).toHaveLength(1), PATIENT);
  expect(test.host.deliveries[0]?.event).toBe("deployment_status");
  expect(JSON.parse(test.host.deliveries[0]?.payload ?? "")).toMatchObject({
    action: "created",
    deployment: { id, ref: "fix", environment: "preview" },
    deployment_status: { state: "failure" },
  });
});
