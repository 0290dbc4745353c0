import { writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ownManifest } from "../../src/app/slack/manifest/own-manifest.ts";
import type { DoctorFinding } from "../../src/service/cli/finding.ts";
import { DOCTOR_TOKEN, openDoctorPlace } from "../support/doctor-place.ts";
import { diagnose, runDoctor } from "../support/doctor-process.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { openTempDir } from "../support/temp-dir.ts";
import { APP_TOKEN, BOT_TOKEN, DOCS, RANDOM, SECRETS, startSlackSide } from "../support/world.ts";

function partsAt(level: DoctorFinding["level"], findings: readonly DoctorFinding[]): string[] {
  return findings.filter((each) => each.level === level).map(({ of, part }) => `${of} ${part}`);
}

it("tries both programs, says what it tried, and shows no secret", async () => {
  const { stack, folder, key } = await openDoctorPlace();
  await using _ = stack;
  const { ok, findings, code } = await diagnose(folder.dir.path, {});
  expect(partsAt("fault", findings)).toEqual([]);
  expect({ ok, code }).toEqual({ ok: true, code: 0 });
  expect(partsAt("ok", findings)).toEqual([
    "machine Node.js",
    "app Slack",
    "app Scopes",
    "app Socket Mode",
    "app Store",
    "app Port",
    "app Job service (project docs)",
    "machine disk of the store",
    "machine git",
    "service dataDir",
    "service agent (docs)",
    "service model (docs)",
    "service repository (docs)",
    "service pages (docs)",
    "service code host (docs)",
    "service commits (docs)",
    "service admin key (docs)",
    "machine disk of dataDir",
    "both versions",
    "both project docs",
    "machine clock (Slack)",
    "machine clock (code host)",
  ]);
  expect(findings.find(({ part }) => part === "versions")?.found).toMatch(
    /level 3, and the job service level 3$/,
  );
  const { stdout, code: inWords } = await runDoctor(folder.dir.path, {});
  expect(inWords).toBe(0);
  expect(stdout).toMatch(/^ok {5}app {2}Slack: the app is .+ \(tried: asked Slack who the app is\)$/m);
  expect(stdout).toMatch(/\nAll is well(?: \(\w+ warnings?\))?\.\n$/);
  for (const secret of [...SECRETS, DOCTOR_TOKEN, key])
    expect(stdout + JSON.stringify(findings)).not.toContain(secret);
});

it("names runners on other machines, with how they stand", { tags: "all" }, async () => {
  const { stack, folder } = await openDoctorPlace();
  await using _ = stack;
  await folder.run("runners", "add", "build-1", "--project", "docs");
  const { findings } = await diagnose(folder.dir.path, {});
  const found = findings.filter(({ of, part }) => of === "service" && part.startsWith("runners"));
  expect(found.map((each) => [each.part, each.level, each.found])).toEqual([
    ["runners", "ok", "the service's own (4 turns at once), build-1 (never seen)"],
    ["runners (docs)", "ok", "the service's own, build-1 (never seen)"],
    ["runners elsewhere (docs)", "ok", "Each needs on its own machine: DOCS_TOKEN (codeHost.tokenEnv)"],
  ]);
});

it("says of each fault what to do, and fails", async () => {
  const { stack, folder, settings, slack, write } = await openDoctorPlace();
  await using _ = stack;
  write({ SLACK_BOT_TOKEN: "xoxb-wrong", DOCS_AGENT_PROJECT_ID: "nope", METRICS_ADDRESS: "127.0.0.1:9464" });
  const [project] = settings.projects;
  folder.configure({
    ...settings,
    projects: [{ ...project, agent: { kind: "command", command: ["no-such"] } }],
  });
  const { ok, findings, code } = await diagnose(folder.dir.path, {});
  expect({ ok, code }).toEqual({ ok: false, code: 1 });
  expect(findings.filter(({ level }) => level === "fault")).toEqual([
    expect.objectContaining({
      part: "Slack",
      found: "Slack refuses SLACK_BOT_TOKEN (invalid_auth).",
      todo: expect.stringMatching(/^Copy it again/),
    }),
    expect.objectContaining({ part: "Job service (project nope)", todo: expect.stringMatching(/^Correct /) }),
    expect.objectContaining({ part: "agent (docs)", todo: "Install it, or correct agent.command." }),
    expect.objectContaining({ part: "project nope", todo: "Correct the project's id in .env." }),
    expect.objectContaining({ part: "metrics", todo: expect.stringMatching(/metrics\.address/) }),
  ]);
  const { stdout } = await runDoctor(folder.dir.path, {});
  expect(stdout).toContain(
    "\nFAULT  app  Slack: Slack refuses SLACK_BOT_TOKEN (invalid_auth).\n       tried: asked Slack",
  );
  expect(stdout).toMatch(/\n {7}to do: Copy it again [^\n]+\n/);
  expect(stdout).toMatch(/\nFix 5 faults[^\n]*\.\n$/);
  expect(slack.calls.map(({ method }) => method)).not.toContain("chat.postMessage");
});

it("runs where only one program's settings are, and says if there are none", async () => {
  const { stack, folder } = await openDoctorPlace();
  await using _ = stack;
  await using elsewhere = await openTempDir();
  const none = await diagnose(elsewhere.path, {});
  expect(none).toMatchObject({ ok: false, code: 1, findings: [{ part: "settings", level: "fault" }] });
  const ofApp = await diagnose(elsewhere.path, {}, "--env", folder.dir.file(".env"));
  expect(ofApp.ok).toBe(true);
  expect(new Set(ofApp.findings.map(({ of }) => of))).toEqual(new Set(["app", "machine", "both"]));
  const env = { DOCS_TOKEN: DOCTOR_TOKEN };
  const ofService = await diagnose(elsewhere.path, env, "--config", folder.dir.file("service.yml"));
  expect(ofService.ok).toBe(true);
  expect(new Set(ofService.findings.map(({ of }) => of))).toEqual(new Set(["service", "machine"]));
  expect(await runDoctor(elsewhere.path, {}, "--env", "nowhere")).toMatchObject({
    code: 1,
    stderr: "There is no nowhere. Correct --env.\n",
  });
  expect((await runDoctor(elsewhere.path, {}, "--jsn")).code).toBe(2);
});

it("looks for no sandbox if the service has no runner of its own, and says who runs turns", async () => {
  const { stack, folder } = await openDoctorPlace();
  await using _ = stack;
  await using elsewhere = await openTempDir();
  const env = { DOCS_TOKEN: DOCTOR_TOKEN };
  folder.change({ jobsAtOnce: 0, containment: "required" });
  const alone = await diagnose(elsewhere.path, env, "--config", folder.dir.file("service.yml"));
  expect(alone.findings.filter(({ level }) => level === "fault")).toMatchObject([
    { part: "runners", found: expect.stringContaining("Nobody runs turns") as string },
  ]);
  await folder.run("runners", "add", "build-1", "--all-projects");
  const { ok, findings } = await diagnose(elsewhere.path, env, "--config", folder.dir.file("service.yml"));
  expect(ok).toBe(true);
  expect(findings.map(({ part }) => part)).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/^(?:bwrap|prlimit|sandbox|agent|user)/)]),
  );
  expect(findings.find(({ part }) => part === "runners")).toMatchObject({
    tried: "asked the service which there are",
    found: "build-1 (never seen)",
  });
});

it("lists every fault of both settings files", { tags: "all" }, async () => {
  await using dir = await openTempDir();
  writeFileSync(dir.file(".env"), `SLACK_BOT_TOKEN=${BOT_TOKEN}\nPORT=high\n`);
  writeFileSync(dir.file("service.yml"), "dataDir: ./data\nprojects: []\nport: 1\n");
  const { findings } = await diagnose(dir.path, {});
  const told = findings.filter(({ part }) => part === "settings").map(({ found }) => found);
  expect(told).toEqual(
    expect.arrayContaining([
      "SLACK_SIGNING_SECRET is missing.",
      "PORT must be a port number, 0 to 65535.",
      expect.stringMatching(/^port isn't a setting/),
    ]),
  );
});

it("tells a clock by which signatures would be refused", { tags: "all" }, async () => {
  const { stack, folder, write } = await openDoctorPlace();
  await using _ = stack;
  await using late = await startSlackSide({ now: () => Date.now() - 6 * 60_000 });
  write({ SLACK_API_URL: late.apiUrl });
  const { ok, findings } = await diagnose(folder.dir.path, {});
  expect(ok).toBe(false);
  expect(findings.filter(({ level }) => level === "fault")).toEqual([
    expect.objectContaining({
      part: "clock (Slack)",
      found: expect.stringMatching(/differs by 3(?:59|60|61) s$/),
    }),
  ]);
});

it("says how Redis keeps what is in it", { tags: ["all", "redis-server"] }, async () => {
  const { stack, folder, write } = await openDoctorPlace();
  await using _ = stack;
  await using redis = await startRedisServer({ "maxmemory-policy": "allkeys-lru" });
  const port = new URL(redis.url).port;
  await using standby = await startRedisServer({
    replicaof: `127.0.0.1 ${port}`,
    "repl-diskless-sync-delay": "0",
  });
  const of = async (url: string) => {
    write({ STORE_URL: url });
    const { findings } = await diagnose(folder.dir.path, {});
    return Object.fromEntries(
      findings.filter(({ part }) => part.startsWith("Redis")).map((each) => [each.part, each]),
    );
  };
  const ofPrimary = await of(redis.url);
  expect(ofPrimary["Redis memory"]).toMatchObject({
    level: "fault",
    todo: "Set maxmemory-policy to noeviction.",
  });
  expect(ofPrimary["Redis disk"]).toMatchObject({
    level: "warn",
    todo: "Set appendonly to yes and appendfsync to always.",
  });
  expect(ofPrimary["Redis standbys"]).toMatchObject({ level: "warn", todo: "Set ?standbys=1 in STORE_URL." });
  expect((await of(`${redis.url}?standbys=1`))["Redis standbys"]).toMatchObject({
    level: "ok",
    found: "1 follow it, and what is accepted waits for 1 of them",
  });
  expect((await of(standby.url))["Redis standbys"]).toMatchObject({
    level: "fault",
    found: "it is a standby",
  });
});

it("compares the manifest that Slack has with this version's", async () => {
  const { stack, folder, write } = await openDoctorPlace();
  await using _ = stack;
  const appId = APP_TOKEN.split("-")[2] ?? "";
  const own = structuredClone(await ownManifest({ kind: "socket" })) as {
    oauth_config: { scopes: { bot: string[] } };
  };
  const old = structuredClone(own);
  old.oauth_config.scopes.bot = old.oauth_config.scopes.bot.filter((scope) => scope !== "reactions:write");
  const overHttp = await ownManifest({ kind: "http", host: "docs.acme.com" });
  const manifests = { [appId]: own, A0OLD: old, A0HTTP: { ...overHttp } };
  await using slack = await startSlackSide({ configToken: "xoxe.xoxp-1-config", manifests });
  write({ SLACK_API_URL: slack.apiUrl });
  const told = async (token: string, ...args: string[]) => {
    const { findings } = await diagnose(
      folder.dir.path,
      { SLACK_CONFIG_TOKEN: token },
      "--skip-checks",
      ...args,
    );
    expect(JSON.stringify(findings)).not.toContain(token);
    return findings.filter(({ part }) => part === "manifest");
  };
  const right = "xoxe.xoxp-1-config";
  expect(await told(right)).toEqual([expect.objectContaining({ level: "ok" })]);
  expect(await told(right, "--app-id", "A0OLD")).toEqual([
    expect.objectContaining({
      level: "warn",
      found: "Slack's lacks something: oauth_config.scopes.bot without reactions:write",
      todo: expect.stringContaining("--update-manifest"),
    }),
  ]);
  expect(await told(right, "--app-id", "A0HTTP")).toEqual([
    expect.objectContaining({ level: "fault", found: expect.stringContaining("uses HTTP") }),
    expect.objectContaining({ level: "ok" }),
  ]);
  expect(await told("xoxe.xoxp-1-expired")).toEqual([
    expect.objectContaining({
      level: "warn",
      found: "Slack refuses (invalid_auth).",
      todo: expect.any(String),
    }),
  ]);
});

it("tries the real thing once in a channel and on a branch, and leaves nothing open", async () => {
  const { stack, folder, slack, codeHost } = await openDoctorPlace();
  await using _ = stack;
  const live = async (...args: string[]) => {
    const { ok, findings } = await diagnose(folder.dir.path, {}, "--live", ...args);
    return {
      ok,
      told: findings.filter(({ of }) => of === "live").map(({ level, found }) => `${level} ${found}`),
    };
  };
  const { ok, told } = await live("--channel", DOCS, "--branch", "docs-agent/doctor");
  expect(told).toEqual([
    "ok it can post",
    "ok it can edit",
    "ok it can react",
    "ok it can take the reaction back",
    "ok it can delete",
    expect.stringMatching(/^ok http\S+\/acme\/docs\/pulls?\/1$/),
    "ok it ended without a change",
  ]);
  expect(ok).toBe(true);
  expect(slack.messages(DOCS)).toEqual([]);
  const pulls = await fetch(`${codeHost.apiUrl}/repos/acme/docs/pulls?state=all`);
  expect(await pulls.json()).toMatchObject([{ number: 1, state: "closed", draft: true }]);
  const branches = `${codeHost.apiUrl}/repos/acme/docs/branches`;
  expect((await fetch(`${branches}/docs-agent%2Fdoctor`)).status).toBe(404);
  expect((await fetch(`${branches}/main`)).status).toBe(200);
  const refused = await live("--channel", RANDOM, "--branch", "main");
  expect(refused.told.slice(0, 2)).toEqual([
    "fault The app can't post (not_in_channel).",
    "fault There is a branch main already.",
  ]);
  expect(refused.ok).toBe(false);
  const { code, stderr } = await runDoctor(folder.dir.path, {}, "--live", "--channel", DOCS);
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("--channel and --branch"),
  });
});
