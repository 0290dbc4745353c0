// @module-tag all

import { mkdir, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { createSystemClock } from "../../../src/shared/machine/clock-and-log.ts";
import { ReaderProcesses } from "../../../src/service/runner/process/apart/apart.ts";
import { KeyedLock } from "../../../src/service/runner/workspace/git/keyed-lock.ts";
import { Mirror } from "../../../src/service/runner/workspace/git/mirror.ts";
import { fixedToken } from "../../../src/service/pulls/code-host/token-provider.ts";
import { createGitHubCodeHost } from "../../../src/service/pulls/code-host/github-code-host.ts";
import { checkClaims } from "../../../src/service/runner/turn/steps/check-claims.ts";
import type { TurnTree } from "../../../src/service/runner/turn/steps/open-tree.ts";
import type { TurnContext, RunnerTurn } from "../../../src/service/runner/turn-context.ts";
import { commitTo } from "../../support/commit-to.ts";
import { LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";

/** Repositories whose names the settings give, besides the docs. */
const NAMES = ["cli", "core", "elsewhere"];

it("sources in context repositories are linked at the code host, and public only if it says so", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const { codeHost, dir, logger, token } = world;
  const { signal } = new AbortController();
  using readers = new ReaderProcesses();
  const clock = createSystemClock();
  const redact = (text: string) => text;
  const lock = new KeyedLock();
  const folders = { mirrors: dir.file("mirrors"), gitHome: dir.file("home"), tmp: dir.file("tmp") };
  for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true });
  const open = async (id: string) => {
    const repository = dir.file(`code-host/repositories/acme/${id}.git`);
    const project = { id, repository, gitCredentials: null, branchPrefix: "" };
    const mirror = new Mirror({ project, folders, lock, env: world.env, redact, clock, logger, signal });
    const commit = await mirror.fetch(
      { baseBranch: "main", jobId: "job1" },
      async () => (await mirror.tips("job1")).base,
    );
    const address = id === "elsewhere" ? "https://git.example/acme/elsewhere" : codeHost.gitUrl("acme", id);
    return {
      name: id,
      repository: address,
      ref: "main",
      paths: id === "cli" ? ["*.ts"] : [],
      publish: "allow" as const,
      commit,
      folder: "",
      mirror,
    };
  };
  await mkdir(dir.file("sources/plans"), { recursive: true });
  await writeFile(dir.file("sources/cli.ts"), "const options = ['--json'];\n");
  await writeFile(dir.file("sources/plans/next.ts"), "const options = ['--json'];\n");
  for (const name of NAMES) await codeHost.createRepository("acme", name, dir.file("sources"));
  codeHost.rules.privateRepositories.add("acme/core");
  const contexts = await Promise.all(NAMES.map(open));
  const docs = await open("docs");

  const settings = { kind: "github" as const, apiUrl: codeHost.apiUrl, owner: "acme", repo: "docs", token };
  const github = { ...settings, tokens: fixedToken(token, "DOCS_TOKEN"), clock, redact };
  const bare = dir.file("code-host/repositories/acme/docs.git");
  await commitTo(bare, "change", { "docs/cli.md": "It can have options.\n" }, { from: "main" });
  const commit = await docs.mirror.fetchCommit("change");
  const seenAt = new Map([
    ["docs", ["/repo"]],
    ["cli", ["/context/cli"]],
  ]);
  const check = async (...sources: [repository: string, path?: string][]) => {
    const claims = sources.map(([repository, path = "cli.ts"]) => ({
      page: "docs/cli.md",
      statement: "It can.",
      source: { repository, path, line: 1, quote: "const options = ['--json']" },
    }));
    await writeFile(`${folders.tmp}/claims.json`, JSON.stringify(claims));
    const checked = await checkClaims(
      {
        tree: { folders, commit } as unknown as TurnTree,
        base: docs.commit,
        commit,
        contexts,
        seenAt,
      },
      {
        project: { codeHost: settings, docs: ["docs/**"], context: [...contexts, { name: "absent" }] },
      } as unknown as RunnerTurn,
      {
        mirror: docs.mirror,
        codeHost: createGitHubCodeHost(github),
        clock,
        signal,
        logger,
        redact,
        apart: readers.forTurn("docs", signal, () => []),
      } as unknown as TurnContext,
    );
    return checked?.map(({ evidence, isPublic, url }) => [evidence, isPublic, url]);
  };
  const at = (name: string) =>
    `${codeHost.url}/acme/${name}/blob/${contexts.find((each) => each.name === name)?.commit}/cli.ts#L1`;
  expect(await check(["cli"], ["core"], ["elsewhere"], ["docs"], ["unknown"], ["absent"])).toEqual([
    ["code", true, at("cli")],
    ["code", false, at("core")],
    ["code", false, null],
    ["none", true, null],
    ["none", false, null],
    ["unread", false, null],
  ]);
  // A path as the agent sees it says which repository it is. What isn't shown to it is none.
  const hidden = "plans/next.ts";
  expect(await check(["docs", "/context/cli/cli.ts"], ["cli", hidden], ["core", hidden])).toEqual([
    ["code", true, at("cli")],
    ["none", true, null],
    ["code", false, expect.stringContaining(`/${hidden}#L1`)],
  ]);
  // A host that doesn't answer leaves it unknown.
  world.api.fault = () => ({ kind: "http", status: 503 });
  expect(await check(["cli"])).toEqual([["code", false, at("cli")]]);
});
