import { expect, it, vi } from "vitest";
import { RunnerLostError } from "../../src/service/runner/runner.ts";
import { TransientRunError } from "../../src/service/base/run-error.ts";
import { makeServiceProject } from "../support/service-project.ts";
import { ServiceUnderTest } from "../support/service-under-test.ts";
import { resultNamed, type ScriptedRun, ScriptedRunner, SUMMARY } from "../support/scripted-runner.ts";
import { PATIENT } from "../support/patient.ts";

const JOBS = "/v2/agent/docs/job";
const DAY_MS = 24 * 60 * 60_000;

async function create(subject: ServiceUnderTest, prompt = "Fix"): Promise<string> {
  const response = await subject.ask(JOBS, { body: { prompt } });
  return ((await response.json()) as { id: string }).id;
}

async function send(subject: ServiceUnderTest, id: string, prompt: string): Promise<void> {
  const response = await subject.ask(`${JOBS}/${id}/message`, { body: { prompt } });
  expect(response.status).toBe(200);
}

async function statusOf(subject: ServiceUnderTest, id: string): Promise<string> {
  return ((await (await subject.ask(`${JOBS}/${id}`)).json()) as { status: string }).status;
}

it("gives the runner the job's id, project and prompt", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject, "Fix the FAQ");
  const { input } = await subject.runner.run(1);
  expect(input).toMatchObject({
    jobId: id,
    prompt: "Fix the FAQ",
    earlierTurns: [],
    project: subject.projects[0],
  });
});

it("runs the turns of a job one after the other, in order, each knowing the earlier ones", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject, "one");
  await send(subject, id, "two");
  await send(subject, id, "three");
  (await subject.runner.run(1)).end(resultNamed(id, "pull-request"));
  const second = await subject.runner.run(2);
  expect(second.input).toMatchObject({ prompt: "two", earlierTurns: [{ prompt: "one", summary: SUMMARY }] });
  expect(await statusOf(subject, id)).toBe("active");
  second.end(resultNamed(id, "failed"));
  const third = await subject.runner.run(3);
  expect(third.input.earlierTurns).toEqual([
    { kind: "message", prompt: "one", words: null, authors: null, summary: SUMMARY, outcome: "pull-request" },
    { kind: "message", prompt: "two", words: null, authors: null, summary: null, outcome: "failed" },
  ]);
  third.end(resultNamed(id, "no-changes"));
  await subject.service.queue.idle();
  expect(subject.runner.runs).toHaveLength(3);
  expect(await statusOf(subject, id)).toBe("completed");
});

it("hands an earlier prompt to the runner whole, because its end may quote somebody", async () => {
  await using subject = await ServiceUnderTest.start();
  const prompt = `${"x".repeat(64 * 1024 - 4)} end`;
  const id = await create(subject, prompt);
  const first = await subject.runner.run(1);
  await send(subject, id, "two");
  first.end(resultNamed(id, "no-changes"));
  const { input } = await subject.runner.run(2);
  expect(input.earlierTurns.map((turn) => turn.prompt === prompt)).toEqual([true]);
});

it("reads all of a long job's turns for the next one", { tags: "nightly" }, async () => {
  const limits = { createsPerHour: 100, messagesPerHour: 1000, jobsAtOnce: 2, queued: 1000 };
  await using subject = await ServiceUnderTest.start({ projects: [makeServiceProject({ limits })] });
  const id = await create(subject, "0");
  for (let n = 1; n <= 150; n += 1) {
    const { input, end } = await subject.runner.run(n);
    if (n < 150) await send(subject, id, `${n} ${"x".repeat(20_000)}`);
    for (let line = 0; line < 3; line += 1) input.report({ lines: ["y".repeat(400)] });
    end(resultNamed(id, "no-changes"));
  }
  await subject.service.queue.idle();
  const { input } = await subject.runner.run(150);
  expect(input.number).toBe(150);
  expect(input.earlierTurns).toHaveLength(149);
  expect(input.earlierTurns.at(-1)?.prompt.slice(0, 4)).toBe("148 ");
});

it("loses no message that comes while a turn ends", async () => {
  await using subject = await ServiceUnderTest.start({
    projects: [
      makeServiceProject({
        limits: { createsPerHour: 100, messagesPerHour: 1000, jobsAtOnce: 2, queued: 1000 },
      }),
    ],
  });
  const id = await create(subject, "0");
  for (let n = 1; n <= 30; n += 1) {
    const run = await subject.runner.run(n);
    const sending = send(subject, id, String(n));
    run.end(resultNamed(id, "no-changes"));
    await sending;
    expect(await statusOf(subject, id)).toBe("active");
  }
  expect(subject.runner.runs.map(({ input }) => input.prompt)).toEqual(
    Array.from({ length: subject.runner.runs.length }, (_, n) => String(n)),
  );
  expect(subject.store.turns(id)).toHaveLength(31);
});

it("tries again what failed for now, later each time, and keeps the reason when it gives up", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  const waits = [];
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    (await subject.runner.run(attempt)).fail(new Error(`the git server answered 503 (${attempt})`));
    await subject.service.queue.idle();
    const dueAt = subject.db
      .prepare("SELECT due_at FROM tasks WHERE type = 'run-job' AND state = 'waiting'")
      .get();
    if (dueAt === undefined) break;
    expect(await statusOf(subject, id)).toBe("active");
    expect(subject.store.turns(id)[0]?.reason).toBe(`the git server answered 503 (${attempt})`);
    const wait = Number(dueAt["due_at"]) - subject.clock.now();
    waits.push(wait / 1000);
    subject.clock.advance(wait);
  }
  expect(waits).toEqual([15, 60, 240, 900]);
  expect(await statusOf(subject, id)).toBe("failed");
  expect(subject.store.turns(id)[0]?.reason).toBe(
    "the git server answered 503 (5) Gave up after 5 attempts.",
  );
  expect(subject.logger.text("error")).toContain("the git server answered 503 (5)");
});

it("waits as long as a transient error says", async () => {
  await using subject = await ServiceUnderTest.start();
  await create(subject);
  const error = new TransientRunError("rate limit of the code host", { retryAfterMs: 1_800_000 });
  (await subject.runner.run(1)).fail(error);
  await subject.service.queue.idle();
  subject.clock.advance(1_799_999);
  await subject.service.queue.idle();
  expect(subject.runner.runs).toHaveLength(1);
  subject.clock.advance(1);
  await subject.runner.run(2);
});

it("does not try again sooner because a message comes, and runs the turns in order then", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject, "one");
  const error = new TransientRunError("rate limit of the code host", { retryAfterMs: 1_800_000 });
  (await subject.runner.run(1)).fail(error);
  await subject.service.queue.idle();
  await send(subject, id, "two");
  await subject.service.queue.idle();
  subject.clock.advance(1_799_999);
  await subject.service.queue.idle();
  expect(subject.runner.runs).toHaveLength(1);
  subject.clock.advance(1);
  for (const run of [2, 3]) (await subject.runner.run(run)).end(resultNamed(id, "no-changes"));
  await subject.service.queue.idle();
  expect(subject.runner.runs.map(({ input }) => input.prompt)).toEqual(["one", "one", "two"]);
  expect(await statusOf(subject, id)).toBe("completed");
});

it("waits that long also across a restart", async () => {
  await using subject = await ServiceUnderTest.start();
  await create(subject);
  (await subject.runner.run(1)).fail(new Error("the git server answered 503"));
  await subject.service.queue.idle();
  await subject.stop();
  await subject.start();
  subject.clock.advance(14_999);
  await subject.service.queue.idle();
  expect(subject.runner.runs).toHaveLength(1);
  subject.clock.advance(1);
  await subject.runner.run(2);
});

it("runs a turn again that was active when the process died", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  (await subject.runner.run(1)).input.report({ agentRuns: true });
  await subject.crash();
  subject.runner = new ScriptedRunner();
  await subject.start();
  expect(await statusOf(subject, id)).toBe("active");
  (await subject.runner.runOf(id)).end(resultNamed(id, "pull-request"));
  await subject.service.queue.idle();
  expect(await statusOf(subject, id)).toBe("completed");
  expect(subject.store.turns(id)).toMatchObject([{ attempts: 2, outcome: "pull-request" }]);
});

it("runs a turn whose task was lost between the accept and the queue", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject, "one");
  await send(subject, id, "two");
  await subject.runner.run(1);
  await subject.crash((db) => db.exec("DELETE FROM tasks WHERE type = 'run-job'"));
  subject.runner = new ScriptedRunner();
  await subject.start();
  for (const run of [1, 2]) (await subject.runner.run(run)).end(resultNamed(id, "no-changes"));
  expect(subject.runner.runs.map(({ input }) => input.prompt)).toEqual(["one", "two"]);
});

const GIVEN_UP = "The service broke down while it worked on this. Gave up after 5 attempts.";

it("starts an agent five times at most, although the process went down each time", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  for (let death = 1; death <= 5; death += 1) {
    (await subject.runner.runOf(id)).input.report({ agentRuns: true });
    await subject.crash();
    subject.runner = new ScriptedRunner();
    await subject.start();
  }
  await subject.service.queue.idle();
  expect(subject.runner.runs).toHaveLength(0);
  expect(await statusOf(subject, id)).toBe("failed");
  expect(subject.store.turns(id)).toMatchObject([{ attempts: 5, reason: GIVEN_UP }]);
});

/** The runner dies during these runs. `by`: whose code was on its thread, as seen from the first one. */
async function loseRunner(
  subject: ServiceUnderTest,
  [run, ...others]: readonly ScriptedRun[],
  by: RunnerLostError["by"],
): Promise<void> {
  run?.fail(new RunnerLostError(by));
  for (const other of others) other.fail(new RunnerLostError("another-turn"));
  await subject.service.queue.idle();
  subject.clock.advance(1_000);
}

it("counts a loss of the runner for the turn whose code was on its thread, and for no other", async () => {
  const limits = { createsPerHour: 100, messagesPerHour: 100, jobsAtOnce: 3, queued: 100 };
  await using subject = await ServiceUnderTest.start({ projects: [makeServiceProject({ limits })] });
  const bad = await create(subject, "bad");
  const others = [await create(subject, "beside"), await create(subject, "at work")];
  const { runner, store, service } = subject;
  for (let death = 1; death <= 2; death += 1) {
    const runs = [];
    for (const id of [bad, ...others]) runs.push(await runner.runOf(id, death));
    runs[0]?.input.report({ agentRuns: true });
    runs[2]?.input.report({ agentRuns: true });
    await loseRunner(subject, runs, "this-turn");
  }
  await vi.waitUntil(() => store.turns(bad)[0]?.state === "ended", PATIENT);
  expect(store.turns(bad)).toMatchObject([
    { outcome: "failed", reason: expect.stringContaining("broke down twice") as string },
  ]);
  for (const id of others) (await runner.runOf(id, 3)).end(resultNamed(id, "no-changes"));
  await service.queue.idle();
  // What an agent was started for is an attempt, whoever is to blame.
  for (const [index, attempts] of [1, 3].entries()) {
    const turns = store.turns(others[index] ?? "");
    expect(turns).toMatchObject([{ outcome: "no-changes", deaths: 0, attempts }]);
  }
});

it.each([{ agentRuns: true as const }, {}])(
  "gives up a turn after five losses of the runner that nobody is to blame for (%j)",
  async (report) => {
    await using subject = await ServiceUnderTest.start();
    const id = await create(subject);
    for (let loss = 1; loss <= 5; loss += 1) {
      const run = await subject.runner.runOf(id, loss);
      run.input.report(report);
      await loseRunner(subject, [run], null);
    }
    await vi.waitUntil(() => subject.store.turns(id)[0]?.state === "ended", PATIENT);
    expect(subject.runner.runs).toHaveLength(5);
    expect(subject.store.turns(id)).toMatchObject([{ outcome: "failed", deaths: 0, reason: GIVEN_UP }]);
  },
);

it("starts no agent a sixth time, although others brought the runner down each time", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  for (let loss = 1; loss <= 5; loss += 1) {
    const run = await subject.runner.runOf(id, loss);
    run.input.report({ agentRuns: true });
    await loseRunner(subject, [run], "another-turn");
  }
  await vi.waitUntil(() => subject.store.turns(id)[0]?.state === "ended", PATIENT);
  expect(subject.runner.runs).toHaveLength(5);
});

it("goes on with a turn however often others bring the runner down before its agent is started", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  for (let loss = 1; loss <= 12; loss += 1) {
    await loseRunner(subject, [await subject.runner.runOf(id, loss)], "another-turn");
  }
  (await subject.runner.runOf(id, 13)).end(resultNamed(id, "no-changes"));
  await subject.service.queue.idle();
  expect(subject.store.turns(id)).toMatchObject([{ outcome: "no-changes", deaths: 0, attempts: 1 }]);
});

it.each(["no-changes", "failed", "broke off"] as const)(
  "writes how a turn ended once the disk has room again, and runs no agent for it (%s)",
  async (how) => {
    await using subject = await ServiceUnderTest.start();
    const { service, store, db, clock } = subject;
    const id = await create(subject);
    const run = await subject.runner.run(1);
    run.input.report({ agentRuns: true });
    const { page_count: pages } = db.prepare("PRAGMA page_count").get() as { page_count: number };
    db.exec(`PRAGMA max_page_count = ${pages}`);
    // Too long for the rest of a page.
    const words = "word ".repeat(20_000);
    if (how === "broke off") run.fail(new Error(words));
    else if (how === "failed") run.end({ kind: "failed", reason: words });
    else run.end({ kind: "no-changes", summary: words });
    const faults = () => subject.logger.text("error").split("can't be written down").length - 1;
    await vi.waitUntil(() => faults() === 1, PATIENT);
    clock.advance(1000);
    await vi.waitUntil(() => faults() === 2, PATIENT);
    expect(store.turns(id)).toMatchObject([{ state: "running" }]);
    db.exec(`PRAGMA max_page_count = ${pages + 100}`);
    clock.advance(2000);
    await service.queue.idle();
    expect(store.turns(id)).toMatchObject([
      { state: how === "broke off" ? "waiting" : "ended", attempts: 1 },
    ]);
    expect(subject.runner.runs).toHaveLength(1);
  },
);

it("goes on with a turn however often the process goes down before its agent is started", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  for (let death = 1; death <= 8; death += 1) {
    const { input } = await subject.runner.runOf(id);
    if (death === 1) {
      input.report({ agentRuns: true });
      input.report({ branch: "docs-agent/some-job" });
    }
    await subject.crash();
    subject.runner = new ScriptedRunner();
    await subject.start();
  }
  expect(subject.store.turns(id)).toMatchObject([{ state: "running", branch: "docs-agent/some-job" }]);
  (await subject.runner.runOf(id)).end(resultNamed(id, "pull-request"));
  await subject.service.queue.idle();
  expect(subject.store.turns(id)).toMatchObject([{ outcome: "pull-request", branch: null }]);
});

it("names the branch of work that was pushed and never got a pull request", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  const run = await subject.runner.run(1);
  run.input.report({ branch: "docs-agent/some-job" });
  run.end({ kind: "failed", reason: "The code host refused the pull request." });
  await subject.service.queue.idle();
  expect(subject.store.turns(id)).toMatchObject([{ outcome: "failed", branch: "docs-agent/some-job" }]);
});

it("lets running turns finish within the grace of a stop, and starts no more", async () => {
  await using subject = await ServiceUnderTest.start({ jobsAtOnce: 1 });
  const id = await create(subject);
  const waiting = await create(subject);
  const run = await subject.runner.run(1);
  const { store, url } = subject;
  const stopped = subject.stop(60_000);
  await expect(fetch(`${url}/healthz`)).rejects.toThrow("fetch failed");
  run.end(resultNamed(id, "no-changes"));
  await stopped;
  expect(() => store.job(id)).toThrow(/finalized|not open/);
  expect(subject.runner.runs).toHaveLength(1);
  await subject.start();
  expect(await statusOf(subject, id)).toBe("completed");
  expect(await statusOf(subject, waiting)).toBe("active");
  await subject.runner.runOf(waiting);
});

it("aborts running turns after the grace, and runs them again after the start, as if never tried", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  const { input } = await subject.runner.run(1);
  await subject.stop(0);
  expect(input.signal.aborted).toBe(true);
  await subject.start();
  expect(await statusOf(subject, id)).toBe("active");
  await subject.runner.runOf(id, 2);
  expect(subject.store.turns(id)[0]?.attempts).toBe(1);
});

it("stops the running turn of a job that is archived, and drops its waiting ones", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  await send(subject, id, "More");
  const { input } = await subject.runner.run(1);
  await subject.ask(`${JOBS}/${id}/archive`, { method: "POST" });
  expect(await statusOf(subject, id)).toBe("archived");
  expect(input.signal.aborted).toBe(true);
  await subject.service.queue.idle();
  expect(subject.runner.runs).toHaveLength(1);
  expect(subject.store.turns(id).map(({ outcome }) => outcome)).toEqual(["archived", "archived"]);
});

it("keeps the link of a pull request that was opened before the archiving got through", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  const run = await subject.runner.run(1);
  subject.store.archive(id, subject.clock.now());
  run.end({ kind: "pull-request", prLink: "https://git.example/a/b/pull/1", summary: null, leftOut: [] });
  await subject.service.queue.idle();
  expect(subject.store.job(id)).toMatchObject({
    status: "archived",
    prLink: "https://git.example/a/b/pull/1",
  });
});

it("archives jobs that nothing happened to for as long as the settings say, and no active ones", async () => {
  await using subject = await ServiceUnderTest.start({
    projects: [makeServiceProject({ archiveAfterDays: 1 })],
  });
  const ended = await create(subject);
  (await subject.runner.run(1)).end(resultNamed(ended, "no-changes"));
  await subject.service.queue.idle();
  const active = await create(subject);
  await subject.runner.run(2);
  subject.clock.advance(DAY_MS - 1);
  await untilTidied(subject);
  expect(await statusOf(subject, ended)).toBe("completed");
  subject.clock.advance(60 * 60_000);
  await untilTidied(subject);
  const record: unknown = await (await subject.ask(`${JOBS}/${ended}`)).json();
  expect(record).toMatchObject({
    status: "archived",
    archivedAt: expect.stringMatching(/^2026-01-06T09:/) as string,
  });
  expect(await statusOf(subject, active)).toBe("active");
});

it("forgets archived jobs with all that was asked and said, after as long as the settings say", async () => {
  await using subject = await ServiceUnderTest.start({
    projects: [makeServiceProject({ archiveAfterDays: 1, keepArchivedDays: 2 })],
  });
  const old = await create(subject);
  (await subject.runner.run(1)).end(resultNamed(old, "no-changes"));
  await subject.service.queue.idle();
  subject.clock.advance(DAY_MS + 60 * 60_000);
  await untilTidied(subject);
  const later = await create(subject);
  (await subject.runner.run(2)).end(resultNamed(later, "no-changes"));
  expect(await statusOf(subject, old)).toBe("archived");
  subject.clock.advance(2 * DAY_MS + 60 * 60_000);
  await untilTidied(subject);
  expect((await subject.ask(`${JOBS}/${old}`)).status).toBe(404);
  expect(subject.store.turns(old)).toEqual([]);
  expect(await statusOf(subject, later)).toBe("archived");
});

it("has the runner look after what it keeps once a pass, not with each part of it", async () => {
  await using subject = await ServiceUnderTest.start({
    projects: [makeServiceProject({ keepArchivedDays: 1 })],
  });
  const id = await create(subject);
  (await subject.runner.run(1)).end(resultNamed(id, "no-changes"));
  await subject.service.queue.idle();
  subject.store.archive(id, subject.clock.now());
  // One more than a part has.
  subject.db.exec("CREATE TEMP TABLE copied AS SELECT * FROM jobs");
  for (let n = 0; n < 200; n += 1) {
    subject.db.exec(`UPDATE copied SET id = 'copy-${n}'; INSERT INTO jobs SELECT * FROM copied`);
  }
  const left = () => Number(subject.db.prepare("SELECT count(*) AS n FROM jobs").get()?.["n"]);
  const before = subject.upkeeps;

  subject.clock.advance(2 * DAY_MS);
  await untilTidied(subject);
  expect({ left: left(), upkeeps: subject.upkeeps - before }).toEqual({ left: 1, upkeeps: 0 });
  subject.clock.advance(1000);
  await untilTidied(subject);
  expect({ left: left(), upkeeps: subject.upkeeps - before }).toEqual({ left: 0, upkeeps: 1 });
});

it("forgets the jobs of a project that is no longer in the settings, in half a year", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  (await subject.runner.run(1)).end(resultNamed(id, "no-changes"));
  await subject.service.queue.idle();
  await subject.crash();
  subject.projects.splice(0, 1);
  await subject.start();
  subject.clock.advance(91 * DAY_MS);
  await untilTidied(subject);
  expect(subject.store.job(id)?.status).toBe("archived");
  subject.clock.advance(91 * DAY_MS);
  await untilTidied(subject);
  expect(subject.store.job(id)).toBeNull();
});

it("fails the turns of a project that is no longer in the settings", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  await send(subject, id, "More");
  await subject.crash();
  subject.projects.splice(0, 1);
  await subject.start();
  await subject.service.queue.idle();
  expect(subject.store.turns(id).map(({ reason }) => reason)).toEqual([
    "The project isn't set up anymore.",
    "The project isn't set up anymore.",
  ]);
  expect(subject.logger.text("error")).toContain("There is no project docs in the settings. Add it again.");
});

it("keeps the last progress lines of a turn, bounded and harmless", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  const run = await subject.runner.run(1);
  run.input.report({ lines: ["\u001b[2Jcloning\nthe repository"] });
  subject.clock.advance(1000);
  expect(subject.store.turns(id)[0]?.progress).toEqual(["cloning the repository"]);
  for (let n = 0; n < 500; n += 1) run.input.report({ lines: [`${n} ${"x".repeat(5000)}`] });
  run.end(resultNamed(id, "no-changes"));
  await subject.service.queue.idle();
  const lines = subject.store.turns(id)[0]?.progress ?? [];
  expect(lines.length).toBeGreaterThan(100);
  expect(lines.length).toBeLessThanOrEqual(200);
  expect(lines.join("").length).toBeLessThanOrEqual(64 * 1024);
  expect(lines.at(-1)).toMatch(/^499 x+…$/);
});

/** The running turn keeps the queue from being idle: looks at the task itself. */
async function untilTidied({ db, clock }: ServiceUnderTest): Promise<void> {
  const select = db.prepare("SELECT state, due_at FROM tasks WHERE id = 'tidy'");
  for (;;) {
    const row = select.get();
    if (row?.["state"] === "waiting" && Number(row["due_at"]) > clock.now()) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

it("lets a job keep the branch that it began with when the settings say another prefix", async () => {
  await using subject = await ServiceUnderTest.start();
  const prefixOf = async (run: number) => {
    const { input, end } = await subject.runner.run(run);
    end(resultNamed(input.jobId, "no-changes"));
    await subject.service.queue.idle();
    return input.project.pullRequests.branchPrefix;
  };
  const post = (path: string) => subject.ask(`/v2/agent/docs/job${path}`, { body: { prompt: "Fix" } });
  const { id } = (await (await post("")).json()) as { id: string };
  expect(await prefixOf(1)).toBe("docs-agent/");

  await subject.stop();
  const [project = makeServiceProject()] = subject.projects;
  const pullRequests = { ...project.pullRequests, branchPrefix: "docs-bot-" };
  subject.projects.splice(0, 1, { ...project, pullRequests });
  await subject.start();
  await post(`/${id}/message`);
  expect(await prefixOf(2)).toBe("docs-agent/");
  await post("");
  expect(await prefixOf(3)).toBe("docs-bot-");
});
