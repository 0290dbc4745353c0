import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect, it } from "vitest";
import { createCodeHost } from "../../world/code-host/index.ts";
import { ConnectProxy } from "../../world/faults/connect-proxy.ts";
import { need } from "../support/need.ts";
import { repositoryOf, writeFiles } from "../support/repository-of.ts";
import { startHttpSide } from "../support/turn-network.ts";
import { docsOn, putDocsOn } from "../support/docs-on-code-host.ts";
import { type Ran, ServiceFolder } from "../support/service-process.ts";
import { makeSigningKey } from "../support/signing-key.ts";

const TOKEN = "code-host-token-0123456789";
const KEY = "sk-key-of-a-model-0123456789";
const WITHOUT_PROJECTS = { dataDir: "./data", containment: "none" };

/** A folder on whose PATH are git, node and the named programs, and nothing else that an agent could be. */
async function openFolder(programs: Record<string, string>): Promise<ServiceFolder> {
  const bin = `/usr/bin:/bin:${dirname(process.execPath)}`;
  const folder = await ServiceFolder.open(
    {},
    { DOCS_TOKEN: TOKEN, BAD_TOKEN: "wrong-0123456789", MODEL_KEY: KEY },
  );
  mkdirSync(folder.dir.file("bin"));
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(folder.dir.file(`bin/${name}`), text);
    chmodSync(folder.dir.file(`bin/${name}`), 0o755);
  }
  folder.env["PATH"] = `${folder.dir.file("bin")}:${bin}`;
  return folder;
}

function lines({ stdout }: Ran): string[] {
  return stdout.split("\n").filter((line) => /^(?:ok|FAULT) /.test(line));
}

const LOCAL = [
  {
    id: "docs",
    repository: "./docs-repository",
    agent: { kind: "command", command: ["true"] },
    codeHost: { kind: "none" },
  },
];

/** One project, with a repository and a code host at these addresses. */
function settingsFor(repository: string, apiUrl: string): object {
  const codeHost = { kind: "github", apiUrl, owner: "acme", repo: "docs", tokenEnv: "DOCS_TOKEN" };
  const agent = { kind: "command", command: ["true"] };
  return { ...WITHOUT_PROJECTS, projects: [{ id: "docs", repository, agent, codeHost }] };
}

it("warns of an address that every network reaches", async () => {
  await using folder = await openFolder({});
  folder.change({ ...WITHOUT_PROJECTS, listen: { host: "0.0.0.0", port: 0 }, projects: LOCAL });
  const { stdout } = await folder.run("config", "check");
  expect(stdout).toMatch(/^warn {3}service {2}listen: 0\.0\.0\.0 is every network/m);
  folder.env["container"] = "docker";
  expect((await folder.run("config", "check")).stdout).not.toContain("listen:");
  folder.change({ listen: { port: 0 } });
  expect((await folder.run("config", "check")).stdout).toMatch(
    /^warn {3}service {2}listen: Nothing outside this container reaches 127\.0\.0\.1\. Set listen\.host/m,
  );
});

it("finds everything that a turn needs", async () => {
  await using folder = await openFolder({ opencode: "#!/usr/bin/env node\n" });
  await using codeHost = await createCodeHost({ dataDir: folder.dir.file("host"), tokens: [TOKEN] });
  await putDocsOn(codeHost, folder);
  folder.configure({
    ...WITHOUT_PROJECTS,
    models: [{ name: "anthropic", kind: "anthropic", keyEnv: "MODEL_KEY" }],
    projects: [
      {
        id: "docs",
        ...docsOn(codeHost),
        agent: { preset: "opencode" },
        context: [
          { name: "own", repository: codeHost.gitUrl("acme", "docs"), gitCredentialsEnv: "DOCS_TOKEN" },
        ],
      },
    ],
  });
  await folder.run("keys", "create", "--project", "docs");
  const ran = await folder.run("config", "check");
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  expect(ran.stdout).toMatch(/\nTurns can run if the models answer\. Test them: --call-model\n$/);
  expect(lines(ran)).toEqual([
    `ok     service  dataDir: ${folder.dir.file("data")}`,
    `ok     docs  agent: ${folder.dir.file("bin/opencode")}`,
    "ok     docs  model: anthropic. Not called: add --call-model to test it",
    "ok     docs  repository: branch main, and the service may push",
    "ok     docs  pages: docs covers 2 of 2 pages",
    "ok     docs  context own: main",
    "ok     docs  code host: acme/docs",
    expect.stringMatching(
      /^ok {5}docs {2}commits: by docs-agent <\d+\+docs-agent@users\.noreply\.github\.com>$/,
    ),
    "ok     docs  admin key: there is one",
  ]);
  // Only asked, never pushed.
  expect((await fetch(`${codeHost.apiUrl}/repos/acme/docs/branches/docs-agent%2Fcheck`)).status).toBe(404);
});

it(
  "names the generator of the docs, and the navigation that agents may not change",
  { tags: "all" },
  async () => {
    await using folder = await openFolder({});
    await using codeHost = await createCodeHost({ dataDir: folder.dir.file("host"), tokens: [TOKEN] });
    const checked = async (repo: string, files: readonly string[], docs?: readonly string[]) => {
      await writeFiles(folder.dir.file(repo), Object.fromEntries(files.map((path) => [path, "# Page\n"])));
      await codeHost.createRepository("acme", repo, folder.dir.file(repo));
      const project = {
        ...LOCAL[0],
        repository: folder.dir.file(`host/repositories/acme/${repo}.git`),
        docs,
      };
      folder.change({ ...WITHOUT_PROJECTS, projects: [project] });
      const { stdout } = await folder.run("config", "check");
      return stdout.split("\n").filter((line) => line.includes("docs  pages"));
    };
    expect(await checked("data", ["docs.json", "a.mdx", "b/_meta.json", "modules/ROOT/nav.adoc"])).toEqual([
      "ok     docs  pages: docs covers 2 of 2 pages, made with Mintlify, Nextra, Antora",
    ]);
    expect(
      await checked("code", ["website/sidebars.js", "mkdocs.yml", "docs/.vitepress/config.mts", "a.md"]),
    ).toEqual([
      "ok     docs  pages: docs covers 1 of 1 page, made with MkDocs, Docusaurus, VitePress",
      "warn   docs  pages: Agents may not change this navigation, so new pages don't get into it: " +
        "mkdocs.yml of MkDocs (the build runs it, or what it names); website/sidebars.js of Docusaurus (the build runs " +
        "it, or what it names); docs/.vitepress/config.mts of VitePress (the build runs it, or what it names). " +
        "If they may, add these names to docs.",
    ]);
    expect(
      await checked("others", [
        "docusaurus.config.ts",
        "fern/docs.yml",
        "content/1.a/.navigation.yml",
        "a.md",
      ]),
    ).toEqual([
      "ok     docs  pages: docs covers 1 of 1 page, made with Docusaurus, Fern, Nuxt",
      "warn   docs  pages: Agents may not change this navigation, so new pages don't get into it: " +
        "docusaurus.config.ts of Docusaurus (the build runs it, or what it names); fern/docs.yml of Fern; " +
        "content/1.a/.navigation.yml of Nuxt. If they may, add these names to docs.",
    ]);
    expect(await checked("narrow", ["docs.json", "docs/a.md", "b.md"], ["docs/**"])).toEqual([
      "ok     docs  pages: docs covers 1 of 2 pages, made with Mintlify",
      "warn   docs  pages: Agents may not change this navigation, so new pages don't get into it: docs.json of Mintlify. " +
        "If they may, add these names to docs.",
    ]);
  },
);

it("tries the key that signs commits, and says what is wrong with it", async () => {
  need("openssh-client");
  await using folder = await openFolder({});
  const keyFile = folder.dir.file("signing-key");
  const settle = (commits: object) => {
    const signed = {
      name: "Acme Docs",
      email: "docs@acme.example",
      signingKeyFile: "./signing-key",
      ...commits,
    };
    folder.configure({ ...WITHOUT_PROJECTS, projects: [{ ...LOCAL[0], commits: signed }] });
  };
  settle({});
  const checked = async () => {
    const ran = await folder.run("config", "check");
    return ran.stdout.split("\n").filter((line) => / commits: /.test(line));
  };
  expect(await checked()).toEqual([expect.stringMatching(/^FAULT .*Can't read .*signing-key \(ENOENT\)/)]);
  makeSigningKey(keyFile, "a passphrase");
  expect(await checked()).toEqual([expect.stringMatching(/^FAULT .*has a passphrase\. Remove it with/)]);
  chmodSync(keyFile, 0o644);
  expect(await checked()).toEqual([expect.stringMatching(/^FAULT .*Others .* Run chmod 600 on it\./)]);
  rmSync(keyFile);
  writeFileSync(keyFile, readFileSync(`${keyFile}.pub`));
  expect(await checked()).toEqual([expect.stringMatching(/^FAULT .*isn't a private SSH key/)]);
  rmSync(keyFile);
  rmSync(`${keyFile}.pub`);
  makeSigningKey(keyFile, "");
  settle({ signOff: true });
  const found = "docs  commits: by Acme Docs <docs@acme.example>, signed off, signed";
  expect(await checked()).toEqual([`ok     ${found}`]);
  settle({ name: undefined });
  expect((await folder.run("config", "check")).stderr).toMatch(/signingKeyFile needs name and email/);
});

it("tries the fork that branches are pushed to", { tags: "all" }, async () => {
  await using folder = await openFolder({});
  await using codeHost = await createCodeHost({ dataDir: folder.dir.file("host"), tokens: [TOKEN] });
  await codeHost.createRepository("acme", "docs", folder.dir.file("docs-repository"));
  await codeHost.fork("acme", "docs", "docs-bot");
  await codeHost.createRepository("other", "docs", folder.dir.file("docs-repository"));
  const settings = settingsFor(codeHost.gitUrl("acme", "docs"), codeHost.apiUrl);
  const checked = async (fork: string) => {
    const { projects } = settings as { projects: object[] };
    folder.configure({ ...settings, projects: [{ ...projects[0], pullRequests: { fork } }] });
    return (await folder.run("config", "check")).stdout;
  };
  const good = await checked("docs-bot/docs");
  expect(good).toContain("ok     docs  repository: branch main, and the service may push to docs-bot/docs");
  expect(good).toContain("ok     docs  code host: acme/docs");
  expect(await checked("other/docs")).toMatch(/FAULT .*other\/docs isn't a fork of acme\/docs\. Fork that/);
  expect(await checked("nobody/docs")).toMatch(/FAULT {2}docs {2}repository: There is no such repository/);
});

it("warns of a private repository that agents read for public docs, and of no other", async () => {
  await using folder = await openFolder({});
  await using codeHost = await createCodeHost({ dataDir: folder.dir.file("host"), tokens: [TOKEN] });
  for (const repo of ["docs", "open", "inner", "outer"]) {
    await codeHost.createRepository("acme", repo, folder.dir.file("docs-repository"));
  }
  for (const repo of ["inner", "outer"]) codeHost.rules.privateRepositories.add(`acme/${repo}`);
  const context = ["open", "inner", "outer"].map((name) => ({
    name,
    repository: codeHost.gitUrl("acme", name),
    gitCredentialsEnv: "DOCS_TOKEN",
    ...(name === "outer" && { publish: "allow" }),
  }));
  const repository = codeHost.gitUrl("acme", "docs");
  const codeHostSettings = {
    kind: "github",
    apiUrl: codeHost.apiUrl,
    owner: "acme",
    repo: "docs",
    tokenEnv: "DOCS_TOKEN",
  };
  const agent = { kind: "command", command: ["true"] };
  folder.configure({
    ...WITHOUT_PROJECTS,
    projects: [{ id: "docs", repository, agent, context, codeHost: codeHostSettings }],
  });
  const warnings = async () =>
    (await folder.run("config", "check")).stdout.split("\n").filter((line) => /^warn .* context /.test(line));
  expect(await warnings()).toEqual([
    expect.stringMatching(
      /context inner: inner isn't known to be public, and the docs are\. The requester is asked/,
    ),
    expect.stringMatching(
      /context outer: outer isn't known to be public, and the docs are\. Nobody is asked/,
    ),
  ]);
  codeHost.rules.privateRepositories.add("acme/docs");
  expect(await warnings()).toEqual([]);
});

it("calls the models if it is told to, and says why one can't be used", { tags: "all" }, async () => {
  await using side = await startHttpSide(({ headers, url }, _request, response) =>
    response.writeHead(headers["x-api-key"] !== KEY ? 401 : url.endsWith("/messages") ? 404 : 200).end("{}"),
  );
  await using folder = await openFolder({ opencode: "#!/usr/bin/env node\n" });
  const check = async (agent: object, model: object = {}) => {
    const project = { id: "docs", repository: folder.dir.file("docs"), agent, codeHost: { kind: "none" } };
    const upstream = { name: "up", kind: "anthropic", baseUrl: side.url, keyEnv: "MODEL_KEY", ...model };
    folder.configure({ ...WITHOUT_PROJECTS, models: [upstream], projects: [project] });
    const ran = await folder.run("config", "check", "--call-model");
    expect(ran.stdout + ran.stderr).not.toContain(KEY);
    return lines(ran).find((line) => line.includes("model:"));
  };
  const preset = { preset: "opencode" };
  expect(await check(preset)).toBe("ok     docs  model: up, called");
  expect(await check({ ...preset, model: "claude-9" })).toBe(
    "FAULT  docs  model: up answered 404: The model provider doesn't know the model. It answered 404 for claude-9. Set agent.model to a model it has, or correct baseUrl (models: up).",
  );
  expect(await check(preset, { keyEnv: "BAD_TOKEN" })).toContain(
    "The model provider refused the service's key.",
  );
  await side[Symbol.asyncDispose]();
  expect(await check({ ...preset, model: "claude-9" })).toContain(
    `The model provider can't be reached. Can't reach ${side.url} (ECONNREFUSED).`,
  );
});

it("says what is missing and what to do, for all of it at once, without a secret", async () => {
  await using folder = await openFolder({ "codex-acp": "#!/usr/bin/env no-such-interpreter\n" });
  await using codeHost = await createCodeHost({ dataDir: folder.dir.file("host"), tokens: [TOKEN] });
  await codeHost.createRepository("acme", "docs", folder.dir.file("docs-repository"));
  const host = {
    kind: "github",
    apiUrl: codeHost.apiUrl,
    owner: "acme",
    repo: "docs",
    tokenEnv: "DOCS_TOKEN",
  };
  const repository = codeHost.gitUrl("acme", "docs");
  folder.configure({
    ...WITHOUT_PROJECTS,
    models: [{ name: "anthropic", kind: "anthropic", keyEnv: "MODEL_KEY" }],
    projects: [
      { id: "no-program", repository, agent: { preset: "claude" }, codeHost: host },
      { id: "no-interpreter", repository, agent: { preset: "codex" }, codeHost: host },
      {
        id: "no-branch",
        repository,
        baseBranch: "man",
        context: [{ name: "cli", repository, ref: "v9", gitCredentialsEnv: "DOCS_TOKEN" }],
        agent: { kind: "command", command: ["true"] },
        codeHost: host,
      },
      {
        id: "bad-token",
        repository,
        agent: { kind: "command", command: ["true"] },
        codeHost: { ...host, tokenEnv: "BAD_TOKEN" },
      },
      {
        id: "no-repository",
        repository: repository.replace("docs.git", "dcos.git"),
        agent: { kind: "command", command: ["true"] },
        codeHost: { ...host, repo: "dcos" },
      },
    ],
  });
  const ran = await folder.run("config", "check");
  expect(ran.code).toBe(1);
  const faults = lines(ran).filter((line) => line.startsWith("FAULT"));
  expect(ran.stdout.trimEnd().split("\n").at(-1)).toBe(`Turns can't run yet. Fix ${faults.length} faults.`);
  expect(ran.stderr).toBe("");
  for (const [project, what, said] of [
    ["no-program", "agent", /npm install -g @agentclientprotocol\/claude-agent-acp/],
    ["no-interpreter", "agent", /codex-acp needs no-such-interpreter, which isn't on the PATH/],
    ["no-interpreter", "model", /Add one of kind openai under models/],
    ["no-branch", "repository", /no branch man\. Set baseBranch/],
    [
      "bad-token",
      "repository",
      /: The git server refused the service's credentials\. Check the token's rights/,
    ],
    [
      "bad-token",
      "code host",
      /: The code host refused the service's token\. Set BAD_TOKEN to a valid token\./,
    ],
    ["no-repository", "repository", /no such repository/],
    ["no-repository", "code host", /There is no such repository/],
    ["no-branch", "context cli", /no branch or tag v9\. Set ref/],
    ["no-branch", "admin key", /keys create --project no-branch/],
  ] as const) {
    const line = faults.find((fault) => fault.startsWith(`FAULT  ${project}  ${what}: `));
    expect(line, `${project} ${what}`).toMatch(said);
  }
  expect(faults.some((fault) => fault.includes("no-program  repository"))).toBe(false);
  for (const secret of [TOKEN, "wrong-0123456789", KEY])
    expect(ran.stdout + ran.stderr).not.toContain(secret);
});

it("asks the git server and the code host through the proxy of the environment, and never shows its password", async () => {
  await using folder = await openFolder({});
  await using proxy = await ConnectProxy.start({ login: "ana:secret-of-the-proxy" });
  proxy.mood = { status: 502 };
  folder.configure(settingsFor("https://git.invalid/acme/docs.git", "https://api.invalid"));
  folder.env["HTTP_PROXY"] = proxy.url.replace("//", "//ana:secret-of-the-proxy@");
  const ran = await folder.run("config", "check");
  expect(ran.stdout).toContain("FAULT  docs  repository: ");
  expect(new Set(proxy.asked)).toEqual(new Set(["git.invalid:443", "api.invalid:443"]));
  folder.env["HTTP_PROXY"] = "socks5://ana:secret-of-the-proxy@127.0.0.1";
  const wrong = await folder.run("config", "check");
  expect(wrong.stderr).toContain("HTTP_PROXY must be the http(s) URL of your proxy");
  expect(ran.stdout + ran.stderr + wrong.stdout + wrong.stderr).not.toContain("secret-of-the-proxy");
});

it("finds a branch that leaves no room for those of jobs", async () => {
  await using folder = await openFolder({});
  const repository = folder.dir.file("docs-repository");
  execFileSync("git", ["branch", "docs-agent"], { cwd: repository });
  folder.configure({ ...WITHOUT_PROJECTS, projects: LOCAL });
  expect(lines(await folder.run("config", "check"))).toContainEqual(
    expect.stringMatching(/^FAULT +docs +repository: The branch docs-agent is in the way .*Rename or remove/),
  );
});

it("asks no proxy for what is on this machine, where plain http is allowed", async () => {
  await using folder = await openFolder({});
  await using proxy = await ConnectProxy.start();
  await using codeHost = await createCodeHost({ dataDir: folder.dir.file("host"), tokens: [TOKEN] });
  await codeHost.createRepository("acme", "docs", folder.dir.file("docs-repository"));
  folder.configure(settingsFor(codeHost.gitUrl("acme", "docs"), codeHost.apiUrl));
  folder.env["HTTP_PROXY"] = proxy.url;
  const ran = lines(await folder.run("config", "check"));
  expect(ran).toContain("ok     docs  repository: branch main, and the service may push");
  expect(ran).toContain("ok     docs  code host: acme/docs");
  expect([...proxy.asked, ...proxy.others]).toEqual([]);
});

it("finds that agents can't be held in", async () => {
  await using folder = await openFolder({ bwrap: "" });
  folder.configure({
    dataDir: "./data",
    projects: [
      {
        id: "docs",
        repository: "./docs-repository",
        agent: { kind: "command", command: ["true"] },
        codeHost: { kind: "none" },
      },
    ],
  });
  const tries = folder.dir.file("tries");
  writeFileSync(
    folder.dir.file("bin/bwrap"),
    `#!/bin/sh\necho x >> ${tries}\necho 'No permissions to create new namespace' >&2\nexit 1\n`,
  );
  const ran = await folder.run("config", "check");
  expect(ran.code).toBe(1);
  // Of all that needs it, one asks.
  expect(readFileSync(tries, "utf8")).toBe("x\n");
  expect(lines(ran).filter((line) => line.includes("namespace"))).toHaveLength(1);
  expect(lines(ran).join("\n")).toMatch(
    /FAULT {2}service {2}sandbox: .*No permissions to create new namespace/,
  );
  expect(lines(ran)).toContain("ok     docs  model: none");
});

it("finds what the sandbox doesn't show the agent, and repeats --config in what to do", async () => {
  need("bubblewrap");
  await using folder = await openFolder({ agent: "#!/bin/sh\n" });
  const script = folder.dir.file("agent.mjs");
  writeFileSync(script, "");
  const project = (id: string, agent: object) => ({
    id,
    repository: "./docs-repository",
    agent: { kind: "command", ...agent },
    codeHost: { kind: "none" },
  });
  folder.configure({
    dataDir: "./data",
    projects: [
      project("hidden", { command: ["node", script] }),
      project("shown", { command: ["node", script], readable: [script] }),
      project("program", { command: ["agent", "--quiet"] }),
      project("nope", { command: ["agent"], readable: ["/nope"] }),
    ],
  });
  const ran = await folder.run("--config", "./other.yml", "config", "check");
  expect(ran.stderr).toContain("other.yml");
  renameSync(folder.dir.file("service.yml"), folder.dir.file("other.yml"));
  const { stdout } = await folder.run("--config", "./other.yml", "config", "check");
  const agents = stdout.split("\n").filter((line) => line.includes("  agent: "));
  expect(agents).toEqual([
    `FAULT  hidden  agent: The sandbox doesn't show the agent ${script}. Add it to agent.readable.`,
    expect.stringMatching(/^ok {5}shown {2}agent: \S*node$/),
    `ok     program  agent: ${folder.dir.file("bin/agent")}`,
    "FAULT  nope  agent: There is no /nope. Correct agent.readable.",
  ]);
  expect(stdout).toContain("keys create --project hidden --config ./other.yml");
});

it("looks for the tools of checks, and says how to install what is missing", async () => {
  await using folder = await openFolder({ lint: "#!/bin/sh\n" });
  const mounts = [{ from: folder.dir.file("deps"), at: "site/node_modules" }];
  const site = { name: "site", command: ["node", "node_modules/tool.js"], cwd: "site", mounts };
  const verify = [
    { name: "own", command: ["lint"] },
    { name: "gone", command: ["no-such-lint"] },
    "links",
    site,
  ];
  mkdirSync(folder.dir.file("deps"));
  folder.change({ ...WITHOUT_PROJECTS, projects: [{ ...LOCAL[0], verify }] });
  const { stdout } = await folder.run("config", "check");
  expect(stdout).toMatch(/^ok +docs +check own: .*\/bin\/lint\. It found nothing on main$/m);
  expect(stdout).toMatch(/^FAULT +docs +check gone: There is no program no-such-lint\. .*install it/m);
  expect(stdout).toMatch(
    /^FAULT +docs +check links: There is no .*copy deploy\/docs-checks to \/opt\/docs-checks/m,
  );
  expect(stdout).toMatch(/^FAULT +docs +check site: There is no .*deps\/tool\.js/m);
});

it("runs each check once on the base branch, and shows what it says first", async () => {
  need("bubblewrap");
  await using folder = await openFolder({ mkdocs: "#!/bin/sh\necho ERROR - no plugin nav >&2; exit 1\n" });
  const repository = await repositoryOf({ "docs/a.md": "teh\nteh\n" });
  const find = ["sh", "-c", "grep -rn teh . && exit 1; exit 0"];
  const verify = [
    { name: "clean", command: ["sh", "-c", "grep -rn tteh . && exit 1; exit 0"] },
    { name: "named", command: find, findingsAt: [1] },
    { name: "own", command: find },
    { name: "gone", command: ["sh", "-c", "echo bash: x: command not found; exit 1"] },
    { name: "slow", command: ["sh", "-c", "exec sleep 60"], timeoutSeconds: 2 },
    "mkdocs",
  ];
  folder.change({
    dataDir: "./data",
    containment: "required",
    projects: [{ ...LOCAL[0], repository, verify }],
  });
  const ran = await folder.run("config", "check");
  // Those of the commit that they ran on.
  expect(ran.stdout).toContain("\nok     docs  pages: docs covers 1 of 1 page\n");
  const said = ran.stdout.split("\n").filter((line) => line.includes("  check "));
  expect(said.map((line) => line.replace(/: \/[^ ]*\/(\w+)/, ": $1"))).toEqual([
    "ok     docs  check clean: dash. It found nothing on main",
    "ok     docs  check named: dash. 2 findings on main. It says: ./docs/a.md:teh / ./docs/a.md:teh",
    "ok     docs  check own: dash",
    "warn   docs  check own: It fails on main with exit code 1. If that means that it found something, set findingsAt: [1]. It says: ./docs/a.md:teh / ./docs/a.md:teh",
    expect.stringMatching(
      /^FAULT {2}docs {2}check gone: It can't run on main\. .* It says: bash: x: command not found$/,
    ),
    "FAULT  docs  check slow: On main, it took longer than 2 seconds. Correct the check, or raise its limits.",
    expect.stringMatching(
      /^FAULT {2}docs {2}check mkdocs: It can't run on main\. .*plugins that mkdocs\.yml names\. It says: ERROR - no plugin nav$/,
    ),
  ]);
  expect(ran.stderr).toMatch(/^… {6}docs: running slow on main$/m);
  const skipped = await folder.run("config", "check", "--skip-checks");
  expect(skipped.stdout).toMatch(/^ok {5}docs {2}check own: \/\S+$/m);
  expect(skipped.stderr).toBe("");
});
