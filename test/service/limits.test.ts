import { expect, it } from "vitest";
import { makeServiceProject } from "../support/service-project.ts";
import { ServiceUnderTest } from "../support/service-under-test.ts";
import { resultNamed } from "../support/scripted-runner.ts";

const JOBS = "/v2/agent/docs/job";
const MINUTE_MS = 60_000;
const limits = { createsPerHour: 100, messagesPerHour: 100, jobsAtOnce: 2, queued: 100 };

function start(over: Partial<typeof limits>, jobsAtOnce = 8): Promise<ServiceUnderTest> {
  const projects = [
    makeServiceProject({ limits: { ...limits, ...over } }),
    makeServiceProject({ id: "api", limits: { ...limits, ...over } }),
  ];
  return ServiceUnderTest.start({ projects, jobsAtOnce });
}

async function create(subject: ServiceUnderTest, prompt = "Fix", project = "docs"): Promise<string> {
  const path = `/v2/agent/${project}/job`;
  const response = await subject.ask(path, { body: { prompt }, key: subject.keys[project] ?? null });
  expect(response.status).toBe(201);
  return ((await response.json()) as { id: string }).id;
}

async function refused(response: Response): Promise<{ error: string; retryAfter: string | null }> {
  expect(response.status).toBe(429);
  const { error } = (await response.json()) as { error: string };
  return { error, retryAfter: response.headers.get("retry-after") };
}

it("refuses creates beyond the hour's, until the oldest is an hour old", async () => {
  await using subject = await start({ createsPerHour: 3 });
  for (const _ of [1, 2, 3]) {
    await create(subject);
    subject.clock.advance(10 * MINUTE_MS);
  }
  const { error, retryAfter } = await refused(await subject.ask(JOBS, { body: { prompt: "Fix" } }));
  expect(error).toContain("jobs were created");
  expect(retryAfter).toBe(String(30 * 60));

  subject.clock.advance(30 * MINUTE_MS - 1);
  expect((await refused(await subject.ask(JOBS, { body: { prompt: "Fix" } }))).retryAfter).toBe("1");
  subject.clock.advance(1);
  await create(subject);
  expect((await refused(await subject.ask(JOBS, { body: { prompt: "Fix" } }))).retryAfter).toBe("600");
});

it("counts a project's creates across a restart, and no other project's", async () => {
  await using subject = await start({ createsPerHour: 2 });
  await create(subject);
  await create(subject);
  await subject.stop();
  await subject.start();
  expect((await refused(await subject.ask(JOBS, { body: { prompt: "Fix" } }))).retryAfter).toBe("3600");
  await create(subject, "Fix", "api");
});

it("counts messages apart from creates", async () => {
  await using subject = await start({ createsPerHour: 2, messagesPerHour: 2 });
  const id = await create(subject);
  for (const _ of [1, 2]) {
    expect((await subject.ask(`${JOBS}/${id}/message`, { body: { prompt: "More" } })).status).toBe(200);
  }
  const refusal = await refused(await subject.ask(`${JOBS}/${id}/message`, { body: { prompt: "More" } }));
  expect(refusal).toEqual({ error: expect.stringContaining("messages") as string, retryAfter: "3600" });
  // Two messages and a create later, the second create still has room.
  await create(subject);
});

it("counts neither refusals nor repeated requests", async () => {
  await using subject = await start({ createsPerHour: 2 });
  const sent = { body: { prompt: "Fix" }, headers: { "idempotency-key": "one" } };
  for (const _ of [1, 2, 3]) expect((await subject.ask(JOBS, sent)).status).toBe(201);
  for (const _ of [1, 2, 3]) expect((await subject.ask(JOBS, { body: {} })).status).toBe(400);
  await create(subject);
  expect((await subject.ask(JOBS, sent)).status).toBe(201);
});

it("never accepts more than the limit, however many ask at once", async () => {
  await using subject = await start({ createsPerHour: 10 });
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => subject.ask(JOBS, { body: { prompt: "Fix" } })),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(30);
});

it("refuses turns when too many wait, until one has ended", async () => {
  await using subject = await start({ jobsAtOnce: 1, queued: 2 });
  const id = await create(subject);
  await create(subject);
  await create(subject);
  const { error, retryAfter } = await refused(await subject.ask(JOBS, { body: { prompt: "Fix" } }));
  expect(error).toContain("wait");
  expect(Number(retryAfter)).toBeGreaterThan(0);
  await refused(await subject.ask(`${JOBS}/${id}/message`, { body: { prompt: "More" } }));

  (await subject.runner.runOf(id)).end(resultNamed(id, "no-changes"));
  await subject.runner.run(2);
  await create(subject);
});

it("counts what waits, whoever ends it: a cancel, the command line, a turn of a job that is forgotten, over a restart", async () => {
  await using subject = await start({ jobsAtOnce: 1, queued: 2 });
  const isFull = async () => void (await refused(await subject.ask(JOBS, { body: { prompt: "Fix" } })));
  const ids = [await create(subject), await create(subject), await create(subject)];
  await isFull();
  await subject.runner.runOf(ids[0] ?? "");

  expect((await subject.ask(`${JOBS}/${ids[2]}/turn/1/cancel`, { method: "POST" })).status).toBe(200);
  // Again: it has ended already.
  expect((await subject.ask(`${JOBS}/${ids[2]}/turn/1/cancel`, { method: "POST" })).status).toBe(200);
  await create(subject);
  await isFull();

  subject.service.runCommand({ name: "archive-job", id: ids[1] ?? "" });
  expect(subject.store.retention.forgetArchived("docs", subject.clock.now(), 10)).toBe(1);
  await create(subject);
  await isFull();

  await subject.crash();
  await subject.start();
  await isFull();
  // Of the other project none waits.
  await create(subject, "Fix", "api");
});

it("knows the oldest create that counts, also after jobs were forgotten", async () => {
  await using subject = await start({ createsPerHour: 3 });
  for (const id of [await create(subject), await create(subject)]) {
    expect((await subject.ask(`${JOBS}/${id}/archive`, { method: "POST" })).status).toBe(200);
  }
  const dayMs = 24 * 60 * MINUTE_MS;
  subject.clock.advance(dayMs);
  await create(subject);
  expect(subject.store.retention.forgetArchived("docs", subject.clock.now() - dayMs, 10)).toBe(2);
  subject.clock.advance(10 * MINUTE_MS);
  for (const _ of [1, 2]) await create(subject);
  expect((await refused(await subject.ask(JOBS, { body: { prompt: "Fix" } }))).retryAfter).toBe("3000");
  subject.clock.advance(50 * MINUTE_MS);
  await create(subject);
  expect((await refused(await subject.ask(JOBS, { body: { prompt: "Fix" } }))).retryAfter).toBe("600");
});

it("runs so many of a project at once, the others in the order they came, all of them active", async () => {
  await using subject = await start({ jobsAtOnce: 2 });
  const ids = [];
  for (const prompt of ["a", "b", "c", "d"]) ids.push(await create(subject, prompt));
  await subject.runner.run(2);
  const api = await create(subject, "other", "api");
  await subject.runner.runOf(api);
  expect(subject.runner.runs.map(({ input }) => input.prompt)).toEqual(["a", "b", "other"]);
  for (const id of ids) {
    expect(await (await subject.ask(`${JOBS}/${id}`)).json()).toMatchObject({ status: "active" });
  }
  for (const run of [1, 2]) (await subject.runner.run(run)).end(resultNamed("job-0", "no-changes"));
  await subject.runner.run(5);
  expect(subject.runner.runs.map(({ input }) => input.prompt)).toEqual(["a", "b", "other", "c", "d"]);
});

it("runs so many of all projects at once, and a full project does not hold up another", async () => {
  await using subject = await start({ jobsAtOnce: 2 }, 3);
  for (const prompt of ["a", "b", "c"]) await create(subject, prompt);
  await subject.runner.run(2);
  await create(subject, "d", "api");
  await create(subject, "e", "api");
  await subject.runner.run(3);
  expect(subject.runner.runs.map(({ input }) => input.prompt)).toEqual(["a", "b", "d"]);
  (await subject.runner.run(3)).end(resultNamed("job-0", "no-changes"));
  await subject.runner.run(4);
  expect(subject.runner.runs.at(-1)?.input.prompt).toBe("e");
});

it("does not hold up a project behind another's many that wait", async () => {
  await using subject = await start({ jobsAtOnce: 1 }, 2);
  const prompts = Array.from({ length: 12 }, (_, index) => `docs ${index}`);
  for (const prompt of prompts) await create(subject, prompt);
  await subject.runner.run(1);
  const api = await create(subject, "api", "api");
  (await subject.runner.runOf(api)).end(resultNamed(api, "no-changes"));
  for (const [index] of prompts.entries()) {
    // The other project's was the second run.
    const run = await subject.runner.run(index === 0 ? 1 : index + 2);
    run.end(resultNamed(run.input.jobId, "no-changes"));
  }
  await subject.service.queue.idle();
  expect(subject.runner.runs.map(({ input }) => input.prompt)).toEqual([
    "docs 0",
    "api",
    ...prompts.slice(1),
  ]);
});
