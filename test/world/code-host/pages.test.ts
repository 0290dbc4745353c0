// @module-tag all

import { expect, it } from "vitest";
import { FILES, openPullRequest, openTestHost, OWNER, REPO, type TestHost } from "./setup.ts";

const at = { owner: OWNER, repo: REPO };

async function read(
  test: TestHost,
  path: string,
): Promise<{ status: number; text: string; headers: Headers }> {
  const answer = await fetch(test.host.url + path);
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

/** Presses a button as a browser would; `change` makes the request another one. */
async function press(
  test: TestHost,
  number: number,
  action: "merge" | "close",
  change: { token?: string; headers?: Record<string, string> } = {},
): Promise<{ status: number; text: string }> {
  const path = `/tidepool/docs/pull/${number}`;
  const { text } = await read(test, path);
  const form = new RegExp(`action="${path}/${action}"[\\s\\S]*?name="token" value="([^"]+)"`);
  const answer = await fetch(`${test.host.url}${path}/${action}`, {
    method: "POST",
    redirect: "manual",
    headers: { origin: test.host.url, "sec-fetch-site": "same-origin", ...change.headers },
    body: new URLSearchParams({ token: change.token ?? form.exec(text)?.[1] ?? "" }),
  });
  return { status: answer.status, text: await answer.text() };
}

it("shows a pull request: title, state, branches, text, commits and what changed", async () => {
  await using test = await openTestHost();
  const number = await openPullRequest(test, "docs-agent/1", {
    "README.md": "# Tidepool\n\nThe dox.\n",
  });
  const { text, status } = await read(test, `/tidepool/docs/pull/${number}`);
  expect(status).toBe(200);
  for (const part of [
    "Change of docs-agent/1",
    "Open",
    "docs-agent/1</span>",
    "What was wrong.",
    "Change README.md",
    "dox",
  ]) {
    expect(text).toContain(part);
  }
  expect(text.match(/<h1/g)).toHaveLength(1);
});

it("leads from a check's address to the pull request that it ran for", async () => {
  await using test = await openTestHost();
  const number = await openPullRequest(test, "docs-agent/1", { "README.md": "# Tidepool\n" });
  await openPullRequest(test, "docs-agent/2", { "docs/new.md": "# New\n" });
  const sha = await test.tip("docs-agent/1");
  await test.host.setCheck(OWNER, REPO, { sha, name: "links", result: "failed" });
  const { data } = await test.octokit.rest.checks.listForRef({ ...at, ref: sha });
  const url = data.check_runs[0]?.html_url ?? "";
  const { status, headers } = await fetch(url, { redirect: "manual" });
  expect([status, headers.get("location")]).toEqual([303, `/tidepool/docs/pull/${number}#checks`]);
  expect((await fetch(`${url}0`)).status).toBe(404);
});

it("links back to where people came from, if that is somewhere", async () => {
  await using test = await openTestHost(FILES, {
    home: () => ({ label: "Home & garden", href: "http://127.0.0.1:1/" }),
  });
  const number = await openPullRequest(test, "fix", { "a.md": "a\n" });
  for (const path of ["", `/pull/${number}`]) {
    const { text } = await read(test, `/tidepool/docs${path}`);
    expect(text).toContain('<a href="http://127.0.0.1:1/">← Home &amp; garden</a>');
  }
  await using other = await openTestHost();
  expect((await read(other, "/tidepool/docs")).text).not.toContain("←");
});

it("merges by its button, really, and then shows no buttons", async () => {
  await using test = await openTestHost();
  const number = await openPullRequest(test, "fix", { "a.md": "a\n" });
  expect((await press(test, number, "merge")).status).toBe(303);
  const work = await test.clone("work");
  expect(await work.git("ls-tree", "--name-only", "origin/main")).toContain("a.md");
  const { text } = await read(test, `/tidepool/docs/pull/${number}`);
  expect(text).toContain('<span class="badge merged">Merged</span>');
  expect(text).not.toContain("<form");
});

it("closes by its button", async () => {
  await using test = await openTestHost();
  const number = await openPullRequest(test, "fix", { "a.md": "a\n" });
  expect((await press(test, number, "close")).status).toBe(303);
  expect((await test.octokit.rest.pulls.get({ ...at, pull_number: number })).data.state).toBe("closed");
});

it("says why it does not merge what conflicts", async () => {
  await using test = await openTestHost();
  const number = await openPullRequest(test, "fix", { "README.md": "mine\n" });
  await test.push("main", { "README.md": "theirs\n" });
  const { text } = await read(test, `/tidepool/docs/pull/${number}`);
  expect(text).toMatch(/conflicts with[\s\S]*README\.md/);
  expect(text).toMatch(/<button class="primary" type="submit"[^>]* disabled/);
  const pressed = await press(test, number, "merge");
  expect(pressed.status).toBe(409);
  expect(pressed.text).toContain("Not merged: it conflicts with main in README.md.");
});

it.each([
  ["no token", { token: "" }],
  ["a made-up token", { token: "x".repeat(43) }],
  ["another site's origin", { headers: { origin: "https://evil.example" } }],
  ["another port's origin", { headers: { origin: "http://127.0.0.1:1" } }],
  ["no origin that counts", { headers: { origin: "null" } }],
  ["a browser that says it is from elsewhere", { headers: { "sec-fetch-site": "same-site" } }],
])("does nothing for a form with %s", async (_name, change) => {
  await using test = await openTestHost();
  const number = await openPullRequest(test, "fix", { "a.md": "a\n" });
  expect((await press(test, number, "close", change)).status).toBe(403);
  expect((await test.octokit.rest.pulls.get({ ...at, pull_number: number })).data.state).toBe("open");
});

it("does not take one form's token for another form", async () => {
  await using test = await openTestHost();
  const one = await openPullRequest(test, "one", { "a.md": "a\n" });
  const two = await openPullRequest(test, "two", { "b.md": "b\n" });
  const { text } = await read(test, `/tidepool/docs/pull/${one}`);
  for (const [, token = ""] of text.matchAll(/name="token" value="([^"]+)"/g)) {
    expect((await press(test, two, "merge", { token })).status).toBe(403);
  }
});

it("shows what people and agents wrote as text, wherever it stands", async () => {
  await using test = await openTestHost();
  const work = await test.clone("work");
  const evil = `<script>alert(1)</script><img src=x onerror=alert(2)>"'&`;
  const branch = `a"><b>&'`;
  await work.push(branch, {
    [`${evil.replaceAll("/", "")}.md`]: `${evil}\n`,
    "README.md": `# ${evil}\n\n</div></td>${evil}\n`,
  });
  await work.git("commit", "--quiet", "--allow-empty", "-m", evil);
  await work.git("push", "--quiet", "origin", branch);
  const { data } = await test.octokit.rest.pulls.create({
    ...at,
    title: evil,
    body: evil,
    head: branch,
    base: "main",
  });
  await work.push("main", { [`${evil.replaceAll("/", "")}.md`]: "Text\n" });
  const repository = test.host.repository(OWNER, REPO);
  await repository.review(data.number, { author: evil, state: "CHANGES_REQUESTED", body: evil });
  await repository.comment(data.number, evil, evil);
  await test.host.setCheck(OWNER, REPO, { sha: data.head.sha, name: evil, result: "failed", summary: evil });
  const paths = ["/tidepool/docs", `/tidepool/docs/pull/${data.number}`, `/${encodeURIComponent(evil)}`];
  for (const path of paths) {
    const { text, headers } = await read(test, path);
    // A picture in a description is one on GitHub, too; its handlers aren't.
    expect(text).not.toMatch(/<script|<img(?! src="x">)|<b>|onerror=alert\(2\)>/i);
    expect(headers.get("content-security-policy")).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(headers.get("content-security-policy")).not.toMatch(/unsafe|script-src/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  }
});

it("draws a description as GitHub does", async () => {
  await using test = await openTestHost();
  const number = await openPullRequest(test, "fix", { "a.md": "a\n" });
  const body = [
    "<!-- a mark -->",
    "One `<Tab>`",
    "two",
    "",
    "| a |",
    "|---|",
    "| b |",
    "",
    "<details><summary>More</summary>",
    "",
    "- [x] done",
    "",
    "</details>",
  ];
  await test.octokit.rest.pulls.update({ ...at, pull_number: number, body: body.join("\n") });
  const { text } = await read(test, `/tidepool/docs/pull/${number}`);
  expect(text).not.toContain("a mark");
  expect(text).toMatch(/One <code>&#x3C;Tab><\/code><br>\s*two/);
  expect(text).toMatch(/<td>b<\/td>[\s\S]*<details><summary>More<\/summary>[\s\S]*type="checkbox" checked/);
});

it("shows a repository's pull requests and its files", async () => {
  await using test = await openTestHost();
  await test.push("main", { "docs/ñ #1?.md": "Text\n" });
  const number = await openPullRequest(test, "fix", { "a.md": "a\n" });
  const { text } = await read(test, "/tidepool/docs");
  expect(text).toContain("docs/ñ #1?.md");
  expect(text).not.toContain(">a.md<");
  const link = /href="([^"]+)"[^>]*>Change of fix/.exec(text)?.[1] ?? "";
  expect(link).toBe(`/tidepool/docs/pull/${number}`);
  expect((await read(test, link)).status).toBe(200);
});

it.each([
  "/tidepool/none",
  "/",
  "/tidepool/docs/..%2f..%2fconfig",
  "/tidepool/docs/pull/99",
  "/nothing/at/all/here",
])("%s is a page that says there is nothing", async (path) => {
  await using test = await openTestHost();
  const { status, text } = await read(test, path);
  expect(status).toBe(404);
  expect(text).toContain("No such page");
});

it("serves its styles itself", async () => {
  await using test = await openTestHost();
  for (const name of ["diff2html.css", "pages.css"]) {
    const { status, headers } = await read(test, `/assets/${name}`);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toMatch(/^text\/css/);
  }
});
