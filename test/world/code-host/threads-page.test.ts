// @module-tag all

import { expect, it } from "vitest";
import { FILES, openPullRequest, openTestHost, OWNER, REPO, type TestHost } from "./setup.ts";

const at = { owner: OWNER, repo: REPO };
const PULL = "/tidepool/docs/pull/1";
const RULES = "/tidepool/docs/rules";
const LINE = "RIGHT:3:docs/quickstart.md";

async function open(): Promise<TestHost> {
  const test = await openTestHost(FILES, { visitor: "mira" });
  await openPullRequest(test, "fix", { "docs/quickstart.md": "# Quickstart\n\n1\nTwo\nThree\n" });
  return test;
}

async function read(test: TestHost, path: string): Promise<string> {
  return (await fetch(test.host.url + path)).text();
}

/** Sends a form as a browser would, with the token that stands on the page. */
async function send(test: TestHost, action: string, fields: Record<string, string>, page = PULL) {
  const text = await read(test, page);
  const token = new RegExp(`action="${action}"[\\s\\S]*?name="token"\\s+value="([^"]+)"`).exec(text)?.[1];
  const answer = await fetch(test.host.url + action, {
    method: "POST",
    redirect: "manual",
    headers: { origin: test.host.url, "sec-fetch-site": "same-origin" },
    body: new URLSearchParams({ token: token ?? "", ...fields }),
  });
  return { status: answer.status, text: await answer.text() };
}

async function review(test: TestHost, fields: Record<string, string>) {
  return send(test, `${PULL}/review`, { state: "CHANGES_REQUESTED", words: "", ...fields });
}

it("takes a review with comments on lines, and shows each below its lines", async () => {
  await using test = await open();
  expect(await read(test, PULL)).toContain(`<option value="${LINE}">docs/quickstart.md:3 + 1</option>`);
  const said = "Say <script>alert(1)</script>, as `above`.";
  const { status } = await review(test, {
    line1: LINE,
    say1: said,
    line2: "LEFT:3:docs/quickstart.md",
    say2: "Why?",
    line3: LINE,
    say3: " ",
  });
  expect(status).toBe(303);
  const { data } = await test.octokit.rest.pulls.listReviewComments({ ...at, pull_number: 1 });
  expect(data).toMatchObject([
    { user: { login: "mira" }, line: 3, side: "RIGHT", body: said },
    { line: 3, side: "LEFT", body: "Why?" },
  ]);
  const page = await read(test, PULL);
  expect(page).toMatch(/docs\/quickstart\.md<\/span>\s*line\s+3/);
  expect(page).toContain('<span class="plus">+1</span>');
  expect(page).toContain("<code>above</code>");
  expect(page).not.toContain("<script");
});

it("says what is missing, and loses no words", async () => {
  await using test = await open();
  const unplaced = await review(test, { words: "All of it", say1: "Where?" });
  expect(unplaced.status).toBe(409);
  expect(unplaced.text).toContain("Choose a line for each comment on a line.");
  expect(unplaced.text).toContain("All of it</textarea>");
  const gone = await review(test, { line1: "RIGHT:99:docs/quickstart.md", say1: "Here" });
  expect(gone.status).toBe(409);
  expect(gone.text).toContain("One of the lines has changed. Choose it again.");
});

it("shows replies in their thread, and resolves it", async () => {
  await using test = await open();
  await review(test, { line1: LINE, say1: "Shorter." });
  const { rest } = test.octokit;
  const pull = { ...at, pull_number: 1 };
  const id = (await rest.pulls.listReviewComments(pull)).data[0]?.id ?? 0;
  await rest.pulls.createReplyForReviewComment({ ...pull, comment_id: id, body: "Done in the last commit." });
  const thread = String(id);
  expect((await send(test, `${PULL}/reply`, { thread, words: "Thanks" })).status).toBe(303);
  expect((await send(test, `${PULL}/reply`, { thread, words: " " })).status).toBe(409);
  const before = await read(test, PULL);
  expect(before).toMatch(/Shorter\.[\s\S]*Done in the last commit\.[\s\S]*Thanks/);
  // A reply's own review has nothing to show.
  expect(before.match(/<span class="did">reviewed/g)).toBeNull();
  expect((await send(test, `${PULL}/resolve`, { thread })).status).toBe(303);
  expect(await read(test, PULL)).toContain("Resolved by mira");
  expect((await send(test, `${PULL}/unresolve`, { thread })).status).toBe(303);
  expect(await read(test, PULL)).not.toContain("Resolved by mira");
  for (const action of ["reply", "resolve"]) {
    expect((await send(test, `${PULL}/${action}`, { token: "", thread, words: "x" })).status).toBe(403);
  }
});

it("takes what a check says from its form, and keeps it when the check ends", async () => {
  await using test = await open();
  const lines = "docs/quickstart.md:3 Not a word\n\ndocs/b.md:12 Broken link: /x";
  const said = { name: "words", result: "pending", summary: "2 faults", text: "Both <i>new</i>.", lines };
  const wrong = await send(test, `${PULL}/check`, { ...said, lines: "line 3 is wrong" });
  expect(wrong.status).toBe(409);
  expect(wrong.text).toContain("Write each line as docs/page.md:12 what is wrong.");
  const link = "https://ci.example.com/1";
  expect((await send(test, `${PULL}/check`, { ...said, link })).status).toBe(303);
  await send(test, `${PULL}/check`, { name: "words", result: "failed" });
  const { data } = await test.octokit.rest.checks.listForRef({ ...at, ref: await test.tip("fix") });
  expect(data.check_runs).toMatchObject([
    {
      conclusion: "failure",
      details_url: link,
      output: { title: "2 faults", text: "Both <i>new</i>.", annotations_count: 2 },
    },
  ]);
  const page = await read(test, PULL);
  expect(page).toContain("docs/b.md:12</span> Broken link: /x");
  expect(page).toContain(`<a href="${link}"`);
  expect(page).not.toContain("<i>new");
  await send(test, `${PULL}/check`, { ...said, name: "evil", link: "javascript:alert(1)" });
  expect(await read(test, PULL)).not.toContain('href="javascript:');
});

it("gives people a role", async () => {
  await using test = await open();
  const people = (fields: Record<string, string>) => send(test, "/tidepool/docs/people", fields, RULES);
  expect((await people({ login: "otto", role: "read" })).status).toBe(303);
  expect(await read(test, RULES)).toMatch(/otto<\/span>\s*<span class="quiet">read/);
  const level = { ...at, username: "otto" };
  const { data } = await test.octokit.rest.repos.getCollaboratorPermissionLevel(level);
  expect(data.permission).toBe("read");
  expect((await people({ login: "otto", role: "king" })).status).toBe(403);
  expect((await people({ token: "", login: "otto", role: "admin" })).status).toBe(403);
});
