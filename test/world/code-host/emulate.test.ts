// @module-tag all

import { Octokit } from "@octokit/rest";
import { createEmulator } from "emulate";
import { expect, it } from "vitest";
import { disagreements, kindsOf } from "../../support/shape.ts";
import { openPullRequest, openTestHost, OWNER, QUIET, REPO } from "./setup.ts";

it("answers with fields of the same kind as an independent emulation of GitHub", async () => {
  await using test = await openTestHost();
  const emulator = await createEmulator({
    service: "github",
    port: 0,
    seed: {
      tokens: { "emulate-token": { login: "ana", scopes: ["repo"] } },
      github: {
        users: [{ login: "ana" }],
        repos: [{ owner: "ana", name: "docs", auto_init: true }],
      },
    },
  });
  try {
    const theirs = new Octokit({ baseUrl: emulator.url, auth: "emulate-token", log: QUIET });
    const there = { owner: "ana", repo: "docs" };
    const here = { owner: OWNER, repo: REPO };
    const { data: main } = await theirs.rest.repos.getBranch({ ...there, branch: "main" });
    const tree = await theirs.rest.git.createTree({
      ...there,
      tree: [{ path: "a.md", mode: "100644", type: "blob", content: "a\n" }],
    });
    const commit = await theirs.rest.git.createCommit({
      ...there,
      message: "a",
      tree: tree.data.sha,
      parents: [main.commit.sha],
    });
    await theirs.rest.git.createRef({ ...there, ref: "refs/heads/fix", sha: commit.data.sha });
    const made = await theirs.rest.pulls.create({
      ...there,
      title: "t",
      body: "b",
      head: "fix",
      base: "main",
    });
    const number = await openPullRequest(test, "fix", { "a.md": "a\n" });
    const ours = test.octokit;
    const pairs: [() => Promise<{ data: unknown }>, () => Promise<{ data: unknown }>][] = [
      [() => ours.rest.repos.get(here), () => theirs.rest.repos.get(there)],
      [
        () => ours.rest.repos.getBranch({ ...here, branch: "main" }),
        () => theirs.rest.repos.getBranch({ ...there, branch: "main" }),
      ],
      [
        () => ours.rest.git.getRef({ ...here, ref: "heads/fix" }),
        () => theirs.rest.git.getRef({ ...there, ref: "heads/fix" }),
      ],
      [
        () => ours.rest.pulls.get({ ...here, pull_number: number }),
        () => theirs.rest.pulls.get({ ...there, pull_number: made.data.number }),
      ],
      [
        () => ours.rest.pulls.list({ ...here, head: "tidepool:fix" }),
        () => theirs.rest.pulls.list({ ...there, head: "ana:fix" }),
      ],
    ];
    for (const [our, their] of pairs) {
      const [{ data: one }, { data: other }] = await Promise.all([our(), their()]);
      expect(kindsOf(one).size).toBeGreaterThan(5);
      expect(disagreements(one, other)).toEqual([]);
    }
  } finally {
    await emulator.close();
  }
});
