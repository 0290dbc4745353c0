import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { PROTOCOL } from "../../../src/service/runner/protocol.ts";
import { APP_KEY_LINE } from "../../support/github-app.ts";
import { need } from "../../support/need.ts";
import { endedBy, PATIENT } from "../../support/patient.ts";
import { RunnerPlace } from "../../support/runner-program.ts";
import { FIXED_TOKEN, MODEL_KEY, openElsewhere } from "../../support/runners-elsewhere.ts";
import { openTempDir } from "../../support/temp-dir.ts";
import { startHttpSide } from "../../support/turn-network.ts";

const TOKEN = `docsagent_runner_${"a1B2".repeat(11)}`;
const TIMEOUT_MS = 240_000;

function textIn(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n");
}

it(
  "runs a request on another machine to a pull request, with none of the service's keys there",
  { timeout: TIMEOUT_MS },
  async () => {
    need("bubblewrap");
    await using world = await openElsewhere();
    const service = await world.serve();
    const place = await world.addRunner(service, "build-1", { RUNNER_CONTAINMENT: "required" });
    const job = await world.ask(service);
    const runner = place.start();
    await runner.wrote(/the runner asks the job service for work/);
    await service.wrote(/"msg":"turn (?:ended|failed)"/);
    expect(await world.shown(job)).toMatch(/turn 1: pull-request/);
    expect(world.codeHost.pullRequests("acme", "docs")).toMatchObject([{ author: "acme-docs-agent[bot]" }]);
    expect(world.model.seen.map(({ headers }) => headers["x-api-key"])).toEqual([MODEL_KEY]);
    const environment = readFileSync(`/proc/${runner.pid}/environ`, "utf8");
    runner.signal("SIGTERM");
    expect(await runner.exit()).toBe(0);
    const minted = world.codeHost.apps.minted.map(({ token }) => token);
    expect(minted.length).toBeGreaterThan(0);
    const [, token = ""] = /^RUNNER_TOKEN=(.+)$/m.exec(readFileSync(place.dir.file(".env"), "utf8")) ?? [];
    const left = textIn(place.dir.file("runner-data"));
    for (const secret of [MODEL_KEY, APP_KEY_LINE, FIXED_TOKEN, ...minted, token])
      expect([runner.stdout, runner.stderr, service.stdout, left].join("\n")).not.toContain(secret);
    for (const secret of [MODEL_KEY, APP_KEY_LINE, FIXED_TOKEN]) expect(environment).not.toContain(secret);
  },
);

it(
  "takes turns of a project with a fixed token only where that token is, and says what is missing",
  { timeout: TIMEOUT_MS },
  async () => {
    await using world = await openElsewhere({ api: ["sh", "-c", "echo More >> docs/index.md"] });
    const service = await world.serve();
    const without = await world.addRunner(service, "without");
    const lacking = without.start();
    await lacking.wrote(/"msg":"this runner takes no turns of a project: it lacks what that needs"/);
    expect(lacking.stdout).toContain('"project":"api","missing":["DOCS_TOKEN (codeHost.tokenEnv)"]');
    const job = await world.ask(service, "api");
    // Its turns of the other project run meanwhile.
    await world.ask(service, "docs");
    await service.wrote(/"msg":"turn (?:ended|failed)"/);
    expect(await world.shown(job)).toMatch(/turn 1: waiting\n/);
    const having = await world.addRunner(service, "with", { DOCS_TOKEN: FIXED_TOKEN });
    const runner = having.start();
    await service.wrote(/"msg":"turn (?:ended|failed)"[^]*"msg":"turn (?:ended|failed)"/);
    expect(await world.shown(job)).toMatch(/turn 1: pull-request/);
    expect(runner.stdout + service.stdout + lacking.stdout).not.toContain(FIXED_TOKEN);
  },
);

/** An agent that works until a file is there. */
const untilThere = (path: string) => [
  "sh",
  "-c",
  `until [ -e ${path} ]; do sleep 0.1; done; echo More >> docs/index.md`,
];

it(
  "gives a turn back when it is stopped, and it runs on another machine without counting",
  { timeout: TIMEOUT_MS, tags: "all" },
  async () => {
    await using dir = await openTempDir();
    await using world = await openElsewhere({ docs: untilThere(dir.file("go")) });
    const service = await world.serve();
    const one = await world.addRunner(service, "one", { RUNNER_STOP_GRACE_MINUTES: "0" });
    const first = one.start();
    const job = await world.ask(service);
    await vi.waitUntil(async () => (await world.shown(job)).includes("the agent is working"), PATIENT);
    first.signal("SIGTERM");
    expect(await first.exit()).toBe(0);
    expect(first.stdout).toMatch(/"msg":"stopping: no more turns are taken"[^]*"msg":"stopped"/);
    const two = await world.addRunner(service, "two");
    two.start();
    writeFileSync(dir.file("go"), "");
    await service.wrote(/"msg":"turn (?:ended|failed)"/);
    const shown = await world.shown(job);
    expect(shown).toMatch(/turn 1: pull-request/);
    expect(shown).not.toContain("attempt 2");
  },
);

it(
  "lets a running turn end within the grace, and takes no further one",
  { timeout: TIMEOUT_MS },
  async () => {
    await using dir = await openTempDir();
    await using world = await openElsewhere({ docs: untilThere(dir.file("go")) });
    const service = await world.serve();
    const place = await world.addRunner(service, "build-1", { RUNNER_STOP_GRACE_MINUTES: "5" });
    const runner = place.start();
    const job = await world.ask(service);
    await vi.waitUntil(async () => (await world.shown(job)).includes("the agent is working"), PATIENT);
    const { stdout: listed } = await world.folder.run("runners");
    expect(listed).toMatch(new RegExp(`^build-1 +runner_\\w+ +ready +1 of 2 +${job} \\(1\\) `, "m"));
    runner.signal("SIGTERM");
    await runner.wrote(/"msg":"stopping: no more turns are taken"/);
    const later = await world.ask(service);
    writeFileSync(dir.file("go"), "");
    expect(await runner.exit()).toBe(0);
    expect(await world.shown(job)).toMatch(/turn 1: pull-request/);
    expect(await world.shown(later)).toMatch(/turn 1: waiting\n/);
  },
);

it(
  "ends at once after a second signal, and the turn waits for another runner",
  { timeout: TIMEOUT_MS },
  async () => {
    await using dir = await openTempDir();
    await using world = await openElsewhere({ docs: untilThere(dir.file("never")) });
    const service = await world.serve();
    const place = await world.addRunner(service, "build-1", { RUNNER_STOP_GRACE_MINUTES: "60" });
    const runner = place.start();
    const job = await world.ask(service);
    await vi.waitUntil(async () => (await world.shown(job)).includes("the agent is working"), PATIENT);
    runner.signal("SIGTERM");
    await runner.wrote(/"msg":"stopping: no more turns are taken"/);
    // Half a second later, because npm sends each signal twice.
    await endedBy(() => runner.signal("SIGTERM"), runner.wrote(/"msg":"stopping at once/));
    expect(await runner.exit()).toBe(0);
    await vi.waitUntil(async () => (await world.shown(job)).includes("turn 1: waiting\n"), PATIENT);
  },
);

it("has its folder alone, and refuses a job service's", { timeout: TIMEOUT_MS }, async () => {
  await using world = await openElsewhere();
  const service = await world.serve();
  const place = await world.addRunner(service, "build-1");
  const runner = place.start();
  await runner.wrote(/the runner asks the job service for work/);
  expect(statSync(place.dir.file("runner-data")).mode & 0o777).toBe(0o700);
  const second = await place.run([]);
  expect(second).toMatchObject({
    code: 1,
    stderr: `Another runner is using ${place.dir.file("runner-data")}. Stop it, or change RUNNER_DATA_DIR.\n`,
  });
  const { stderr } = await place.run([], { RUNNER_DATA_DIR: world.folder.dir.file("data") });
  expect(stderr).toMatch(/is a job service's folder\. Set RUNNER_DATA_DIR to a folder of the runner's own/);
});

it(
  "keeps trying where its token is refused, and says so without showing it",
  { timeout: TIMEOUT_MS },
  async () => {
    await using world = await openElsewhere();
    const service = await world.serve();
    const place = await world.addRunner(service, "build-1");
    await world.folder.run("runners", "remove", "build-1");
    const runner = place.start();
    await runner.wrote(/the job service refuses this runner; trying again/);
    expect(runner.stdout).toContain("The runner's token isn't known, or was revoked.");
    expect(runner.hasExited).toBe(false);
    expect(runner.stdout).not.toMatch(/docsagent_runner_/);
    runner.signal("SIGTERM");
    expect(await runner.exit()).toBe(0);
  },
);

it("says which of the two to upgrade if they don't fit each other", { timeout: TIMEOUT_MS }, async () => {
  for (const [protocol, toUpgrade] of [
    [PROTOCOL - 1, "job service"],
    [PROTOCOL + 1, "runner"],
  ] as const) {
    await using other = await startHttpSide((_seen, _request, response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ protocol })),
    );
    const added = `RUNNER_SERVICE_URL=${other.url}\nRUNNER_TOKEN=${TOKEN}\n`;
    await using place = await RunnerPlace.open(added, { RUNNER_CONTAINMENT: "none" });
    const runner = place.start();
    await runner.wrote(/the job service refuses this runner/);
    const said = `Runner and job service don't fit each other (${PROTOCOL} and ${protocol}). Upgrade the ${toUpgrade}.`;
    expect(runner.stdout).toContain(said);
    // It hasn't asked for work.
    expect(other.seen.map(({ url }) => url)).not.toContain("/runner/claims");
    const { code, findings } = await place.check();
    expect(code).toBe(1);
    expect(findings.filter(({ level }) => level === "fault")).toMatchObject([
      { part: "job service", found: said },
    ]);
  }
});

it(
  "runs its turns again after its process was killed, without a new start",
  { timeout: TIMEOUT_MS, tags: "all" },
  async () => {
    await using dir = await openTempDir();
    await using world = await openElsewhere({ docs: untilThere(dir.file("go")) });
    const service = await world.serve();
    const place = await world.addRunner(service, "build-1");
    const runner = place.start();
    const job = await world.ask(service);
    await vi.waitUntil(async () => (await world.shown(job)).includes("the agent is working"), PATIENT);
    for (const pid of childrenOf(runner.pid)) process.kill(pid, "SIGKILL");
    await runner.wrote(/"msg":"the runner ended: its turns run again"/);
    writeFileSync(dir.file("go"), "");
    await service.wrote(/"msg":"turn (?:ended|failed)"/);
    expect(await world.shown(job)).toMatch(/turn 1: pull-request/);
  },
);

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").trim().split(" "))
    .filter((child) => child !== "")
    .map(Number);
}
