// @module-tag all

import { expect, it } from "vitest";
import { fixedToken } from "../../../src/service/pulls/code-host/token-provider.ts";
import { createGitHubCodeHost } from "../../../src/service/pulls/code-host/github-code-host.ts";
import { TransientRunError } from "../../../src/service/base/run-error.ts";
import { createSystemClock } from "../../../src/shared/machine/clock-and-log.ts";
import { inlineAgent, openRunnerWorld } from "../../support/runner-world.ts";
import { startHttpSide } from "../../support/turn-network.ts";

const BRANCH = "docs-agent/job1";
const TOKEN = "ghp_0123456789abcdefghijklmnop";

/** A pull request into acme/docs, as a host tells it. */
function pullFrom(repo: string | null | undefined, number: number) {
  return {
    number,
    title: "Fix",
    state: "open",
    html_url: `https://git.example.com/acme/docs/pull/${number}`,
    head: { ref: BRANCH, sha: "0".repeat(40), repo: typeof repo === "string" ? { full_name: repo } : repo },
    base: { ref: "main", repo: { full_name: "acme/docs" } },
  };
}

/** The code host at this address, which may know acme/docs by its old name. */
function hostAt(apiUrl: string, repo = "docs") {
  return createGitHubCodeHost({
    apiUrl,
    owner: "acme",
    repo,
    tokens: fixedToken(TOKEN, "DOCS_TOKEN"),
    clock: createSystemClock(),
    redact: (text) => text,
  });
}

/** A host that gives these answers, by method. */
function startAnswering(answers: Readonly<Record<string, object>>) {
  return startHttpSide(({ method, url }, _request, response) => {
    const isRepository = method === "GET" && !url.includes("/pulls");
    const answer = isRepository ? { full_name: "acme/docs" } : answers[method];
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
}

const NEW = { branch: BRANCH, base: "main", title: "Fix", body: "PRIVATE", isDraft: false };
const signal = () => AbortSignal.timeout(20_000);

it("takes no fork's pull request for the job's, also where the fork is gone, and the host doesn't filter them", async () => {
  await using host = await startAnswering({
    GET: [pullFrom("mallory/docs", 4), pullFrom(undefined, 3), pullFrom(null, 2), pullFrom("acme/docs", 1)],
  });
  // By its old name, which the host still answers to.
  const found = await hostAt(host.url, "handbook").find(BRANCH, signal());
  expect(found.map(({ number }) => number)).toEqual([3, 1]);
});

const OPENED = pullFrom("acme/docs", 7);
const ELSEWHERE = { full_name: "mallory/other" };

it.each([
  ["has another branch", { head: { ...OPENED.head, ref: "main" } }],
  ["goes into another branch", { base: { ...OPENED.base, ref: "v1" } }],
  ["comes from a fork", { head: { ...OPENED.head, repo: ELSEWHERE } }],
  [
    "is another repository's",
    { head: { ...OPENED.head, repo: ELSEWHERE }, base: { ref: "main", repo: ELSEWHERE } },
  ],
  ["leads to another repository", { html_url: "https://git.example.com/mallory/other/pull/7" }],
  ["leads to another pull request", { html_url: "https://git.example.com/acme/docs/pull/8" }],
])("doesn't believe that it opened a pull request that %s", async (_how, lie) => {
  await using host = await startAnswering({ POST: { ...OPENED, ...lie } });
  await expect(hostAt(host.url).create(NEW, signal())).rejects.toThrow(TransientRunError);
});

it.each([
  [
    "another repository's pull request",
    [{ ...OPENED, head: { ...OPENED.head, repo: ELSEWHERE }, base: { ref: "main", repo: ELSEWHERE } }],
  ],
  ["an address elsewhere", [{ ...OPENED, html_url: "https://git.example.com/mallory/other/pull/7" }]],
])("doesn't believe a list with %s", async (_what, list) => {
  await using host = await startAnswering({ GET: list });
  await expect(hostAt(host.url).find(BRANCH, signal())).rejects.toThrow(TransientRunError);
});

it.each([
  ["pull request", { ...OPENED, number: 8, html_url: "https://git.example.com/acme/docs/pull/8" }],
  [
    "repository",
    { ...OPENED, head: { ...OPENED.head, repo: ELSEWHERE }, base: { ref: "main", repo: ELSEWHERE } },
  ],
])("doesn't believe that it changed another %s", async (_what, pull) => {
  await using host = await startAnswering({ PATCH: pull });
  await expect(hostAt(host.url).change(7, { title: "Fix" }, signal())).rejects.toThrow(TransientRunError);
});

it("believes a host that tells less, and one with pages of another kind", async () => {
  const { number, title, state } = OPENED;
  const head = { ref: BRANCH, sha: OPENED.head.sha };
  const base = { ref: "main" };
  const least = { number, title, state, head, base, html_url: "https://git.example.com/changes/7" };
  const others = { ...OPENED, html_url: "https://git.example.com/git/Acme/Docs/pulls/7" };
  for (const pull of [OPENED, least, others]) {
    await using host = await startAnswering({ POST: pull, PATCH: pull });
    expect(await hostAt(host.url).create(NEW, signal())).toMatchObject({ number: 7, url: pull.html_url });
    expect(await hostAt(host.url).change(7, {}, signal())).toMatchObject({ number: 7 });
  }
});

it.each([301, 302, 307, 308])("sends nothing to another host, and believes none: %i", async (status) => {
  await using elsewhere = await startAnswering({ GET: [OPENED], POST: OPENED, PATCH: OPENED });
  await using host = await startHttpSide(({ url }, _request, response) =>
    response.writeHead(status, { location: elsewhere.url + url }).end(),
  );
  const codeHost = hostAt(host.url);
  const refused = {
    message: "The code host redirects to another host.",
    details: [`It leads to ${elsewhere.url}. Correct codeHost.apiUrl.`, expect.any(String)],
  };
  await expect(codeHost.create(NEW, signal())).rejects.toMatchObject(refused);
  await expect(codeHost.find(BRANCH, signal())).rejects.toMatchObject(refused);
  await expect(codeHost.change(7, { body: "PRIVATE" }, signal())).rejects.toMatchObject(refused);
  await expect(codeHost.markReady("PR_7", signal())).rejects.toMatchObject(refused);
  expect(host.seen).toHaveLength(4);
  expect(elsewhere.seen).toEqual([]);
});

it.each([
  ["in a circle", 307, "/again"],
  ["nowhere", 307, undefined],
  ["to something else to read", 303, "/other"],
])("can't be reached where it redirects %s", async (_where, status, location) => {
  await using host = await startHttpSide((_seen, _request, response) =>
    response.writeHead(status, location === undefined ? {} : { location }).end(),
  );
  await expect(hostAt(host.url).create(NEW, signal())).rejects.toThrow(TransientRunError);
  expect(host.seen.length).toBeLessThan(10);
});

/** A host that answers everything with this JSON. */
function startSaying(body: string, contentType = "application/json") {
  return startHttpSide((_seen, _request, response) => {
    response.writeHead(200, { "content-type": contentType }).end(body);
  });
}

it.each([
  ["texts of 21 MiB", () => JSON.stringify([{ title: "a".repeat(21 * 1024 ** 2) }])],
  ["two million values", () => `[${"{},".repeat(2e6)}{}]`],
  ["values that are nested a hundred thousand deep", () => "[".repeat(1e5) + "]".repeat(1e5)],
  ["a number of five million digits", () => `[{"number": ${"1".repeat(5e6)}}]`],
])("says that an answer with %s is too large, and doesn't read it", async (_what, body) => {
  for (const contentType of ["application/json", "Application/JSON; charset=utf-8"]) {
    await using host = await startSaying(body(), contentType);
    await expect(hostAt(host.url).find(BRANCH, signal())).rejects.toMatchObject({
      code: "transient_run",
      message: "The code host's answer is too large.",
    });
  }
});

it.each([
  ["forty thousand empty parts", () => `[${"{},".repeat(4e4)}{}]`],
  ["a page in the place of JSON", () => `<html>${"a".repeat(5000)}${"{[,".repeat(1e5)}</html>`],
])("reads an answer with %s, and doesn't believe it", async (_what, body) => {
  await using host = await startSaying(body(), body().startsWith("<") ? "text/html" : undefined);
  await expect(hostAt(host.url).find(BRANCH, signal())).rejects.toThrow("isn't what its API promises");
});

it("works in a repository that was renamed, by its old name", async () => {
  await using world = await openRunnerWorld();
  world.api.fault = (request) => {
    const [method = "", path = ""] = request.split(" ");
    if (!path.includes("/repos/acme/handbook")) return undefined;
    const location = path.replace("/acme/handbook", "/acme/docs");
    return { kind: "http", status: method === "GET" ? 301 : 307, headers: { location } };
  };
  const project = world.project(inlineAgent(`fs.appendFileSync("README.md", "More.\\n");`));
  if (project.codeHost.kind === "github") project.codeHost.repo = "handbook";
  expect(await world.run(project, { prompt: "Say more" })).toMatchObject({ kind: "pull-request" });
  const earlierTurns = [{ prompt: "Say more", summary: null }];
  const next = world.project(inlineAgent(`fs.appendFileSync("README.md", "And more.\\n");`));
  if (next.codeHost.kind === "github") next.codeHost.repo = "handbook";
  const result = await world.run(next, { prompt: "And more", earlierTurns });
  expect(result).toMatchObject({
    kind: "pull-request",
    prLink: expect.stringContaining("/acme/docs/pull/1"),
  });
  expect(world.pulls()).toMatchObject([{ body: expect.stringContaining("And more") }]);
});
