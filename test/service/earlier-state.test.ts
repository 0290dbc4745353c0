import { readdirSync, rmSync } from "node:fs";
import { expect, it } from "vitest";
import { createKey } from "../../src/service/keys.ts";
import { serviceMigrations } from "../../src/service/migrations.ts";
import { openSqliteDatabase } from "../../src/store/sqlite-database.ts";
import { makeServiceProject, ServiceUnderTest } from "../support/job-service.ts";
import { resultNamed } from "../support/scripted-runner.ts";

/** How many steps the first version's file had had: one task for each turn, in the lane of its job. */
const FIRST_VERSION = 2;

/** Puts a state file of the first version in place: a job whose first turn ran, with two more behind it. */
async function leaveState({ dir, clock }: ServiceUnderTest): Promise<void> {
  for (const name of readdirSync(dir.path)) rmSync(dir.file(name), { recursive: true });
  const migrations = serviceMigrations.slice(0, FIRST_VERSION);
  const { db, close } = await openSqliteDatabase(
    { path: dir.file("job-service.sqlite") },
    { clock, migrations },
  );
  db.prepare(
    `INSERT INTO jobs (id, project_id, repository, ref, model, created_at, active_at)
      VALUES ('job-a', 'docs', 'acme/docs', 'main', 'fix-docs', ?1, ?1)`,
  ).run(clock.now());
  const addTurn = db.prepare(
    `INSERT INTO turns (job_id, number, project_id, prompt, accepted_at, state, attempts)
      VALUES ('job-a', ?, 'docs', ?, ?, ?, ?)`,
  );
  addTurn.run(1, "one", clock.now(), "running", 1);
  addTurn.run(2, "two", clock.now() + 1, "waiting", 0);
  addTurn.run(3, "three", clock.now() + 2, "waiting", 0);
  const addTask = db.prepare(
    `INSERT INTO tasks (id, type, lane, payload, state, due_at, claimable_at, token, attempt, added_at)
      VALUES (?, ?, ?, ?, ?, 1, ?, ?, 1, 1)`,
  );
  const payload = (number: number) => JSON.stringify({ jobId: "job-a", number });
  addTask.run("run-turn:job-a:1", "run-turn", "job:job-a", payload(1), "running", 60_000, "a-claim");
  addTask.run("run-turn:job-a:2", "run-turn", "job:job-a", payload(2), "queued", null, null);
  addTask.run("run-turn:job-a:3", "run-turn", "job:job-a", payload(3), "queued", null, null);
  addTask.run("tidy", "tidy", null, "{}", "waiting", 1, null);
  close();
}

it("takes over a state of the first version: its turns run in order, one at a time, and it is tidied up", async () => {
  await using subject = await ServiceUnderTest.start();
  await subject.stop();
  await leaveState(subject);
  await subject.start();
  for (const run of [1, 2, 3]) {
    (await subject.runner.run(run)).end(resultNamed("job-a", "no-changes"));
  }
  await subject.service.queue.idle();
  expect(subject.runner.runs.map(({ input }) => input.prompt)).toEqual(["one", "two", "three"]);
  expect(subject.store.job("job-a")).toMatchObject({ status: "completed" });
  expect(subject.store.turns("job-a").map(({ attempts }) => attempts)).toEqual([2, 1, 1]);
  // What tidies up is all that waits, and it does so in an hour.
  expect(await subject.service.queue.counts()).toEqual({ waiting: 1, running: 0, dead: 0 });
  expect(subject.service.queue.nextDueAt()).toBe(subject.clock.now() + 60 * 60_000);
});

it("counts the turns of an earlier version against the limits", async () => {
  const limits = { createsPerHour: 100, messagesPerHour: 3, jobsAtOnce: 1, queued: 4 };
  await using subject = await ServiceUnderTest.start({ projects: [makeServiceProject({ limits })] });
  await subject.stop();
  await leaveState(subject);
  await subject.start();
  subject.keys["docs"] = createKey(subject.db, { prefix: "docsagent", projectId: "docs", nowMs: 1 }).key;
  const send = async (path: string) => {
    const answer = await subject.ask(`/v2/agent/docs/job${path}`, { body: { prompt: "More" } });
    return answer.status === 429 ? ((await answer.json()) as { error: string }).error : answer.status;
  };
  // The third message of this hour, and with it four turns that haven't ended.
  expect(await send("/job-a/message")).toBe(200);
  expect(await send("/job-a/message")).toContain("messages were sent");
  expect(await send("")).toBe(201);
  expect(await send("")).toContain("wait to run");
});
