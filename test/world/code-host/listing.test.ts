// @module-tag all

import { expect, it } from "vitest";
import { openPullRequest, openTestHost } from "./setup.ts";

const OPEN = `query ($after: String) { repository(owner: "tidepool", name: "docs") {
  nameWithOwner
  ref(qualifiedName: "refs/heads/main") { name target { oid } }
  none: ref(qualifiedName: "refs/heads/none") { name }
  pullRequests(first: 2, after: $after, states: [OPEN], baseRefName: "main") {
    totalCount pageInfo { hasNextPage endCursor }
    nodes { number mergeable headRefOid }
  }
} }`;

type Told = {
  repository: {
    pullRequests: { pageInfo: { endCursor: string }; nodes: { number: number; mergeable: string }[] };
  };
};

it("lists open pull requests by GraphQL, page by page, and tells where their base is", async () => {
  await using test = await openTestHost();
  for (const name of ["one", "two", "three", "four"])
    await openPullRequest(test, name, { "README.md": name });
  const { pulls } = test.octokit.rest;
  await pulls.update({ owner: "tidepool", repo: "docs", pull_number: 2, state: "closed" });
  const look = async (after?: string) => test.octokit.graphql<Told>(OPEN, { after });
  const main = await test.tip("main");
  const first = await look();
  expect(first).toMatchObject({
    repository: {
      nameWithOwner: "tidepool/docs",
      ref: { name: "main", target: { oid: main } },
      none: null,
      pullRequests: {
        totalCount: 3,
        pageInfo: { hasNextPage: true },
        nodes: [{ number: 1, mergeable: "UNKNOWN", headRefOid: await test.tip("one") }, { number: 3 }],
      },
    },
  });
  const { endCursor } = first.repository.pullRequests.pageInfo;
  const second = await look(endCursor);
  expect(second.repository.pullRequests).toMatchObject({
    pageInfo: { hasNextPage: false },
    nodes: [{ number: 4 }],
  });
  const moved = await test.push("main", { "README.md": "theirs\n" });
  await look();
  const after = await look();
  expect(after.repository).toMatchObject({
    ref: { target: { oid: moved } },
    pullRequests: { nodes: [{ mergeable: "CONFLICTING" }, {}] },
  });
});
