import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { loadRunnerSettings } from "../../../src/service/runner/program/settings.ts";
import { RunnerPlace } from "../../support/runner-program.ts";
import { FIXED_TOKEN, openElsewhere } from "../../support/runners-elsewhere.ts";

const TIMEOUT_MS = 240_000;
const TOKEN = `docsagent_runner_${"a1B2".repeat(11)}`;
const GOOD = { RUNNER_SERVICE_URL: "https://jobs.example.com/", RUNNER_TOKEN: TOKEN };

it("says all that is wrong with the settings at once, and shows no token", async () => {
  await using place = await RunnerPlace.open("");
  const secret = "docsagent_a-clients-key-0123456789";
  const { code, stdout, stderr } = await place.run([], {
    RUNNER_SERVICE_URL: "http://jobs.example.com",
    RUNNER_TOKEN: secret,
    RUNNER_PLACES: "0",
    RUNNER_LABELS: "large,Ünusual",
    RUNNER_CONTAINMENT: "require",
    RUNNER_STOP_GRACE_MINUTE: "5",
    RUNNER_DATA_DIR: `/tmp/${"x".repeat(120)}`,
    LOG_LEVEL: "warning",
  });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr.split("\n").filter((line) => line.startsWith("  - "))).toEqual([
    "  - RUNNER_SERVICE_URL must be the job service's address: https://…, or http://… on this machine or a private network.",
    "  - RUNNER_TOKEN has something else. Set it to the token that runners add printed.",
    "  - RUNNER_PLACES must be how many turns run at once, 1 to 100.",
    "  - RUNNER_LABELS must be at most 20 labels, separated by commas, each of at most 40 lower-case letters, digits, '.', '_' or '-'.",
    "  - RUNNER_CONTAINMENT must be required or none. Did you mean required?",
    "  - LOG_LEVEL must be one of debug, info, warn, error. Did you mean warn?",
    "  - RUNNER_STOP_GRACE_MINUTE isn't a setting. Did you mean RUNNER_STOP_GRACE_MINUTES?",
    expect.stringMatching(/^ {2}- RUNNER_DATA_DIR must be a path of at most \d+ bytes/),
  ]);
  expect(stderr).toMatch(/^The runner can't start\. Fix 8 settings:/);
  expect(stderr).not.toContain(secret);
});

it("knows its settings, and names those that it doesn't know", () => {
  const dataDir = "/var/lib/docs-agent-runner";
  expect(
    loadRunnerSettings({
      ...GOOD,
      RUNNER_DATA_DIR: dataDir,
      RUNNER_LABELS: "large, gpu",
      RUNNER_OS: "Linux",
    }),
  ).toEqual({
    serviceUrl: "https://jobs.example.com",
    token: TOKEN,
    dataDir,
    places: 2,
    labels: ["large", "gpu"],
    containment: "required",
    stopGraceMinutes: 1,
    logLevel: "info",
    warnings: ["RUNNER_OS isn't a setting of the runner. Remove it, unless something else needs it."],
  });
});

it.each([
  ["https://jobs.example.com/docs", true],
  ["http://127.0.0.1:4000", true],
  ["http://[::1]:4000", true],
  ["http://localhost:4000", true],
  ["http://10.0.3.4:4000", true],
  ["http://192.168.1.9", true],
  ["http://[fd00::1]:4000", true],
  ["http://docs-agent-service:4000", true],
  ["http://jobs.prod.svc.cluster.local:4000", true],
  ["http://jobs.internal", true],
  ["http://jobs.example.com", false],
  ["http://8.8.8.8", false],
  ["http://169.254.169.254", false],
  ["https://user:secret@jobs.example.com", false],
  ["https://jobs.example.com/?a=1", false],
  ["ftp://jobs.example.com", false],
  ["jobs.example.com", false],
])("sends its token to %s: %s", (url, isAllowed) => {
  const load = () =>
    loadRunnerSettings({ ...GOOD, RUNNER_SERVICE_URL: url, RUNNER_DATA_DIR: "/var/lib/runner" }).serviceUrl;
  if (isAllowed) expect(load()).toBe(url);
  else expect(load).toThrow("RUNNER_SERVICE_URL must be");
});

it("describes itself, and refuses what it doesn't know", async () => {
  await using place = await RunnerPlace.open("");
  const { stdout, code } = await place.run(["--help"]);
  expect(code).toBe(0);
  for (const name of [
    "SERVICE_URL",
    "TOKEN",
    "DATA_DIR",
    "PLACES",
    "LABELS",
    "CONTAINMENT",
    "STOP_GRACE_MINUTES",
  ])
    expect(stdout).toMatch(new RegExp(`^ {2}RUNNER_${name} +\\S`, "m"));
  expect((await place.run(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(await place.run(["--chekc"])).toMatchObject({ code: 2 });
  expect(await place.run(["--json"])).toMatchObject({ code: 2 });
});

it("tries each thing that a runner needs, and says what to do", { timeout: TIMEOUT_MS }, async () => {
  await using world = await openElsewhere();
  const { folder } = world;
  const service = await world.serve();
  const place = await world.addRunner(service, "build-1");
  const { code, ok, findings } = await place.check();
  expect({ code, ok }).toEqual({ code: 1, ok: false });
  const parts = (level: string) =>
    findings.filter((each) => each.level === level).map(({ of, part }) => `${of} ${part}`);
  expect(parts("fault")).toEqual(["runner DOCS_TOKEN (api)"]);
  expect(findings.find(({ part }) => part === "DOCS_TOKEN (api)")).toMatchObject({
    found: "it isn't there, so this runner takes no turns of the project",
    todo: "Set DOCS_TOKEN in the environment or in .env here.",
  });
  expect(parts("ok")).toEqual(
    expect.arrayContaining([
      "machine Node.js",
      "runner RUNNER_DATA_DIR",
      "machine git",
      "machine disk of RUNNER_DATA_DIR",
      "service job service",
      "machine clock (job service)",
      "runner project docs",
      "runner project api",
      "runner models",
    ]),
  );
  expect(parts("warn")).toContain("runner sandbox");
  expect(findings.find(({ part }) => part === "models")?.found).toMatch(/^not tried: /);

  const fine = await place.run(["--check"], { DOCS_TOKEN: FIXED_TOKEN });
  expect(fine.code).toBe(0);
  expect(fine.stdout).toMatch(/^ok {5}runner {2}DOCS_TOKEN \(api\): it is there/m);
  expect(fine.stdout).toMatch(/\nAll is well \(.*\)\.\n$/);
  expect(fine.stdout).not.toContain(FIXED_TOKEN);

  const text = readFileSync(folder.dir.file("service.yml"), "utf8");
  const { projects } = parse(text) as { projects: { id: string }[] };
  folder.change({
    projects: projects.map((each) => (each.id === "api" ? { ...each, runners: { labels: ["gpu"] } } : each)),
  });
  service.signal("SIGTERM");
  await service.exit();
  await world.serve();
  const { code: unmeant, findings: labeled } = await place.check();
  expect(unmeant).toBe(0);
  expect(labeled.find(({ part }) => part === "project api")).toMatchObject({
    level: "warn",
    found: "its turns run only on runners that also have: gpu",
  });

  await folder.run("runners", "remove", "build-1");
  const revoked = await place.check();
  expect(revoked.findings.filter(({ level }) => level === "fault")).toMatchObject([
    {
      part: "job service",
      found: "The job service answered 401. The runner's token isn't known, or was revoked.",
      todo: expect.stringMatching(/^Set RUNNER_TOKEN to what runners add printed/),
    },
  ]);
  const { findings: away } = await place.check({ RUNNER_SERVICE_URL: "http://127.0.0.1:9" });
  expect(away.at(-1)).toMatchObject({
    level: "fault",
    found: "nothing answers there (ECONNREFUSED)",
    todo: "Start the job service, or correct RUNNER_SERVICE_URL.",
  });
});
