import { once } from "node:events";
import { get } from "node:http";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type CodeHost, createCodeHost } from "../../world/code-host/index.ts";
import { createGitHubApp } from "../../src/service/cli/github-app.ts";
import { createSystemClock } from "../../src/shared/machine/clock-and-log.ts";
import { docsOn, putDocsOn, TEST_SETTINGS } from "../support/docs-on-code-host.ts";
import { APP_PERMISSIONS, installApp } from "../support/github-app.ts";
import { type Ran, ServiceFolder, type ServiceProcess } from "../support/service-process.ts";

const TOKEN = "github_pat_of_a_person_0123456789";

type Place = { folder: ServiceFolder; codeHost: CodeHost } & AsyncDisposable;

async function openPlace(): Promise<Place> {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await ServiceFolder.open({}, { DOCS_TOKEN: TOKEN }));
  const options = { dataDir: folder.dir.file("host"), tokens: [TOKEN], searchPath: process.env["PATH"] };
  const codeHost = stack.use(await createCodeHost(options));
  await putDocsOn(codeHost, folder);
  return { folder, codeHost, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

function configure({ folder, codeHost }: Place, settings: object, project: object = {}): void {
  folder.configure({
    ...TEST_SETTINGS,
    projects: [
      {
        id: "docs",
        agent: { kind: "command", command: ["sh", "-c", "echo More >> docs/index.md"] },
        ...docsOn(codeHost, settings),
        ...project,
      },
    ],
  });
}

/** The command, waiting for a browser. */
async function startCommand({ folder, codeHost }: Place, ...args: string[]): Promise<ServiceProcess> {
  const command = folder.start("github-app", "--api-url", codeHost.apiUrl, "--name", "Acme Docs", ...args);
  await command.wrote(/Open http\S+/);
  return command;
}

function pageOf({ stdout }: ServiceProcess): string {
  return /Open (http:\S+)/.exec(stdout)?.[1] ?? "";
}

/** Sends the form as a browser does. Where it leads back to. */
async function sendForm(command: ServiceProcess): Promise<URL> {
  const page = await (await fetch(pageOf(command))).text();
  const unescaped = page.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&amp;", "&");
  const [, action = ""] = /action="([^"]+)"/.exec(unescaped) ?? [];
  const [, manifest = ""] = /value="(\{.*\})"/.exec(unescaped) ?? [];
  const body = new URLSearchParams({ manifest });
  const sent = await fetch(action, { method: "POST", body, redirect: "manual" });
  expect(sent.status).toBe(302);
  return new URL(sent.headers.get("location") ?? "");
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function lineOf({ stdout }: Ran, what: string): string {
  return stdout.split("\n").find((line) => line.includes(`docs  ${what}: `)) ?? "";
}

it("makes an App, whose key the service then opens pull requests with and keeps to itself", async () => {
  await using place = await openPlace();
  const { folder, codeHost } = place;
  const command = await startCommand(place, "--org", "acme");
  const back = await sendForm(command);
  // Whoever made this up can't have the command take another App.
  const forged = new URL(back);
  forged.searchParams.set("state", "forged");
  expect((await fetch(forged)).status).toBe(400);
  const [elsewhere] = await once(get(pageOf(command), { headers: { host: "evil.example" } }), "response");
  expect(elsewhere).toMatchObject({ statusCode: 403 });
  expect(await (await fetch(back)).text()).toContain("Go back to where you began");
  await command.wrote(/Install it, on the docs repository only: .*\/apps\/acme-docs\/installations\/new/);
  const [made] = codeHost.apps.all.values();
  made?.installations.push({
    id: 77,
    account: "acme",
    repositories: ["docs"],
    permissions: APP_PERMISSIONS,
  });
  expect(await command.exit()).toBe(0);
  const keyFile = folder.dir.file("docs-agent-app.pem");
  const settings = `app: { id: ${made?.id}, keyFile: ${JSON.stringify(keyFile)}, installationId: 77 }`;
  expect(command.stdout).toContain(settings);
  expect(codeHost.apps.manifests).toMatchObject([
    {
      name: "Acme Docs",
      public: false,
      hook_attributes: { active: false },
      default_permissions: APP_PERMISSIONS,
      default_events: [],
    },
  ]);
  expect(statSync(keyFile).mode & 0o777).toBe(0o600);
  const key = readFileSync(keyFile, "utf8");
  const keyLine = key.split("\n")[5] ?? "";
  expect(key).toContain("PRIVATE KEY");
  expect(command.stdout + command.stderr).not.toContain(keyLine);

  configure(place, { app: { id: made?.id, keyFile: "./docs-agent-app.pem", installationId: 77 } });
  const { stdout: apiKey } = await folder.run("keys", "create", "--project", "docs");
  const checked = await folder.run("config", "check");
  expect(checked).toMatchObject({ code: 0, stderr: "" });
  expect(lineOf(checked, "app key")).toBe(`ok     docs  app key: ${keyFile}`);
  expect(lineOf(checked, "repository")).toBe(
    "ok     docs  repository: branch main, and the service may push",
  );
  expect(lineOf(checked, "code host")).toBe(`ok     docs  code host: acme/docs, as App ${made?.id}`);
  const service = await folder.serve();
  const job = `${service.url}/v2/agent/docs/job`;
  const headers = { authorization: `Bearer ${apiKey.trim()}`, "content-type": "application/json" };
  await fetch(job, { method: "POST", headers, body: JSON.stringify({ prompt: "Say more" }) });
  await service.wrote(/"msg":"turn (?:ended|failed)"/);
  expect(codeHost.pullRequests("acme", "docs")).toMatchObject([{ author: "acme-docs[bot]" }]);
  service.signal("SIGTERM");
  await service.exit();
  const written = filesIn(folder.dir.path)
    .filter((file) => file !== keyFile)
    .map((file) => readFileSync(file, "latin1"));
  const everything = [...written, service.stdout, service.stderr, checked.stdout].join("\n");
  expect(codeHost.apps.minted.length).toBeGreaterThan(0);
  for (const { token } of codeHost.apps.minted) expect(everything).not.toContain(token);
  expect(everything).not.toContain(keyLine);
});

it("asks for events where the service has a public address, and keeps the webhook's secret", async () => {
  await using place = await openPlace();
  const { folder, codeHost } = place;
  const webhookUrl = "https://docs-agent.example/webhooks/docs";
  const command = await startCommand(place, "--key-file", "./key.pem", "--webhook-url", webhookUrl);
  await fetch(await sendForm(command));
  await command.wrote(/Install it/);
  expect(codeHost.apps.manifests).toMatchObject([{ hook_attributes: { url: webhookUrl, active: true } }]);
  expect(codeHost.apps.manifests[0]?.default_events).toContain("pull_request_review");
  const secretFile = folder.dir.file("key.webhook-secret");
  expect(command.stdout).toContain(secretFile);
  expect(statSync(secretFile).mode & 0o777).toBe(0o600);
  expect(command.stdout).not.toContain(readFileSync(secretFile, "utf8").trim());
  // Nobody installs it: what is known is there.
  command.signal("SIGINT");
  expect(await command.exit()).toBe("SIGINT");
  const again = await folder.run("github-app", "--key-file", "./key.pem");
  expect(again.code).toBe(1);
  expect(again.stderr).toMatch(/key\.pem is there already\. Move it, or set --key-file/);
});

it("says what to do where nobody comes, GitHub refuses, or an option is wrong", async () => {
  await using place = await openPlace();
  const { folder, codeHost } = place;
  expect((await folder.run("github-app", "--help")).stdout).toMatch(/--org <name>[^]*--api-url/);
  expect((await folder.run("github-app", "--api-url", "http://github.example")).stderr).toMatch(
    /must be an https URL/,
  );
  const late = createGitHubApp({
    name: "Acme Docs",
    keyFile: folder.dir.file("late.pem"),
    apiUrl: codeHost.apiUrl,
    timeLimitMs: 1,
    clock: createSystemClock(),
    write() {},
  });
  await expect(late).rejects.toThrow(/^Nobody created the App in time/);
  codeHost.traffic.fault = (request) =>
    request.includes("/conversions") ? { kind: "http", status: 404 } : undefined;
  const command = await startCommand(place);
  await fetch(await sendForm(command));
  expect(await command.exit()).toBe(1);
  expect(command.stderr).toMatch(/GitHub answered 404 for the new App\. Run the command again\./);
  expect(readdirSync(folder.dir.path).filter((name) => name.endsWith(".pem"))).toEqual([]);
});

it("names each permission that an App lacks, and whose the key is", async () => {
  await using place = await openPlace();
  const { folder, codeHost } = place;
  const keyFile = folder.dir.file("app.pem");
  const { settings, installation } = installApp(codeHost, keyFile);
  configure(place, settings);
  chmodSync(keyFile, 0o644);
  installation.permissions["checks"] = "";
  delete installation.permissions["statuses"];
  installation.permissions["contents"] = "read";
  installation.repositories = ["other"];
  const ran = await folder.run("config", "check");
  expect(ran.code).toBe(1);
  expect(ran.stdout).toMatch(/^warn {3}docs {2}app key: Everybody on this machine can read .*chmod 600/m);
  const line = lineOf(ran, "code host");
  expect(line).toMatch(/^FAULT.*App 12 lacks permissions: contents: write, checks: read, statuses: read\./);
  expect(line).toContain("The service's App isn't installed on the repository.");
  configure(place, { ...settings, app: { ...settings.app, keyFile: "./nope.pem" } });
  const withoutKey = await folder.run("config", "check");
  expect(lineOf(withoutKey, "app key")).toMatch(/^FAULT.*There is no .*nope\.pem/);
  // Git and the code host need the key, too.
  expect(withoutKey.stdout.match(/nope\.pem/g)).toHaveLength(1);
});

it("says what an App that may not read deployments doesn't bring", async () => {
  await using place = await openPlace();
  const { folder, codeHost } = place;
  const { settings, installation } = installApp(codeHost, folder.dir.file("app.pem"));
  configure(place, settings, { previewHosts: ["preview.example.com"], liveUrl: "https://a.com/{docs/path}" });
  const ran = await folder.run("config", "check");
  expect(ran.stdout).toMatch(
    /^warn .*code host: App 12 can't read deployments, so results have no preview\./m,
  );
  expect(lineOf(ran, "liveUrl")).toContain("docs/guides/install.md is at https://a.com/guides/install");
  installation.permissions["deployments"] = "read";
  expect((await folder.run("config", "check")).stdout).not.toContain("deployments");
});

it(
  "asks for an App's token and its name once for all projects, and keeps them from what tools say",
  { tags: "all" },
  async () => {
    await using place = await openPlace();
    const { folder, codeHost } = place;
    const { settings } = installApp(codeHost, folder.dir.file("app.pem"));
    const tokenFile = folder.dir.file("token");
    // Only somebody who knows the token recognizes it like this.
    codeHost.traffic.fault = () => {
      const [minted] = codeHost.apps.minted;
      writeFileSync(tokenFile, Buffer.from(minted?.token ?? "").toString("base64"));
      return undefined;
    };
    const tells = ["sh", "-c", 'echo "a.md: $(cat "$1")"; exit 1', "sh", tokenFile];
    const project = {
      repository: codeHost.gitUrl("acme", "docs"),
      agent: { kind: "command", command: ["true"] },
      codeHost: settings,
      verify: [{ name: "tells", command: tells, findingsAt: [1] }],
    };
    folder.change({
      dataDir: "./data",
      containment: "none",
      projects: [
        { id: "docs", ...project },
        { id: "more", ...project },
      ],
    });
    const { stdout } = await folder.run("config", "check");
    expect(stdout.match(/check tells: .* 1 finding on main\. It says: a\.md: .*/g)).toEqual([
      expect.stringMatching(/: a\.md: \[secret\]$/),
      expect.stringMatching(/: a\.md: \[secret\]$/),
    ]);
    expect(stdout.match(/commits: by acme-docs-agent\[bot\]/g)).toHaveLength(2);
    expect(codeHost.apps.minted).toHaveLength(1);
    expect(codeHost.traffic.requests.filter((request) => request === "GET /api/v3/app")).toHaveLength(1);
  },
);

it("recommends an App beside a token, and says what a token lacks", { tags: "nightly" }, async () => {
  await using place = await openPlace();
  const { folder, codeHost } = place;
  configure(place, { tokenEnv: "DOCS_TOKEN" });
  const fineGrained = await folder.run("config", "check");
  expect(fineGrained.stdout).toMatch(
    /^warn {3}docs {2}code host: A fine-grained token can't read check runs, .*“checks unknown”\..*github-app$/m,
  );
  folder.env["DOCS_TOKEN"] = "ghp_0123456789012345678901234567890123";
  codeHost.tokens.add(folder.env["DOCS_TOKEN"] ?? "");
  let scopes = "read:user, gist";
  const repository = JSON.stringify({ private: true });
  codeHost.traffic.fault = (request) =>
    request === "GET /api/v3/repos/acme/docs"
      ? {
          kind: "http",
          status: 200,
          headers: { "content-type": "application/json", "x-oauth-scopes": scopes },
          body: repository,
        }
      : undefined;
  expect(lineOf(await folder.run("config", "check"), "code host")).toBe(
    "FAULT  docs  code host: The token in DOCS_TOKEN lacks the scope repo. Add it to the token.",
  );
  scopes = "repo, gist";
  const classic = await folder.run("config", "check");
  expect(classic.stdout).toMatch(/^ok {5}docs {2}code host: acme\/docs$/m);
  expect(classic.stdout).toMatch(/^warn {3}docs {2}code host: The token in DOCS_TOKEN may do .*github-app$/m);
});
