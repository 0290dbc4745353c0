// @module-tag all

import type { JobList } from "../../src/shared/contract/feed.ts";
import type { FullJob } from "../../src/shared/contract/job.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import { expect, it } from "vitest";
import { makeServiceProject } from "../support/service-project.ts";
import { ServiceUnderTest } from "../support/service-under-test.ts";
import { resultNamed } from "../support/scripted-runner.ts";

const JOBS = "/v2/agent/docs/job";

async function create(subject: ServiceUnderTest, prompt = "Fix"): Promise<string> {
  const response = await subject.ask(JOBS, { body: { prompt } });
  return ((await response.json()) as Sent<typeof FullJob>).id;
}

async function post(
  subject: ServiceUnderTest,
  path: string,
): Promise<{ status: number; job: Sent<typeof FullJob> }> {
  const response = await subject.ask(`${JOBS}/${path}`, { method: "POST" });
  return { status: response.status, job: (await response.json()) as Sent<typeof FullJob> };
}

async function list(subject: ServiceUnderTest, query = ""): Promise<Sent<typeof JobList>> {
  const response = await subject.ask(`${JOBS}${query}`);
  expect(response.status).toBe(200);
  return (await response.json()) as Sent<typeof JobList>;
}

it("lists a project's jobs by pages, the newest first, each once, while more are created", async () => {
  await using subject = await ServiceUnderTest.start({
    projects: [
      makeServiceProject({ limits: { createsPerHour: 100, messagesPerHour: 1, jobsAtOnce: 2, queued: 100 } }),
      makeServiceProject({ id: "api" }),
    ],
  });
  const made: string[] = [];
  for (let n = 0; n < 7; n += 1) {
    // Several in one moment: their order is by id then.
    if (n % 3 === 0) subject.clock.advance(1);
    made.push(await create(subject));
  }
  const key = subject.keys["api"] ?? "";
  await subject.ask("/v2/agent/api/job", { body: { prompt: "Fix" }, key });
  const seen: string[] = [];
  let after = "";
  for (;;) {
    const page = await list(subject, `?limit=3${after}`);
    seen.push(...page.jobs.map(({ id }) => id));
    subject.clock.advance(1);
    await create(subject);
    if (page.next === null) break;
    after = `&after=${encodeURIComponent(page.next)}`;
  }
  expect(seen.toSorted()).toEqual(made.toSorted());
  const times = (await list(subject)).jobs.map(({ createdAt }) => createdAt);
  expect(times).toEqual(times.toSorted().toReversed());
  expect(Object.keys((await list(subject)).jobs[0] ?? {})).not.toContain("turns");
});

it("lists only jobs with a status, however rare they are", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  (await subject.runner.run(1)).end(resultNamed(id, "failed"));
  await subject.service.queue.idle();
  const add = subject.db.prepare(
    "INSERT INTO jobs (id, project_id, repository, ref, model, created_at, active_at) VALUES (?, 'docs', 'r', 'main', 'm', ?, 0)",
  );
  for (let n = 1; n <= 1200; n += 1) add.run(`job-${n}`, subject.clock.now() + n);
  const found: string[] = [];
  let pages = 0;
  let query = "?status=failed";
  for (;;) {
    const { jobs, next } = await list(subject, query);
    found.push(...jobs.map((job) => job.id));
    pages += 1;
    if (next === null) break;
    query = `?status=failed&after=${encodeURIComponent(next)}`;
  }
  expect(found).toEqual([id]);
  expect(pages).toBeLessThan(5);
});

it.each(["?limit=0", "?limit=101", "?limit=x", "?status=gone", "?after=x", "?after=!", "?after="])(
  "refuses a list with %s",
  async (query) => {
    await using subject = await ServiceUnderTest.start();
    expect((await subject.ask(`${JOBS}${query}`)).status).toBe(400);
  },
);

it("cancels a running turn: its agent is stopped at once, and the next turn runs", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  await subject.ask(`${JOBS}/${id}/message`, { body: { prompt: "Then that" } });
  const { input } = await subject.runner.run(1);
  const { status, job } = await post(subject, `${id}/turn/1/cancel`);
  expect(status).toBe(200);
  expect(job.turns).toMatchObject([
    { number: 1, status: "ended", outcome: "cancelled", endedAt: "2026-01-05T09:00:00Z" },
    { number: 2, status: "waiting" },
  ]);
  expect(input.signal.aborted).toBe(true);
  const second = await subject.runner.run(2);
  expect(second.input.prompt).toBe("Then that");
  second.end(resultNamed(id, "no-changes"));
  await subject.service.queue.idle();
  expect((await post(subject, `${id}/turn/1/cancel`)).job).toMatchObject({
    status: "completed",
    turns: [{ outcome: "cancelled" }, { outcome: "no-changes" }],
  });
});

it("cancels a turn that waits, which then never runs", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  await subject.ask(`${JOBS}/${id}/message`, { body: { prompt: "Not that" } });
  const first = await subject.runner.run(1);
  await post(subject, `${id}/turn/2/cancel`);
  first.end(resultNamed(id, "pull-request"));
  await subject.service.queue.idle();
  expect(subject.runner.runs).toHaveLength(1);
  const { job } = await post(subject, `${id}/turn/2/cancel`);
  expect(job.turns).toMatchObject([{ outcome: "pull-request" }, { outcome: "cancelled", startedAt: null }]);
  // To a client that knows only the contract, the last turn came to nothing.
  expect(job).toMatchObject({ status: "failed", prLink: expect.stringContaining("/pull/") as string });
});

it("cancels a turn that waits to be tried again, and lets the next one run at once", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  await subject.ask(`${JOBS}/${id}/message`, { body: { prompt: "Then that" } });
  (await subject.runner.run(1)).fail(Object.assign(new Error("rate limit"), { retryAfterMs: 1_800_000 }));
  await subject.service.queue.idle();
  await post(subject, `${id}/turn/1/cancel`);
  expect((await subject.runner.run(2)).input.prompt).toBe("Then that");
});

it("leaves a turn that has ended as it is, and knows no other turns and jobs", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  (await subject.runner.run(1)).end(resultNamed(id, "pull-request"));
  await subject.service.queue.idle();
  expect((await post(subject, `${id}/turn/1/cancel`)).job).toMatchObject({
    status: "completed",
    turns: [{ outcome: "pull-request" }],
  });
  for (const path of [`${id}/turn/2/cancel`, "job-x/turn/1/cancel", "job-x/archive"]) {
    expect((await post(subject, path)).status).toBe(404);
  }
  expect((await post(subject, `${id}/turn/0/cancel`)).status).toBe(400);
  const other = { method: "POST", key: subject.keys["api"] ?? "" };
  expect((await subject.ask(`/v2/agent/api/job/${id}/archive`, other)).status).toBe(404);
});

it("keeps the pull request of a turn that was cancelled while it was opened", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  const { end } = await subject.runner.run(1);
  // As if another process had cancelled it: nobody tells the runner before it is done.
  subject.db.exec("UPDATE turns SET state = 'ended', outcome = 'cancelled', ended_at = 1");
  end(resultNamed(id, "pull-request"));
  await subject.service.queue.idle();
  expect((await post(subject, `${id}/turn/1/cancel`)).job).toMatchObject({
    prLink: expect.stringContaining("/pull/") as string,
    turns: [{ outcome: "cancelled" }],
  });
});

it("archives a job, ends its turns and stops its agent, as often as it is asked to", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  await subject.ask(`${JOBS}/${id}/message`, { body: { prompt: "Then that" } });
  const { input } = await subject.runner.run(1);
  const { job } = await post(subject, `${id}/archive`);
  expect(job).toMatchObject({
    status: "archived",
    archivedAt: "2026-01-05T09:00:00Z",
    turns: [{ outcome: "archived" }, { outcome: "archived" }],
  });
  expect(input.signal.aborted).toBe(true);
  subject.clock.advance(60_000);
  expect((await post(subject, `${id}/archive`)).job).toEqual(job);
  await subject.service.queue.idle();
  expect(subject.runner.runs).toHaveLength(1);
});

it("names the job as job_id in every line of its log", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  await subject.runner.run(1);
  await post(subject, `${id}/turn/1/cancel`);
  await post(subject, `${id}/archive`);
  await subject.service.queue.idle();
  const about = subject.logger.lines.filter((line) => JSON.stringify(line).includes(id));
  expect(about.length).toBeGreaterThan(3);
  for (const line of about) expect(JSON.stringify(line)).toContain(`"job_id":"${id}"`);
});
