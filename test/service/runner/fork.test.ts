// @module-tag all

import { expect, it } from "vitest";
import { forkAt } from "../../../src/service/config/repository.ts";
import { addsPage, SETTINGS } from "../../support/pull-request-texts.ts";
import { openRunnerWorld } from "../../support/runner-world.ts";

const BRANCH = "docs-agent/job1";

it("pushes branches to the fork alone, and opens, updates and goes on from pull requests of it", async () => {
  await using world = await openRunnerWorld({ containment: "none" });
  await world.codeHost.fork("acme", "docs", "docs-bot");
  const inFork = (...args: string[]) =>
    world.git("-C", world.bare.replace("acme/docs.git", "docs-bot/docs.git"), ...args);
  const project = (page: string) =>
    world.project(addsPage(page), {
      pullRequests: { ...SETTINGS, fork: "docs-bot/docs" },
      fork: forkAt(world.codeHost.gitUrl("acme", "docs"), "acme/docs", "docs-bot/docs"),
    });
  const turn = (...pages: string[]) => ({
    prompt: `Add ${pages.length}`,
    earlierTurns: pages.map((page, at) => ({ prompt: `Add ${at}`, summary: `Add ${page}` })),
  });

  expect(await world.run(project("one"))).toMatchObject({ pullRequest: { number: 1, headRef: BRANCH } });
  expect(world.pulls()[0]).toMatchObject({ fork: "docs-bot/docs", title: "Add one" });
  expect(await world.run(project("two"), turn("one"))).toMatchObject({
    pullRequest: { number: 1, title: "Add one; add two", files: 2 },
  });
  expect((await world.diff(null, project("two")))?.files.map(({ path }) => path)).toEqual([
    "docs/one.md",
    "docs/two.md",
  ]);
  // The base branch is that of the repository itself, which goes on without the fork's.
  await world.asPerson("PUT", "1/merge", { merge_method: "squash" });
  await world.commitTo("main", { "docs/b.md": "B\n" }, "Somebody's");
  expect(await world.run(project("three"), turn("one", "two"))).toMatchObject({
    pullRequest: { number: 2, title: "Add three", files: 1 },
  });
  expect(await inFork("show", `${BRANCH}:docs/b.md`)).toBe("B");
  await world.asPerson("PUT", "2/merge", { merge_method: "squash" });
  await world.diff(null, project("three"));
  await world.upkeep([project("three")]);
  expect(await inFork("for-each-ref", "--format=%(refname)", "refs/heads")).toBe("refs/heads/main");
  expect(await world.branches()).toEqual(["main"]);
});

it.each([
  ["https://github.com/acme/docs.git", "https://github.com/bot/docs-1.git"],
  ["https://github.com/Acme/docs/", "https://github.com/bot/docs-1/"],
  ["git@github.com:acme/docs.git", "git@github.com:bot/docs-1.git"],
  ["ssh://git@github.com/acme/docs", "ssh://git@github.com/bot/docs-1"],
  ["https://github.com/acme/other", undefined],
])("has the fork of %s at %s", (repository, address) => {
  expect(forkAt(repository, "acme/docs", "bot/docs-1")?.repository).toBe(address);
});
