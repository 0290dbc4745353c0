import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { expect, it } from "vitest";
import { listenWith } from "../../src/shared/machine/listen.ts";
import { openDoctorPlace } from "../support/doctor-place.ts";
import { diagnose } from "../support/doctor-process.ts";
import { inWords } from "../support/mistake.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { startHttpSide } from "../support/turn-network.ts";

type Place = Awaited<ReturnType<typeof openDoctorPlace>>;
type Tried = readonly [mistake: string, part: string, told: string | RegExp];

/** What the doctor says of a part, if it isn't right. Other parts are all right, but for a warning. */
async function toldOf({ folder }: Place, part: string, env: Record<string, string> = {}): Promise<string> {
  const { findings } = await diagnose(folder.dir.path, env, "--skip-checks");
  const faults = findings.filter(({ level }) => level === "fault").map((each) => each.part);
  expect(faults.filter((each) => each !== part)).toEqual([]);
  const found = findings.filter((each) => each.part === part && each.level !== "ok");
  return found.map(inWords).join("\n").replaceAll(folder.dir.path, "DIR");
}

const SERVICE = "Job service (project docs)";

it("says why the job service can't be used", async () => {
  const place = await openDoctorPlace();
  await using _ = place.stack;
  place.write({ DOCS_AGENT_API_KEY: "docsagent_of-another-service" });
  expect(await toldOf(place, SERVICE)).toMatch(
    /^The job service refuses the API key\. Set DOCS_AGENT_API_KEY to a key of this project from http:\S+\.$/,
  );
});

it("says why what it tries over the network fails", { tags: "all", timeout: 300_000 }, async () => {
  const place = await openDoctorPlace();
  await using _ = place.stack;
  const { stack, env, slack } = place;
  const answering = (status: number, headers: Record<string, string> = {}) =>
    startHttpSide((_seen, _request, response) => response.writeHead(status, headers).end("<html>"));
  const bad = stack.use(await answering(502));
  const page = stack.use(await answering(200));
  const login = stack.use(await answering(302, { location: "https://login.example.com/" }));
  const own = env["DOCS_AGENT_BASE_URL"] ?? "";
  const busy = await listenWith(() => createServer(), { host: "127.0.0.1", port: 0, remedy: "", graceMs: 0 });
  stack.defer(() => busy.close());
  const rows: readonly (readonly [...Tried, Record<string, string>])[] = [
    [
      "nothing there",
      SERVICE,
      "Nothing answers at http://127.0.0.1:9 (ECONNREFUSED). Start the job service, or correct DOCS_AGENT_BASE_URL.",
      { DOCS_AGENT_BASE_URL: "http://127.0.0.1:9" },
    ],
    [
      "a name that nobody knows",
      SERVICE,
      /^Can't reach http:\/\/service\.invalid: this machine doesn't know the host's name \(\w+\)\. Correct the name/,
      { DOCS_AGENT_BASE_URL: "http://service.invalid" },
    ],
    [
      "TLS where there is none",
      SERVICE,
      /there is no TLS at that port \(\w+\)\. Correct the port, or use the address without TLS\./,
      { DOCS_AGENT_BASE_URL: own.replace("http:", "https:") },
    ],
    [
      "a page",
      SERVICE,
      /answers, but isn't a job service\. Check DOCS_AGENT_BASE_URL\.$/,
      { DOCS_AGENT_BASE_URL: page.url },
    ],
    [
      "a sign-in page",
      SERVICE,
      /redirects elsewhere\. Set DOCS_AGENT_BASE_URL to the address that it leads to\.$/,
      { DOCS_AGENT_BASE_URL: login.url },
    ],
    [
      "a proxy without a service",
      SERVICE,
      /answers 502\. Look at the job service's log, or its proxy's\.$/,
      { DOCS_AGENT_BASE_URL: bad.url },
    ],
    [
      "Slack's address without /api/",
      "Slack",
      /\(http_404\)\. What answers isn't Slack's Web API\. Check SLACK_API_URL, which ends with/,
      { SLACK_API_URL: slack.apiUrl.replace(/api\/$/, "") },
    ],
    [
      "a port that is in use",
      "Port",
      /^Cannot listen on 127\.0\.0\.1 port \d+ \(EADDRINUSE\)\. Put a free one in PORT/,
      { HOST: "127.0.0.1", PORT: new URL(busy.url).port },
    ],
    [
      "an address of another machine",
      "Port",
      /\(EADDRNOTAVAIL\)\. Put a free one in PORT, or an address of this machine in HOST\.$/,
      { HOST: "203.0.113.9", PORT: "3999" },
    ],
    [
      "hours where milliseconds belong",
      "Times",
      "JOB_DEADLINE_MS ends each request after 24 milliseconds, when no agent is done. A day has 86400000.",
      { JOB_DEADLINE_MS: "24" },
    ],
    [
      "a name as contact",
      "Contact",
      /^HELP_CONTACT notifies nobody: Slack shows @anna as plain words\. Set it to <@U012ABCDEF>/,
      { HELP_CONTACT: "@anna" },
    ],
  ];
  for (const [mistake, part, told, change] of rows) {
    place.write(change);
    expect([mistake, await toldOf(place, part)]).toEqual([
      mistake,
      typeof told === "string" ? told : expect.stringMatching(told),
    ]);
  }
  place.write({ SLACK_BOT_TOKEN: place.env["SLACK_BOT_TOKEN"] ?? "" });
  for (const [method, error, told] of [
    ["auth.test", "token_revoked", /was revoked: install the app again, and copy the new token\.$/],
    ["auth.test", "account_inactive", /was removed from the workspace: install it again/],
    [
      "apps.connections.open",
      "missing_scope",
      /SLACK_APP_TOKEN \(missing_scope\)\. Generate an app-level token with the scope connections:write/,
    ],
  ] as const) {
    slack.faults.add({ method, fault: { kind: "error", error } });
    expect([error, await toldOf(place, "Slack")]).toEqual([error, expect.stringMatching(told)]);
  }
});

it("says why Redis can't be used, once", { tags: ["all", "redis-server"] }, async () => {
  const place = await openDoctorPlace();
  await using _ = place.stack;
  await using closed = await startRedisServer({ requirepass: "right-password" });
  await using open = await startRedisServer();
  const rows = [
    ["no password", closed.url, /NOAUTH .*\. Put the password into STORE_URL: redis:\/\/:password@host:6379/],
    [
      "a wrong one",
      closed.url.replace("//", "//:wrong-password@"),
      /WRONGPASS .*\. Correct user and password in STORE_URL/,
    ],
    [
      "TLS where there is none",
      open.url.replace("redis:", "rediss:"),
      /Nothing speaks TLS there\. If this Redis has none, write redis:\/\//,
    ],
    [
      "a database that it lacks",
      `${open.url}/99`,
      /Redis has fewer databases: use a lower number at the end of STORE_URL, or 0\.$/,
    ],
    [
      "a name that nobody knows",
      "redis://redis.invalid:6379",
      /Correct the name, or this machine's DNS\. It is in STORE_URL\.$/,
    ],
  ] as const;
  for (const [mistake, url, told] of rows) {
    place.write({ STORE_URL: url });
    const said = await toldOf(place, "Store");
    expect([mistake, said]).toEqual([mistake, expect.stringMatching(told)]);
    expect(said).not.toMatch(/(?:right|wrong)-password/);
  }
});

it("says why the repository can't be used", { tags: "all" }, async () => {
  const place = await openDoctorPlace();
  await using _ = place.stack;
  const { folder, settings } = place;
  const [project] = settings.projects;
  const withProject = (change: object) =>
    folder.configure({ ...settings, projects: [{ ...project, ...change }] });
  withProject({ docs: ["Documentation/**"] });
  expect(await toldOf(place, "pages (docs)")).toMatch(
    /^docs covers none of the \d pages of the branch\. Correct its globs/,
  );
  withProject({ codeHost: { ...project?.codeHost, apiUrl: "http://127.0.0.1:9" } });
  expect(await toldOf(place, "code host (docs)")).toMatch(
    /^The code host can't be reached\. Check codeHost\.apiUrl, the network, and HTTPS_PROXY if you set it\./,
  );
  withProject({ repository: "https://repository.invalid/acme/docs", codeHost: { kind: "none" } });
  expect(await toldOf(place, "repository (docs)")).toMatch(/^The git server can't be reached\. C/);
  withProject({ baseBranch: "master" });
  expect(await toldOf(place, "repository (docs)")).toBe(
    "The repository has no branch master. Set baseBranch to one it has.",
  );
  folder.configure(settings);
  mkdirSync(folder.dir.file("old"));
  writeFileSync(
    folder.dir.file("old/git"),
    '#!/bin/sh\n[ "$1" = --version ] && exec echo git version 2.25.1\nexec /usr/bin/git "$@"\n',
  );
  chmodSync(folder.dir.file("old/git"), 0o755);
  const PATH = `${folder.dir.file("old")}:${process.env["PATH"]}`;
  expect(await toldOf(place, "git", { PATH })).toBe("git version 2.25.1 Install git 2.38 or newer.");
});
