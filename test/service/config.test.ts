import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { loadServiceConfig } from "../../src/service/config/config.ts";
import { networkOf, projectSecrets } from "../../src/service/config/env.ts";
import { createIsDoc } from "../../src/service/runner/workspace/tree/select-changes.ts";
import { openTempDir } from "../support/temp-dir.ts";

const EXAMPLE = fileURLToPath(new URL("../../service.example.yml", import.meta.url));
const agent = { kind: "acp", command: ["opencode", "acp"] };
const project = {
  id: "docs",
  repository: "https://git.example/acme/docs.git",
  agent,
  codeHost: { kind: "none" },
};
const env = { DOCS_TOKEN: "a-value-of-the-environment", EMPTY: " " };

async function load(settings: unknown, given: Record<string, string> | null = env) {
  await using dir = await openTempDir();
  const path = dir.file("service.yml");
  writeFileSync(path, typeof settings === "string" ? settings : stringify(settings));
  return loadServiceConfig(path, given);
}

function withProject(over: object): object {
  return { dataDir: "./data", projects: [{ ...project, ...over }] };
}

async function faultsOf(settings: unknown, given?: Record<string, string> | null): Promise<string> {
  try {
    await load(settings, given);
  } catch (thrown) {
    return (thrown as Error).message;
  }
  throw new Error("The settings were taken");
}

it("takes the documented example, and its commented defaults are the real ones", () => {
  const text = readFileSync(EXAMPLE, "utf8");
  const config = loadServiceConfig(EXAMPLE, {
    DOCS_GITHUB_TOKEN: "x".repeat(20),
    DOCS_ANTHROPIC_KEY: "y".repeat(20),
  });
  expect(config.projects[0]).toMatchObject({
    id: "docs",
    name: "docs",
    model: "opencode",
    gitCredentialsEnv: null,
  });
  for (const line of [
    `host: ${config.listen.host}`,
    `port: ${config.listen.port}`,
    `keyPrefix: ${config.keyPrefix}`,
    `jobsAtOnce: ${config.jobsAtOnce}`,
    `labels: ${JSON.stringify(config.labels)}`,
    `stopGraceMinutes: ${config.stopGraceMinutes}`,
    `baseBranch: ${config.projects[0]?.baseBranch}`,
    `timeLimitMinutes: ${config.projects[0]?.agent.timeLimitMinutes}`,
    `maxOutputBytes: ${config.projects[0]?.agent.maxOutputBytes}`,
    `createsPerHour: ${config.projects[0]?.limits.createsPerHour}`,
    `messagesPerHour: ${config.projects[0]?.limits.messagesPerHour}`,
    `  jobsAtOnce: ${config.projects[0]?.limits.jobsAtOnce}`,
    `queued: ${config.projects[0]?.limits.queued}`,
    `archiveAfterDays: ${config.projects[0]?.archiveAfterDays}`,
    `allow: ${JSON.stringify(config.projects[0]?.network.allow)}`,
    `maxBytes: ${config.projects[0]?.network.maxBytes}`,
    `keepArchivedDays: ${config.projects[0]?.keepArchivedDays}`,
    `openPullRequests: ${config.projects[0]?.openPullRequests}`,
    `keepFresh: ${config.projects[0]?.keepFresh}`,
    `previewHosts: ${JSON.stringify(config.projects[0]?.previewHosts)}`,
    `portableNames: ${config.projects[0]?.portableNames}`,
    `deleteMergedBranches: ${config.projects[0]?.deleteMergedBranches}`,
    `addressReviews: ${config.projects[0]?.addressReviews}`,
    `apiUrl: https://api.github.com`,
    `logLevel: ${config.logLevel}`,
  ]) {
    expect(text).toContain(line);
  }
  const listed = /#docs:\n((?: +# {2}- .*\n)+)/.exec(text)?.[1] ?? "";
  expect(parse(listed.replaceAll("#", ""))).toEqual(config.projects[0]?.docs);
});

it("fills in the defaults and resolves paths against the file's folder", async () => {
  await using dir = await openTempDir();
  writeFileSync(dir.file("service.yml"), stringify(withProject({ repository: "../docs" })));
  const config = loadServiceConfig(dir.file("service.yml"), {});
  expect(config).toMatchObject({
    listen: { host: "127.0.0.1", port: 4000 },
    dataDir: dir.file("data"),
    keyPrefix: "docsagent",
    publicBaseUrl: null,
    labels: [],
    metricsAddress: null,
    projects: [
      {
        id: "docs",
        name: "docs",
        model: "opencode",
        baseBranch: "main",
        agentEnv: [],
        models: [],
        budget: {},
        network: { allow: [], maxBytes: 1024 ** 3 },
        agent: { terminal: false, permissions: "policy", startSeconds: 60, answerTimeLimitMinutes: 60 },
        codeHost: { kind: "none" },
        limits: { createsPerHour: 100, messagesPerHour: 100, jobsAtOnce: 2, queued: 100 },
        runners: { labels: [] },
        archiveAfterDays: 90,
        keepArchivedDays: 90,
        portableNames: true,
        openPullRequests: 10,
        keepFresh: false,
        previewHosts: [],
        deleteMergedBranches: true,
        addressReviews: "ask",
      },
    ],
  });
  expect(config.projects[0]?.repository).toMatch(/^\/.*\/docs$/);
  expect(config.projects[0]?.repository).not.toContain(dir.path);
});

it("takes no author and no key for commits that the code host makes", async () => {
  const commits = { by: "api", email: "docs@acme.example", signingKeyFile: "./key" };
  const faults = await faultsOf(withProject({ commits }));
  expect(faults).toMatch(/Fix 3 settings/);
  expect(faults).toContain("projects[0].commits.by: api needs a code host. Set it to git, or set codeHost.");
  expect(faults).toMatch(/commits\.email can't be used with by: api, because the code host says/);
  expect(faults).toMatch(/commits\.signingKeyFile can't be used with by: api/);
});

it("takes a fork only with a token, beside the repository that it is of", async () => {
  const codeHost = { kind: "github", owner: "acme", repo: "docs", tokenEnv: "DOCS_TOKEN" };
  const pullRequests = { fork: "docs-bot/docs" };
  const repository = "https://github.com/acme/docs.git";
  const [project] = (await load(withProject({ repository, codeHost, pullRequests }))).projects;
  expect(project?.fork).toEqual({
    owner: "docs-bot",
    repo: "docs",
    repository: "https://github.com/docs-bot/docs.git",
  });
  expect(await faultsOf(withProject({ repository, pullRequests }))).toMatch(/fork needs a code host\./);
  const app = { id: 12, keyFile: "./app.pem", installationId: 77 };
  const { tokenEnv: _, ...asApp } = { ...codeHost, app };
  const commits = { by: "api" };
  const both = await faultsOf(withProject({ repository, codeHost: asApp, pullRequests, commits }));
  expect(both).toMatch(/fork needs codeHost\.tokenEnv in place of app: an App's token is for one repository/);
  expect(both).toMatch(/fork can't be used with commits\.by: api/);
  const itself = { fork: "Acme/docs" };
  expect(await faultsOf(withProject({ repository, codeHost, pullRequests: itself }))).toMatch(
    /fork is the repository itself\./,
  );
});

it("lists every fault at once, with its place and what to put there", async () => {
  const message = await faultsOf({
    listen: { port: "4000", hots: "x" },
    projects: [
      { id: "../docs", repository: "ftp://git.example/x", agent: { kind: "robot" }, docs: ["../**"] },
      {
        id: "api",
        repository: "https://git.example/api",
        agent: { kind: "acp", command: "opencode acp" },
        commits: { name: "Acme <docs>", email: "docs" },
      },
      {
        repository: "https://git.example/web",
        agent,
        limits: { jobsAtOnce: 0 },
        codeHost: { kind: "github" },
      },
    ],
  });
  for (const fault of [
    /projects\[1\]\.commits\.email must be an e-mail address\./,
    /projects\[1\]\.commits\.name must be a name that begins and ends with a letter/,
    /listen\.port must be a whole number from 0 to 65535 \(a port\)\./,
    /listen\.hots isn't a setting\. Did you mean host\?/,
    /dataDir is missing\. Set it to the folder/,
    /projects\[0\]\.id must be 1 to 64 letters/,
    /projects\[0\]\.repository must be an https URL/,
    /projects\[0\]\.agent\.kind must be acp .* or use preset: opencode/,
    /projects\[0\]\.docs\[0\] must be a glob/,
    /projects\[1\]\.agent\.command must be a list of texts, the program first/,
    /projects\[2\]\.id is missing/,
    /projects\[2\]\.limits\.jobsAtOnce must be .* from 1 to 100/,
    /projects\[2\]\.codeHost\.owner is missing/,
    /projects\[2\]\.codeHost\.tokenEnv is missing\. Set it to the name of an environment variable/,
    /service\.example\.yml/,
  ]) {
    expect(message).toMatch(fault);
  }
});

it.each([
  [
    { agent: { ...agent, styleGuide: "docs/STYLE.md" } },
    "agent.styleGuide must be a list of paths of files in the repository, for example [docs/STYLE.md].",
  ],
  [{ context: [{ name: "cli", repository: "../cli", paths: "src/**" }] }, "paths must be a list of globs"],
  [{ context: [{ name: "cli", repository: "../cli", publish: true }] }, "publish must be ask or allow"],
  [{ verify: "links" }, "verify must be a list of checks, for example [links, markdownlint]."],
  [
    { verify: [{ name: "hygiene", off: ["comments"] }] },
    "verify[0].off[0] must be a rule of hygiene, as docs/quality.md lists them. Did you mean comment?",
  ],
  [{ verify: [{ name: "hygiene", command: ["sh"] }] }, "verify[0].command isn't a setting."],
  [{ verify: ["hygene"] }, "verify[0] must be one of markdownlint, links"],
  [
    { verify: Array.from({ length: 10 }, (_, nth) => ({ name: `c${nth}`, command: ["true"] })) },
    "verify must be a list of at most nine checks beside hygiene.",
  ],
  [
    { verify: [{ name: "site", command: "npm run build" }] },
    'the program first, for example ["node", "check.mjs"].',
  ],
  [{ openPullRequests: 0 }, "openPullRequests must be a whole number from 1 to 1000"],
  [{ previewHosts: ["https://docs.example.com/"] }, "previewHosts[0] must be a host: docs-preview.example"],
  [{ liveUrl: "https://docs.acme.com/" }, "liveUrl must be an https URL with {path} in place of a page's"],
  [{ pullRequests: { reviewers: ["@ana"] } }, "reviewers[0] must be a user name at the code host, or a team"],
  [{ pullRequests: { labels: [1] } }, "labels[0] must be a label of 1 to 50 characters."],
])("says once what a list or one of its parts must be: %j", async (over, expected) => {
  const message = await faultsOf(withProject(over));
  expect(message).toContain("Fix one setting:");
  expect(message).toContain(expected);
});

it.each([
  ["https://git.example/docs.git", true],
  ["http://127.0.0.1:9000/docs.git", true],
  ["http://localhost/docs.git", true],
  ["http://[::1]:9000/docs.git", true],
  ["ssh://git@git.example/docs.git", true],
  ["git@git.example:acme/docs.git", true],
  ["git@-git.example:acme/docs.git", false],
  ["git@git.example:-acme/docs.git", false],
  ["/srv/git/docs.git", true],
  ["./docs", true],
  ["http://git.example/docs.git", false],
  ["http://127.0.0.1.git.example/docs.git", false],
  ["https://user:pass@git.example/docs.git", false],
  ["https://user@git.example/docs.git", false],
  ["ssh://git:pass@git.example/docs.git", false],
  ["ssh://-oProxyCommand=x/docs", false],
  ["ext::sh -c touch%20x", false],
  ["file:///srv/git/docs.git", false],
  ["git://git.example/docs.git", false],
  ["--upload-pack=x", false],
  ["", false],
])("a repository %j: %j", async (repository, isTaken) => {
  const settings = withProject({ repository });
  if (isTaken) await expect(load(settings)).resolves.toBeDefined();
  else expect(await faultsOf(settings)).toMatch(/projects\[0\]\.repository (?:must be|has a password)/);
});

it.each(["main", "release/2.x", "docs_v2", "dokümantasyon"])(
  "takes the base branch %j",
  async (baseBranch) => {
    expect((await load(withProject({ baseBranch }))).projects[0]?.baseBranch).toBe(baseBranch);
  },
);

it.each(["docs-agent/", "docs/bot-", "team/docs/", "x"])(
  "takes the prefix %j for branches",
  async (branchPrefix) => {
    const { projects } = await load(withProject({ pullRequests: { branchPrefix } }));
    expect(projects[0]?.pullRequests.branchPrefix).toBe(branchPrefix);
  },
);

it.each(["", "/", "a//", "-x/", "refs/heads/", "a b/", "a..b/", "a.lock/", ".a/", "x".repeat(91)])(
  "refuses the prefix %j for branches",
  async (branchPrefix) => {
    expect(await faultsOf(withProject({ pullRequests: { branchPrefix } }))).toContain(
      "pullRequests.branchPrefix must be",
    );
  },
);

it.each([
  ["docs-agent", "docs-agent/"],
  ["docs-agent/x", "docs-agent/"],
  ["release", "release/docs/"],
  ["release/docs", "release/docs/"],
  ["docs-main", "docs-"],
])("refuses the base branch %j beside the prefix %j", async (baseBranch, branchPrefix) => {
  expect(await faultsOf(withProject({ baseBranch, pullRequests: { branchPrefix } }))).toContain(
    "projects[0].baseBranch leaves no room for the branches of jobs",
  );
});

it("takes a base branch that only looks like the prefix", async () => {
  const settings = withProject({ baseBranch: "docs-agents", pullRequests: { branchPrefix: "docs-agent/" } });
  expect((await load(settings)).projects[0]?.baseBranch).toBe("docs-agents");
});

it("takes names of variables that begin like a token", async () => {
  const names = ["npm_config_user_agent", "npm_package_engines_node", "npm_lifecycle_script"];
  expect((await load(withProject({ agentEnv: names }))).projects[0]?.agentEnv).toEqual(names);
});

it.each([
  "-x",
  "a..b",
  "a b",
  "a~1",
  "refs/heads/x.lock",
  "HEAD",
  "@",
  "a:b",
  "/a",
  "a/",
  "@{u}",
  "a//b",
  ".a",
  "a/.b",
])("refuses the base branch %j", async (baseBranch) => {
  expect(await faultsOf(withProject({ baseBranch }))).toContain("projects[0].baseBranch must be");
});

/** Assembled here, so that no scanner takes them for real ones. */
const SECRETS = [
  `ghp_${"a1B2".repeat(9)}`,
  `github_pat_${"a1B2".repeat(9)}`,
  `xoxb-${"12345678".repeat(3)}`,
  `sk-${"a1B2".repeat(9)}`,
  `npm_${"a1B2".repeat(9)}`,
  `AKIA${"A1B2C3D4".repeat(2)}`,
  `docsagent_${"a1B2".repeat(11)}`,
  `-----BEGIN RSA PRIVATE ${"KEY"}-----`,
  `Bearer ${"a1B2".repeat(6)}`,
  `https://user:${"a1B2".repeat(3)}@git.example/docs.git`,
];

it.each(SECRETS)(
  "refuses a secret in the file wherever it stands, without repeating it (%#)",
  async (secret) => {
    for (const settings of [
      withProject({ model: secret }),
      withProject({ agent: { kind: "command", command: ["agent", "--token", secret] } }),
      withProject({ codeHost: { kind: "github", owner: "a", repo: "b", tokenEnv: secret } }),
      withProject({ agentEnv: [secret] }),
      withProject({ unknown: { deep: [secret] } }),
      { dataDir: secret, projects: secret },
      withProject({ model: secret, [secret]: 1 }),
    ]) {
      const message = await faultsOf(settings);
      expect(message).toMatch(/looks like a secret|has a password/);
      expect(message).not.toContain(secret);
    }
  },
);

it("says where the YAML is wrong without quoting it", async () => {
  const secret = SECRETS[0] ?? "";
  for (const text of [
    `dataDir: [${secret}`,
    `a: ${secret}\na: 2`,
    `x: *${secret}`,
    `\t- ${secret}\n:`,
    `a: &a [*a, ${secret}]`,
  ]) {
    const message = await faultsOf(text);
    expect(message).not.toContain(secret);
    expect(message).toMatch(
      /Line \d+(?:, column \d+)? isn't valid YAML|spaces, not tabs|looks like a secret|aliases/,
    );
  }
});

it.each(["", "[]", "text", "42", "null", "- a"])("refuses a file that is %j", async (text) => {
  expect(await faultsOf(text)).toContain("service.example.yml");
});

it("wants every variable that the file names to be set, unless nobody asks", async () => {
  const codeHost = { kind: "github", owner: "acme", repo: "docs", tokenEnv: "DOCS_TOKEN" };
  const settings = withProject({ codeHost, gitCredentialsEnv: "EMPTY" });
  const message = await faultsOf(settings, { EMPTY: " " });
  expect(message).toContain("projects[0].codeHost.tokenEnv names DOCS_TOKEN, which is not set");
  expect(message).toContain("projects[0].gitCredentialsEnv names EMPTY, which is not set");
  expect((await load(settings, null)).projects[0]?.gitCredentialsEnv).toBe("EMPTY");
  // One variable that is missing is one fault, however many settings name it.
  expect(await faultsOf(withProject({ codeHost, gitCredentialsEnv: "DOCS_TOKEN" }), {})).toContain(
    "Fix one setting:\n  - projects[0].codeHost.tokenEnv and projects[0].gitCredentialsEnv name DOCS_TOKEN, which is not set. Set it in the environment or in .env.\n",
  );
});

it("says what a person can't see: a tab, an example's … in a token, a section that is none", async () => {
  const tab = "dataDir: ./data\nlisten:\n\tport: 1\n";
  expect(await faultsOf(tab)).toContain("Line 3 must be indented with spaces, not tabs.");
  // The parser stumbles over what follows, too.
  const more = "dataDir: ./data\n\tlisten:\n    port: 1\nprojects:\n  - id: docs\n    agent:\n";
  expect(await faultsOf(more)).toMatch(/Fix one setting:\n {2}- Line 2 must be indented with spaces/);
  const codeHost = { kind: "github", owner: "acme", repo: "docs", tokenEnv: "DOCS_TOKEN" };
  const message = await faultsOf(withProject({ codeHost }), { DOCS_TOKEN: "ghp_…" });
  expect(message).toContain(
    "tokenEnv names DOCS_TOKEN, which has characters that no token or key has. Set it again.",
  );
  expect(message).not.toContain("ghp_");
  expect(await faultsOf({ ...withProject({}), listen: 4000 })).toContain(
    "listen must be a section with settings.",
  );
});

it("keeps the service's own credentials from the agent", async () => {
  const codeHost = { kind: "github", owner: "acme", repo: "docs", tokenEnv: "DOCS_TOKEN" };
  expect(await faultsOf(withProject({ codeHost, agentEnv: ["DOCS_TOKEN"] }))).toContain(
    "projects[0].agentEnv must not have DOCS_TOKEN",
  );
  const context = [{ name: "cli", repository: "../cli", gitCredentialsEnv: "DOCS_TOKEN" }];
  expect(await faultsOf(withProject({ context, agentEnv: ["DOCS_TOKEN"] }))).toContain(
    "projects[0].agentEnv must not have DOCS_TOKEN",
  );
  const unset = [{ name: "cli", repository: "../cli", gitCredentialsEnv: "UNSET" }];
  expect(await faultsOf(withProject({ context: unset }))).toContain(
    "projects[0].context[0].gitCredentialsEnv names UNSET, which is not set.",
  );
});

it("reads context repositories: each name once, local paths against the file's folder", async () => {
  const cli = { name: "cli", repository: "../cli" };
  const { projects } = await load(withProject({ context: [cli] }));
  expect(projects[0]?.context).toMatchObject([{ name: "cli", ref: "main", paths: [], publish: "ask" }]);
  expect(projects[0]?.context[0]?.repository).toMatch(/^\/.*\/cli$/);
  const faults = await faultsOf(withProject({ context: [cli, cli] }));
  expect(faults).toContain('projects[0].context[1].name: projects[0].context[0].name is "cli", too.');
  for (const name of ["docs", "request"])
    expect(await faultsOf(withProject({ context: [{ ...cli, name }] }))).toContain("and not docs or request");
});

it("takes a preset: its command, unless the settings give another, and its name or model for the record", async () => {
  const { projects } = await load(withProject({ agent: { preset: "gemini" } }));
  expect(projects[0]).toMatchObject({
    model: "gemini",
    agent: { kind: "acp", preset: "gemini", command: ["gemini", "--acp"], terminal: false },
  });
  const command = ["/opt/agents/codex-acp", "--verbose"];
  const changed = await load(withProject({ agent: { preset: "codex", command, model: "gpt-5.1-codex" } }));
  expect(changed.projects[0]).toMatchObject({ model: "gpt-5.1-codex", agent: { command } });
});

it.each([
  [{ preset: "claud" }, /agent\.preset must be one of .*copilot\. Did you mean claude\?/],
  [{ preset: "robot" }, /agent\.preset must be one of opencode, gemini, claude, codex, copilot/],
  [{ preset: "opencode", comand: ["x"] }, /agent\.comand isn't a setting\. Did you mean command\?/],
  [{ preset: "opencode", favorite: "x" }, /agent\.favorite isn't a setting\. Remove it\./],
  [{ preset: "opencode", kind: "command" }, /agent\.preset isn't a setting\. Remove it/],
  [{ kind: "acp", command: ["x"], model: "gpt-5" }, /agent\.model must be .*beside a preset/],
])("refuses the agent %j", async (wrong, fault) => {
  const message = await faultsOf(withProject({ agent: wrong }));
  expect(message).toMatch(fault);
  expect(message).toContain("Fix one setting:");
});

it("says which misspelled name leaves an agent without its kind", async () => {
  const message = await faultsOf(withProject({ agent: { prset: "opencode" } }));
  expect(message).toMatch(/agent\.prset isn't a setting\. Did you mean preset\?/);
  expect(message).toMatch(/agent\.kind is missing/);
});

it("refuses two projects of one id, whatever its case", async () => {
  const projects = [project, { ...project, id: "Docs" }];
  expect(await faultsOf({ dataDir: "./data", projects })).toContain(
    'projects[1].id: projects[0].id is "docs", too. Choose another.',
  );
});

it("takes a repository's own address alone, and the one that the code host has", async () => {
  const codeHost = { kind: "github", owner: "acme", repo: "docs", tokenEnv: "DOCS_TOKEN" };
  const page = "https://github.com/acme/docs";
  for (const [settings, fault] of [
    [
      { repository: `${page}/tree/main` },
      `projects[0].repository must be the repository's own address, ${page}, not a page in it.`,
    ],
    [
      { repository: "https://git.example/acme/docs/-/blob/main/README.md" },
      "must be the repository's own address, https://git.example/acme/docs, not",
    ],
    [
      { repository: page, codeHost: { ...codeHost, repo: "handbook" } },
      "projects[0].repository is acme/docs, but its codeHost is acme/handbook. Correct one of them.",
    ],
    [
      { repository: "git@github.com:acme/docs.git", codeHost: { ...codeHost, owner: "other" } },
      "projects[0].repository is acme/docs, but its codeHost is other/docs.",
    ],
    [{ repository: "acme/docs", codeHost }, `For the repository at the code host, write ${page}.`],
    [{ codeHost: { kind: "gitlab" } }, "none for GitLab and other hosts: the service then pushes a branch"],
  ] as const) {
    expect(await faultsOf(withProject(settings))).toContain(fault);
  }
  for (const repository of [
    page,
    `${page}.git`,
    "git@github.com:Acme/Docs.git",
    "ssh://git@github.com/acme/docs",
  ]) {
    await load(withProject({ repository, codeHost }));
  }
  // A mirror elsewhere may have any name.
  await load(withProject({ repository: "https://git.example/mirrors/docs-mirror.git", codeHost }));
});

it("lets only an ACP agent ask people", async () => {
  const asking = withProject({ agent: { kind: "acp", command: ["x"], permissions: "perhaps" } });
  expect(await faultsOf(asking)).toContain("projects[0].agent.permissions must be policy or ask");
  const command = withProject({ agent: { kind: "command", command: ["x"], permissions: "ask" } });
  expect(await faultsOf(command)).toContain("projects[0].agent.permissions");
});

it("refuses a terminal for an agent that does not speak ACP", async () => {
  const settings = withProject({ agent: { kind: "command", command: ["x"], terminal: true } });
  expect(await faultsOf(settings)).toContain("projects[0].agent.terminal must be left out");
});

it("collects the secrets that must stay out of the log", async () => {
  const codeHost = { kind: "github", owner: "acme", repo: "docs", tokenEnv: "DOCS_TOKEN" };
  const config = await load(withProject({ codeHost, agentEnv: ["MODEL_KEY", "LANG"] }));
  const given = { DOCS_TOKEN: "ana:a-password-of-git\n", MODEL_KEY: "a-key-of-a-model", LANG: "C" };
  expect(config.projects.flatMap((one) => projectSecrets(one, given))).toEqual([
    "ana:a-password-of-git",
    "a-password-of-git",
    "a-key-of-a-model",
  ]);
});

const model = { name: "claude", kind: "anthropic", keyEnv: "CLAUDE_KEY" };
const gpt = {
  name: "gpt",
  kind: "openai",
  keyEnv: "GPT_KEY",
  prices: { "gpt-5*": { input: 1.25, output: 10 } },
  allow: { fields: ["service_tier"], tools: ["web_search"], betas: ["context-1m-2025-08-07"] },
};
const modelEnv = { CLAUDE_KEY: "a-key-of-claude", GPT_KEY: "a-key-of-gpt" };

function withModels(over: object, ...models: object[]): object {
  return { ...withProject(over), models };
}

it("gives each project the models that it names, else all", async () => {
  const all = await load(withModels({}, model, gpt), modelEnv);
  expect(all.projects[0]?.models).toEqual([
    {
      ...model,
      baseUrl: "https://api.anthropic.com",
      prices: {},
      allow: { fields: [], tools: [], betas: [] },
    },
    { ...gpt, baseUrl: "https://api.openai.com/v1" },
  ]);
  expect(all).not.toHaveProperty("models");
  const settings = withModels(
    {
      models: ["gpt"],
      budget: { tokens: 200_000, usd: 2 },
      network: { allow: ["*.example.org", "10.1.2.3:8080"] },
    },
    model,
    { ...gpt, baseUrl: "http://127.0.0.1:11434/v1" },
  );
  const one = (await load(settings, modelEnv)).projects[0];
  expect(one?.models).toEqual([{ ...gpt, baseUrl: "http://127.0.0.1:11434/v1" }]);
  if (one === undefined) throw new Error("no project");
  expect(networkOf(one, modelEnv)).toEqual({
    allow: [
      { host: "example.org", isWildcard: true, port: null },
      { host: "10.1.2.3", isWildcard: false, port: 8080 },
    ],
    maxBytes: 1024 ** 3,
    models: [
      {
        name: "gpt",
        kind: "openai",
        baseUrl: "http://127.0.0.1:11434/v1",
        key: "a-key-of-gpt",
        keyEnv: "GPT_KEY",
        prices: gpt.prices,
        allow: gpt.allow,
      },
    ],
    budget: { tokens: 200_000, usd: 2, countsMoney: false },
    proxy: { http: "", https: "", none: "localhost,127.0.0.1,::1,[::1]" },
  });
});

it("keeps the keys of models out of the log", async () => {
  const config = await load(withModels({}, model, gpt), modelEnv);
  expect(config.projects.flatMap((one) => projectSecrets(one, modelEnv))).toEqual(Object.values(modelEnv));
});

it("says what is wrong with models, budgets and hosts", async () => {
  for (const [settings, fault] of [
    [withModels({}, { ...model, name: "Claude" }), "models[0].name must be lower-case letters"],
    [
      withModels({}, { ...model, kind: "grok" }),
      "models[0].kind must be the upstream's API: one of anthropic, openai, gemini",
    ],
    [
      withModels({}, { ...model, baseUrl: "http://claude.example" }),
      "models[0].baseUrl must be an https URL",
    ],
    [
      withModels({}, { name: "claude", kind: "anthropic" }),
      "models[0].keyEnv is missing. Set it to the name of an environment variable",
    ],
    [
      withModels({}, { ...model, prices: { x: { input: 1 } } }),
      "models[0].prices.x.output is missing. Set it to the price",
    ],
    [withModels({}, { ...model, prices: { x: 1 } }), "models[0].prices.x must be a price per model"],
    [
      withModels({}, { ...model, prices: { x: { input: -1, output: 1 } } }),
      "models[0].prices.x.input must be",
    ],
    [withModels({}, { ...model, allow: { betas: [""] } }), "models[0].allow.betas[0] must be"],
    [
      withModels({}, { ...model, keyEnv: "UNSET" }),
      "models[0].keyEnv names UNSET, which is not set. Set it in the environment or in .env",
    ],
    [withModels({}, model, model), 'models[1].name: models[0].name is "claude", too.'],
    [
      withModels({ models: ["gpt"] }, model),
      "projects[0].models must have only names that are under models. Add gpt",
    ],
    [withModels({ agentEnv: ["CLAUDE_KEY"] }, model), "projects[0].agentEnv must not have CLAUDE_KEY"],
    [
      withModels({ budget: { tokens: 0 } }, model),
      "projects[0].budget.tokens must be a whole number from 1 to 1000000000 (how many tokens",
    ],
    [withModels({ budget: { usd: 0 } }, gpt), "projects[0].budget.usd must be more than 0"],
    [
      withModels({ budget: { usd: 2 } }, gpt, model),
      "projects[0].budget.usd needs prices for the model claude. Add them under models[1].prices, or",
    ],
    [withModels({ budget: { tokens: 1000 } }), "projects[0].budget needs a model"],
    [
      withModels({ limits: { usdPerDay: 20 } }, gpt, model),
      "projects[0].limits.usdPerDay needs prices for the model claude. Add them under models[1].prices, or",
    ],
    [withModels({ limits: { usdPerMonth: 0 } }, gpt), "projects[0].limits.usdPerMonth must be more than 0"],
    [withModels({ limits: { usdPerMonth: 500 } }), "projects[0].limits.usdPerMonth needs a model"],
    [withModels({ network: { allow: ["*"] } }), "projects[0].network.allow[0] must be a host: packages"],
    [
      withModels({ network: { allow: ["https://registry.npmjs.org/x"] } }),
      "projects[0].network.allow[0] must be the host alone: registry.npmjs.org, without https:// and a path.",
    ],
    [withModels({ network: { allow: ["https://me:pw1@example.org"] } }), "projects[0].network.allow[0] "],
    [withModels({ network: { allow: "example.org" } }), "projects[0].network.allow must be a list of hosts"],
    [withModels({ network: { maxBytes: 1 } }), "projects[0].network.maxBytes must be a whole number"],
  ] as const) {
    expect(await faultsOf(settings, modelEnv)).toContain(fault);
  }
});

it("takes no dataDir with a path that is too long for sockets in it", async () => {
  const fits = `/${"x".repeat(93)}`;
  await expect(faultsOf({ ...withProject({}), dataDir: fits })).rejects.toThrow("The settings were taken");
  expect(await faultsOf({ ...withProject({}), dataDir: `${fits}x` })).toContain(
    "because the agents' sockets are in it. /xxx",
  );
});

it("takes no dataDir below /proc, where making folders never ends", async () => {
  const told = await faultsOf({ ...withProject({}), dataDir: "/proc/docs-agent/data" });
  expect(told).toContain("dataDir must be on a disk. Nobody can make files in /proc/docs-agent/data.");
});

it("takes no dataDir in a git work tree, and lets no agent read it", async () => {
  await using dir = await openTempDir();
  mkdirSync(dir.file("checkout/.git"), { recursive: true });
  const inside = { ...withProject({}), dataDir: dir.file("checkout/data/service") };
  expect(await faultsOf(inside)).toContain(
    `dataDir must be outside of the git work tree ${dir.file("checkout")},`,
  );
  const shown = {
    dataDir: dir.file("data"),
    projects: [{ ...project, agent: { ...agent, readable: ["/opt/vale", dir.path] } }],
  };
  expect(await faultsOf(shown)).toContain(
    `projects[0].agent.readable must not have ${dir.path}, which would show the agent the dataDir.`,
  );
  expect(await faultsOf({ ...shown, dataDir: dir.file("..data") })).toContain("show the agent the dataDir");
});

it("takes a brief of the operator's own that has what a turn needs", async () => {
  await using dir = await openTempDir();
  writeFileSync(dir.file("whole.md"), "Fix it.\n\n## In this project\n\n{{docs}}, {{claims}}\n");
  writeFileSync(dir.file("part.md"), "Fix it. {{docs}}\n");
  const withBrief = (briefFile: string) => withProject({ agent: { ...agent, briefFile } });
  const [own] = (await load(withBrief(dir.file("whole.md")))).projects;
  expect(own?.agent.briefFile).toBe(dir.file("whole.md"));
  expect(await faultsOf(withBrief(dir.file("part.md")))).toContain(
    "projects[0].agent.briefFile must be a brief with {{claims}}, ## In this project.",
  );
  expect(await faultsOf(withBrief("none.md"))).toMatch(/briefFile must be a file .* There is no .*none\.md/);
});

it("lets no agent read the dataDir by another name, or what is the machine's", async () => {
  await using dir = await openTempDir();
  mkdirSync(dir.file("real"));
  symlinkSync(dir.file("real"), dir.file("link"));
  symlinkSync("/proc", dir.file("processes"));
  const faultsFor = (path: string) =>
    faultsOf({
      dataDir: dir.file("link/not/there/yet"),
      projects: [{ ...project, agent: { ...agent, readable: [path] } }],
    });
  for (const path of [dir.file("real"), dir.file("link")]) {
    expect(await faultsFor(path)).toContain(`${path}, which would show the agent the dataDir`);
  }
  expect(await faultsFor(dir.file("processes"))).toContain("would show the agent /proc");
  for (const path of ["/run/docker.sock", "/sys"]) {
    expect(await faultsFor(path)).toContain(`${path}, which would show the agent /`);
  }
});

it("takes a token or an App at the code host, and not both or none", async () => {
  const host = { kind: "github", owner: "acme", repo: "docs" };
  const app = { id: 12, keyFile: "./app.pem", installationId: 77 };
  const config = await load(withProject({ codeHost: { ...host, app } }));
  const { codeHost } = config.projects[0] ?? {};
  expect(codeHost).toMatchObject({ app: { ...app, keyFile: expect.stringMatching(/^\/.*\/app\.pem$/) } });
  const both = await faultsOf(withProject({ codeHost: { ...host, app, tokenEnv: "DOCS_TOKEN" } }));
  expect(both).toMatch(/Fix one setting:\n.*codeHost\.tokenEnv must be left out beside app/);
  expect(await faultsOf(withProject({ codeHost: host }))).toMatch(
    /Fix one setting:\n.*codeHost\.tokenEnv is missing\. Set it to .*, or use app instead\./,
  );
  const wrong = { ...host, app: { id: "twelve", keyFile: "-----BEGIN RSA PRIVATE KEY-----\nMIIE" } };
  const faults = await faultsOf(withProject({ codeHost: wrong }));
  expect(faults).toMatch(/Fix 3 settings/);
  expect(faults).toMatch(/codeHost\.app\.id must be a whole number/);
  expect(faults).toMatch(/codeHost\.app\.installationId is missing/);
  expect(faults).toMatch(/codeHost\.app\.keyFile looks like a secret/);
  expect(faults).not.toContain("MIIE");
  // The agent must not be shown the key.
  const keyFile = "/srv/docs-agent/app.pem";
  const shown = withProject({
    agent: { ...agent, readable: ["/srv/docs-agent"] },
    codeHost: { ...host, app: { ...app, keyFile } },
  });
  expect(await faultsOf(shown)).toMatch(/readable must not have \/srv\/docs-agent, .* the App's private key/);
  const commits = { name: "Acme", email: "docs@acme.example", signingKeyFile: "/srv/docs-agent/key" };
  const signed = withProject({ agent: { ...agent, readable: ["/srv/docs-agent"] }, commits });
  expect(await faultsOf(signed)).toMatch(/readable must not have \/srv\/docs-agent, .* the signing key/);
});

it("covers pages, pictures and navigation that is data, and no code", async () => {
  const isDoc = createIsDoc((await load(withProject({}))).projects[0]?.docs ?? []);
  const covered = [
    "a.mdx",
    "guide/b.markdown",
    "c.mdoc",
    "d.qmd",
    "website/docs/e.txt",
    "docs/f.sh",
    "nav.adoc",
  ];
  covered.push("docs.json", "mint.json", "book/_toc.yml", "pages/_meta.json", "guide/.pages", "api/toc.yml");
  covered.push("_data/main_nav.yml", "SUMMARY.md", "images/a.png", "website/static/img/b.svg");
  expect(covered.filter((path) => !isDoc(path))).toEqual([]);
  const others = ["mkdocs.yml", "website/sidebars.js", "docs/.vitepress/config.mts", "astro.config.mjs"];
  others.push(
    "requirements.txt",
    "public/index.html",
    "src/index.ts",
    "package.json",
    ".github/workflows/x.yml",
  );
  expect(others.filter(isDoc)).toEqual([]);
});

it("takes the address of its metrics from the settings, and else from the variable", async () => {
  await using dir = await openTempDir();
  const path = dir.file("service.yml");
  const load = (metrics: object, env: Record<string, string>) => {
    writeFileSync(path, stringify({ ...withProject({}), metrics }));
    return loadServiceConfig(path, env).metricsAddress;
  };
  const env = { METRICS_ADDRESS: "127.0.0.1:9464" };
  expect(load({}, env)).toEqual({ host: "127.0.0.1", port: 9464 });
  expect(load({ address: "[::1]:9465" }, env)).toEqual({ host: "::1", port: 9465 });
  for (const address of [":9464", "9464", "localhost", "::1:9464", "127.0.0.1:70000", "http://localhost:1"]) {
    expect(() => load({ address }, {})).toThrow(
      "metrics.address must be an address of this machine and a port",
    );
    expect(() => load({}, { METRICS_ADDRESS: address })).toThrow("METRICS_ADDRESS must be an address");
  }
});
