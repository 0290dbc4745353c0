import { writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { loadServiceConfig } from "../../../src/service/config/config.ts";
import { needsOf, RunnerNeed } from "../../../src/service/config/needs.ts";
import { openTempDir } from "../../support/temp-dir.ts";

const REPOSITORY = "https://git.example/acme/docs.git";
const agent = { kind: "command", command: ["fix-docs"] };
const project = { id: "docs", repository: REPOSITORY, agent, codeHost: { kind: "none" } };

async function load(settings: object) {
  await using dir = await openTempDir();
  writeFileSync(dir.file("service.yml"), stringify({ dataDir: "./data", ...settings }));
  return { config: loadServiceConfig(dir.file("service.yml"), null), folder: dir.path };
}

async function needsIn(over: object, settings: object = {}) {
  const { config, folder } = await load({ ...settings, projects: [{ ...project, ...over }] });
  const needs = config.projects.flatMap(needsOf);
  expect(needs.map((need) => RunnerNeed.parse(need))).toEqual(needs);
  return needs.map(({ kind, name, place, isRequired }) =>
    [kind, name.replace(folder, "…"), place, ...(isRequired ? [] : ["if it is set"])].join(" "),
  );
}

it("needs nothing for a project with an App, whose tokens and models' keys the service has", async () => {
  const app = { id: 1, keyFile: "./app.pem", installationId: 2 };
  const codeHost = { kind: "github", owner: "acme", repo: "docs", app, webhookSecretEnv: "DOCS_WEBHOOK" };
  const models = [{ name: "claude", kind: "anthropic", keyEnv: "DOCS_MODEL_KEY" }];
  expect(await needsIn({ codeHost }, { models })).toEqual([]);
});

it("needs fixed tokens, credentials, a signing key, the agent's variables, and what settings name", async () => {
  const needs = await needsIn({
    repository: "./docs-repository",
    codeHost: { kind: "none" },
    gitCredentialsEnv: "DOCS_GIT",
    context: [
      { name: "cli", repository: "https://git.example/cli.git", gitCredentialsEnv: "CLI_GIT" },
      { name: "lib", repository: "./lib" },
    ],
    agent: { ...agent, readable: ["/opt/vale"] },
    agentEnv: ["DOCS_STYLE"],
    verify: [
      "hygiene",
      {
        name: "build",
        command: ["node", "build.mjs"],
        readable: ["/opt/site"],
        mounts: [{ from: "/opt/site/node_modules", at: "node_modules" }],
      },
    ],
    commits: { name: "Acme", email: "docs@acme.example", signingKeyFile: "./signing-key" },
  });
  expect(needs).toEqual([
    "variable DOCS_GIT gitCredentialsEnv",
    "variable CLI_GIT context[0].gitCredentialsEnv",
    "variable DOCS_STYLE agentEnv if it is set",
    "path …/docs-repository repository",
    "path …/lib context[1].repository",
    "path …/signing-key commits.signingKeyFile",
    "path /opt/vale agent.readable",
    "path /opt/site verify[1]",
    "path /opt/site/node_modules verify[1]",
  ]);
});

it("needs the code host's token, and not the secret of its webhooks", async () => {
  const codeHost = {
    kind: "github",
    owner: "acme",
    repo: "docs",
    tokenEnv: "DOCS_TOKEN",
    webhookSecretEnv: "DOCS_WEBHOOK",
  };
  expect(await needsIn({ codeHost })).toEqual(["variable DOCS_TOKEN codeHost.tokenEnv"]);
});

it("takes no runner of its own and labels, and says what labels may be", async () => {
  const { config } = await load({
    jobsAtOnce: 0,
    labels: ["eu"],
    projects: [{ ...project, runners: { labels: ["large", "gpu.a-1"] } }],
  });
  expect(config).toMatchObject({
    jobsAtOnce: 0,
    labels: ["eu"],
    projects: [{ runners: { labels: ["large", "gpu.a-1"] } }],
  });
  const wrong = { labels: ["Large!"], jobsAtOnce: -1, projects: [{ ...project, runners: { labels: "eu" } }] };
  await expect(load(wrong)).rejects.toThrow(
    /jobsAtOnce must be .*0 to 1000.*\n.*labels\[0\] must be a label.*\n.*runners\.labels must be a list/,
  );
});
