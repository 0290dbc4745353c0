// @module-tag all

import { expect, it } from "vitest";
import { FILES, openPullRequest, openTestHost, OWNER, REPO, type TestHost } from "./setup.ts";

const at = { owner: OWNER, repo: REPO };
const PULL = "/tidepool/docs/pull/1";

async function open(): Promise<TestHost> {
  const test = await openTestHost(FILES, { visitor: "mira" });
  await openPullRequest(test, "fix", { "a.md": "a\n" });
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

it("takes a review from its page, and insists on words where something has to change", async () => {
  await using test = await open();
  const review = (fields: Record<string, string>) => send(test, `${PULL}/review`, fields);
  const refused = await review({ state: "CHANGES_REQUESTED", words: " " });
  expect(refused.status).toBe(409);
  expect(refused.text).toContain("Say what should change, in the field for your review.");
  expect((await review({ state: "CHANGES_REQUESTED", words: "Say it <b>shorter</b>." })).status).toBe(303);
  const page = await read(test, PULL);
  expect(page).toMatch(/mira<\/strong> <span class="did">requested changes/);
  expect(page).toContain("Requested changes</span>");
  await review({ state: "APPROVED", words: "" });
  await review({ state: "COMMENTED", words: "Thanks" });
  const { pulls, issues } = test.octokit.rest;
  expect((await pulls.listReviews({ ...at, pull_number: 1 })).data).toMatchObject([
    { user: { login: "mira" }, state: "CHANGES_REQUESTED", body: "Say it <b>shorter</b>." },
    { user: { login: "mira" }, state: "APPROVED" },
  ]);
  expect((await issues.listComments({ ...at, issue_number: 1 })).data).toMatchObject([{ body: "Thanks" }]);
});

it("keeps the rules that are set on their page: checks and approvals first, then it merges", async () => {
  await using test = await open();
  const rules = { approvals: "1", checks: "links, links,", strict: "on" };
  expect((await send(test, "/tidepool/docs/rules", rules, "/tidepool/docs/rules")).status).toBe(303);
  expect(await read(test, "/tidepool/docs/rules")).toMatch(/<option value="1" selected[\s\S]*value="links"/);
  const page = await read(test, PULL);
  expect(page).toContain("At least 1 approving review is required by reviewers with write access.");
  expect(page).toMatch(/<button class="primary" type="submit" disabled/);
  const early = await send(test, `${PULL}/merge`, {});
  expect(early.status).toBe(409);
  expect(early.text).toContain("Not merged. At least 1 approving review");
  await send(test, `${PULL}/check`, { name: "links", result: "failed" });
  expect(await read(test, PULL)).toContain("Required status check &quot;links&quot; is failing.");
  await send(test, `${PULL}/check`, { name: "links", result: "passed" });
  await send(test, `${PULL}/review`, { state: "APPROVED", words: "" });
  expect(await read(test, PULL)).toContain("Ready. No conflicts with");
  expect((await send(test, `${PULL}/merge`, {})).status).toBe(303);
  expect(await read(test, PULL)).toMatch(/Merged by <strong>mira<\/strong>/);
});

it("closes and reopens, and makes a draft ready", async () => {
  await using test = await open();
  const pull = async () => (await test.octokit.rest.pulls.get({ ...at, pull_number: 1 })).data;
  await send(test, `${PULL}/close`, {});
  expect((await pull()).state).toBe("closed");
  await send(test, `${PULL}/reopen`, {});
  expect((await pull()).state).toBe("open");
  await test.host.repository(OWNER, REPO).change(1, { isDraft: true });
  await send(test, `${PULL}/ready`, {});
  expect((await pull()).draft).toBe(false);
});

it("takes no form without the page's own token", async () => {
  await using test = await open();
  for (const action of ["review", "check", "reopen", "ready"]) {
    const fields = { token: "", state: "APPROVED", name: "x", result: "passed" };
    expect((await send(test, `${PULL}/${action}`, fields)).status).toBe(403);
  }
  const rules = { token: "", approvals: "1" };
  expect((await send(test, "/tidepool/docs/rules", rules, "/tidepool/docs/rules")).status).toBe(403);
});
