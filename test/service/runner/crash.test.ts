// @module-tag all

import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { expect, it } from "vitest";
import { TransientRunError } from "../../../src/service/base/run-error.ts";
import { atNight } from "../../support/nightly.ts";
import { inlineAgent, openRunnerWorld } from "../../support/runner-world.ts";

const TOO_QUICK = JSON.stringify({
  message: "Validation Failed",
  errors: [{ resource: "PullRequest", code: "custom", message: "was submitted too quickly" }],
});
/** Changes one documentation file and one that is none. */
const EDITING_AGENT = ["sh", "-c", "echo more >> README.md; echo x > src/index.js; echo Add more"];

type World = Awaited<ReturnType<typeof openRunnerWorld>>;
const faults: [string, (world: World) => void][] = [
  [
    "the fetch is cut",
    (world) =>
      (world.gitHttp.fault = (request) =>
        request.includes("upload-pack") ? { kind: "drop-before" } : undefined),
  ],
  ["the fetch meets 503", (world) => (world.gitHttp.fault = () => ({ kind: "http", status: 503 }))],
  ["the fetch meets 429", (world) => (world.gitHttp.fault = () => ({ kind: "http", status: 429 }))],
  [
    "the push is cut before",
    (world) =>
      (world.gitHttp.fault = (request) =>
        request.includes("receive-pack") ? { kind: "drop-before" } : undefined),
  ],
  [
    "the push meets 502",
    (world) =>
      (world.gitHttp.fault = (request) =>
        request.startsWith("POST") && request.includes("receive-pack")
          ? { kind: "http", status: 502 }
          : undefined),
  ],
  [
    "the pull requests cannot be listed",
    (world) =>
      (world.api.fault = (request) =>
        request.startsWith("GET") ? { kind: "http", status: 503 } : undefined),
  ],
  [
    "the create meets 500",
    (world) =>
      (world.api.fault = (request) =>
        request.startsWith("POST") ? { kind: "http", status: 500 } : undefined),
  ],
  [
    "the create meets 429",
    (world) =>
      (world.api.fault = (request) =>
        request.startsWith("POST")
          ? { kind: "http", status: 429, headers: { "retry-after": "7" } }
          : undefined),
  ],
  [
    "the create is refused for its rate",
    (world) =>
      (world.api.fault = (request) =>
        request.startsWith("POST")
          ? { kind: "http", status: 403, headers: { "x-ratelimit-remaining": "0" } }
          : undefined),
  ],
  [
    "the create is one of too many in a minute",
    (world) =>
      (world.api.fault = (request) =>
        request.startsWith("POST")
          ? { kind: "http", status: 422, body: TOO_QUICK, headers: { "content-type": "application/json" } }
          : undefined),
  ],
  [
    "the create's connection is cut",
    (world) =>
      (world.api.fault = (request) => (request.startsWith("POST") ? { kind: "drop-before" } : undefined)),
  ],
  [
    "the create's answer is lost",
    (world) =>
      (world.api.fault = (request) => (request.startsWith("POST") ? { kind: "drop-after" } : undefined)),
  ],
  [
    "a proxy answers with a page",
    (world) =>
      (world.api.fault = () => ({
        kind: "http",
        status: 200,
        headers: { "content-type": "text/html" },
        body: "<html>",
      })),
  ],
];

it.each(faults)(
  "comes to one commit and one pull request when %s and the turn runs again",
  async (_, inject) => {
    await using world = await openRunnerWorld({ containment: "none" });
    const project = world.project(EDITING_AGENT);
    inject(world);
    await expect(world.run(project)).rejects.toThrow(TransientRunError);
    world.gitHttp.fault = undefined;
    world.api.fault = undefined;
    world.restart();
    expect(await world.run(project)).toMatchObject({
      kind: "pull-request",
      prLink: `${world.codeHost.url}/acme/docs/pull/1`,
      pullRequest: expect.objectContaining({ number: 1, files: 1 }) as object,
      summary: "Add more",
      leftOut: ["src/index.js"],
    });
    expect(await world.commits()).toBe(1);
    expect(world.pulls()).toHaveLength(1);
    expect(world.pulls()[0]?.body).toContain("src/index.js");
    expect(await world.branches()).toEqual(["docs-agent/job1", "main"]);
  },
);

it("passes on how long the code host asked to wait", async () => {
  await using world = await openRunnerWorld({ containment: "none" });
  world.api.fault = (request) =>
    request.startsWith("POST") ? { kind: "http", status: 429, headers: { "retry-after": "7" } } : undefined;
  await expect(world.run(world.project(EDITING_AGENT))).rejects.toMatchObject({
    code: "transient_run",
    retryAfterMs: 7000,
  });
});

const refusals: [string, string, (world: World) => void][] = [
  [
    "the token is refused by git",
    "credentials",
    (world) => (world.env["DOCS_TOKEN"] = "ghp_wrongwrongwrongwrongwrong"),
  ],
  [
    "git says 404",
    "no such repository",
    (world) => (world.gitHttp.fault = () => ({ kind: "http", status: 404 })),
  ],
  ["the repository moved", "moved", (world) => (world.gitHttp.fault = () => ({ kind: "http", status: 301 }))],
  [
    "the push meets 403",
    "credentials",
    (world) =>
      (world.gitHttp.fault = (request) =>
        request.includes("receive-pack") ? { kind: "http", status: 403 } : undefined),
  ],
  ["the API says 401", "token", (world) => (world.api.fault = () => ({ kind: "http", status: 401 }))],
  ["the API says 403", "may not", (world) => (world.api.fault = () => ({ kind: "http", status: 403 }))],
  [
    "the API says 404",
    "no such repository",
    (world) => (world.api.fault = () => ({ kind: "http", status: 404 })),
  ],
  [
    "the API says 422",
    "422",
    (world) =>
      (world.api.fault = (request) =>
        request.startsWith("POST") ? { kind: "http", status: 422 } : undefined),
  ],
];

it.each(refusals)("fails with a reason when %s", async (_, words, inject) => {
  await using world = await openRunnerWorld({ containment: "none" });
  inject(world);
  const result = await world.run(world.project(EDITING_AGENT));
  expect(result).toMatchObject({ kind: "failed", reason: expect.stringContaining(words) });
});

it("fails when the server's rules refuse the push", async () => {
  await using world = await openRunnerWorld({ containment: "none" });
  await mkdir(`${world.bare}/hooks`, { recursive: true });
  await writeFile(`${world.bare}/hooks/pre-receive`, "#!/bin/sh\necho no >&2\nexit 1\n", { mode: 0o755 });
  expect(await world.run(world.project(EDITING_AGENT))).toMatchObject({
    kind: "failed",
    reason: expect.stringContaining("refused the push"),
  });
});

it.each(["docs-agent", "docs-agent/job1/x"])(
  "fails with its name when the branch %s is in the way",
  async (name) => {
    await using world = await openRunnerWorld({ containment: "none" });
    await world.inBare("branch", name, "main");
    await mkdir(`${world.bare}/hooks`, { recursive: true });
    const hook = `${world.bare}/hooks/pre-receive`;
    await writeFile(hook, "#!/bin/sh\necho \"'refs/heads/main' exists; cannot create\" >&2\n", {
      mode: 0o755,
    });
    expect(await world.run(world.project(EDITING_AGENT))).toMatchObject({
      kind: "failed",
      reason: `The branch ${name} is in the way of the service's branch.`,
      details: [expect.stringContaining(`Rename or remove ${name}`), expect.any(String)],
    });
  },
);

it("fails when the base branch does not exist", async () => {
  await using world = await openRunnerWorld({ containment: "none" });
  const result = await world.run(world.project(EDITING_AGENT, { baseBranch: "nowhere" }));
  expect(result).toMatchObject({
    kind: "failed",
    reason: expect.stringContaining("no branch nowhere to start from"),
  });
});

it("does not overwrite what somebody pushed to the branch meanwhile", async () => {
  await using world = await openRunnerWorld({ containment: "none" });
  world.gitHttp.before = async (request) => {
    if (!request.includes("service=git-receive-pack")) return;
    world.gitHttp.before = undefined;
    await world.commitTo("docs-agent/job1", { "docs/human.md": "mine\n" }, "by hand");
  };
  await expect(world.run(world.project(EDITING_AGENT))).rejects.toThrow(TransientRunError);
  await expect(world.show("docs/human.md")).resolves.toBe("mine");
});

it("makes a broken mirror anew", async () => {
  await using world = await openRunnerWorld({ containment: "none" });
  await world.run(world.project(inlineAgent("")));
  const [mirror] = await readdir(world.dir.file("data/mirrors"));
  const path = world.dir.file(`data/mirrors/${mirror}`);
  await rm(`${path}/objects`, { recursive: true });
  await writeFile(`${path}/packed-refs`, "garbage");
  expect(await world.run(world.project(EDITING_AGENT))).toMatchObject({ kind: "pull-request" });
});

const LOCKS = [
  "HEAD.lock",
  "config.lock",
  "packed-refs.lock",
  "refs/mirror/base.lock",
  "refs/mirror/jobs/job1.lock",
  "refs/mirror/jobs/other.lock",
  "objects/info/commit-graphs/commit-graph-chain.lock",
];
const eachLock = LOCKS.map((lock) => [[lock]]);

it.each(atNight(eachLock, [[LOCKS]]))("is not held up by %j, which a power cut left", async (locks) => {
  await using world = await openRunnerWorld({ containment: "none" });
  await world.run(world.project(EDITING_AGENT));
  const [mirror] = await readdir(world.dir.file("data/mirrors"));
  for (const lock of locks) {
    const path = world.dir.file(`data/mirrors/${mirror}/${lock}`);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, "");
  }
  // All refs have to move.
  await world.commitTo("main", { "docs/new.md": "new\n" }, "Meanwhile");
  await world.commitTo("docs-agent/other", { "docs/new.md": "new\n" }, "Another job");
  const next = { prompt: "More", earlierTurns: [{ prompt: "Fix the typo", summary: null }] };
  expect(await world.run(world.project(EDITING_AGENT), next)).toMatchObject({ kind: "pull-request" });
  expect(await world.commits()).toBe(2);
});

it("makes a mirror anew that refuses to be updated", { tags: "nightly" }, async () => {
  await using world = await openRunnerWorld({ containment: "none" });
  await world.run(world.project(EDITING_AGENT));
  const [mirror] = await readdir(world.dir.file("data/mirrors"));
  // A branch whose name is in the way, and that no pruning removes.
  await mkdir(world.dir.file(`data/mirrors/${mirror}/refs/mirror/jobs/other/x`), { recursive: true });
  await writeFile(world.dir.file(`data/mirrors/${mirror}/refs/mirror/jobs/other/x/garbage`), "no ref");
  await world.commitTo("docs-agent/other", { "docs/new.md": "new\n" }, "Another job");
  expect(await world.run(world.project(EDITING_AGENT), { jobId: "job2" })).toMatchObject({
    kind: "pull-request",
  });
});

it("rejects with the signal's reason when aborted, and leaves nothing behind", async () => {
  await using world = await openRunnerWorld({ containment: "none" });
  const abort = new AbortController();
  const project = world.project(inlineAgent(`console.log("working"); setInterval(() => {}, 1000);`));
  const run = world.run(project, {
    signal: abort.signal,
    onLine: (line) => line === "working" && abort.abort(new Error("archived")),
  });
  await expect(run).rejects.toThrow("archived");
  expect(await readdir(world.dir.file("data/worktrees"))).toEqual([]);
  expect(await readdir(world.dir.file("data/agents"))).toEqual([]);
});
