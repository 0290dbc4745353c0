// @module-tag all

import { createEmulator } from "emulate";
import { expect, it } from "vitest";
import { createSystemClock } from "../../../src/shared/machine/clock-and-log.ts";
import { fixedToken } from "../../../src/service/pulls/code-host/token-provider.ts";
import { createGitHubCodeHost } from "../../../src/service/pulls/code-host/github-code-host.ts";
import type { ServiceProject } from "../../../src/service/config/config.ts";
import { branchPulls } from "../../../src/service/runner/publish/branch-pulls.ts";
import type { RunnerTurn } from "../../../src/service/runner/turn-context.ts";
import { ReaderProcesses } from "../../../src/service/runner/process/apart/apart.ts";
import { publish } from "../../../src/service/runner/publish/publish.ts";
import { SETTINGS } from "../../support/pull-request-texts.ts";

const TOKEN = "ghp_0123456789abcdefghijklmnop";

it("opens, finds and updates a pull request on somebody else's emulation of GitHub", async () => {
  const github = await createEmulator({
    service: "github",
    port: 0,
    seed: {
      tokens: { [TOKEN]: { login: "acme", scopes: ["repo"] } },
      github: { users: [{ login: "acme" }], repos: [{ owner: "acme", name: "docs", auto_init: true }] },
    },
  });
  try {
    const headers = { authorization: `token ${TOKEN}`, "content-type": "application/json" };
    const base = `${github.url}/repos/acme/docs`;
    const main = (await (await fetch(`${base}/git/ref/heads/main`, { headers })).json()) as {
      object: { sha: string };
    };
    const branched = await fetch(`${base}/git/refs`, {
      method: "POST",
      headers,
      body: JSON.stringify({ ref: "refs/heads/docs-agent/job1", sha: main.object.sha }),
    });
    expect(branched.status).toBe(201);

    const codeHost = createGitHubCodeHost({
      apiUrl: github.url,
      owner: "acme",
      repo: "docs",
      tokens: fixedToken(TOKEN, "DOCS_TOKEN"),
      clock: createSystemClock(),
      redact: (text) => text,
    });
    const { signal } = new AbortController();
    const project = { baseBranch: "main" } as ServiceProject;
    const turn = { project, pullRequest: null, acceptedAt: 0 } as RunnerTurn;
    const find = async () => branchPulls(turn, await codeHost.find("docs-agent/job1", signal));
    using readers = new ReaderProcesses();
    const publishAs = async (summary: string) =>
      publish({
        pulls: await find(),
        findPulls: find,
        codeHost,
        apart: readers.forTurn("docs", signal, () => []),
        branch: "docs-agent/job1",
        baseBranch: "main",
        commit: main.object.sha,
        isTurns: async () => false,
        turn: {
          jobId: "job1",
          number: 1,
          kind: "message",
          prompt: "Fix",
          words: "Fix",
          earlierTurns: [],
          summary,
          leftOut: [],
          change: null,
          credit: null,
          checks: [],
          sources: null,
          overlaps: [],
        },
        openBefore: null,
        settings: { ...SETTINGS, titleTemplate: "docs: {title}" },
        hasBlockingFindings: false,
        template: null,
        redact: (text) => text,
        signal,
      });
    const first = await publishAs("First");
    const second = await publishAs("Second\n\nMore of it");
    if (typeof first === "string") throw new Error(first);
    const { pullRequest } = first;
    expect(second).toEqual({ pullRequest: { ...pullRequest, title: "docs: second" }, notes: [] });
    const pulls = await codeHost.find("docs-agent/job1", signal);
    expect(pulls).toHaveLength(1);
    expect(pulls[0]).toMatchObject({
      state: "open",
      url: pullRequest.url,
      body: expect.stringContaining("More of it"),
    });
  } finally {
    await github.close();
  }
});
