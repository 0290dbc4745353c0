import type { JobChanges } from "../../src/shared/contract/feed.ts";
import type { FullJob } from "../../src/shared/contract/job.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import { expect, it, vi } from "vitest";
import { MAX_PLAN_STEPS } from "../../src/shared/contract/turn.ts";
import { makeServiceProject } from "../support/service-project.ts";
import { makeAskingAgent, ServiceUnderTest } from "../support/service-under-test.ts";
import { resultNamed } from "../support/scripted-runner.ts";
import { PATIENT } from "../support/patient.ts";

const FEED = "/v2/agent/docs/changes";
const READER = { "docs-agent-capabilities": "docs-agent/1" };

function start(): Promise<ServiceUnderTest> {
  const limits = { createsPerHour: 1000, messagesPerHour: 1000, jobsAtOnce: 8, queued: 1000 };
  const projects = [
    makeServiceProject({ agent: makeAskingAgent(), limits }),
    makeServiceProject({ id: "api" }),
  ];
  return ServiceUnderTest.start({ projects });
}

async function create(subject: ServiceUnderTest, project = "docs"): Promise<string> {
  const key = subject.keys[project] ?? "";
  const answer = await subject.ask(`/v2/agent/${project}/job`, { body: { prompt: "Fix" }, key });
  return ((await answer.json()) as Sent<typeof FullJob>).id;
}

async function read(
  subject: ServiceUnderTest,
  after: string | null,
  wait = 0,
  status = 200,
): Promise<Sent<typeof JobChanges>> {
  const query = after === null ? "" : `?after=${after}&wait=${wait}`;
  const answer = await subject.ask(`${FEED}${query}`, { headers: READER });
  expect(answer.status).toBe(status);
  return (await answer.json()) as Sent<typeof JobChanges>;
}

/** A request that waits. Only a change answers it, because the clock stands still. */
async function waiting(subject: ServiceUnderTest, after: string, status = 200) {
  const wakes = vi.spyOn(subject.clock, "wakeAt");
  const answer = read(subject, after, 3, status);
  const at = subject.clock.now() + 3_000;
  await vi.waitUntil(() => wakes.mock.calls.some(([atMs]) => atMs === at), PATIENT);
  wakes.mockRestore();
  return { answer };
}

/** Where the feed is once nothing happens any more. */
async function drained(subject: ServiceUnderTest, from: string): Promise<string> {
  for (let next = from; ;) {
    const answer = await read(subject, next);
    if (answer.jobs.length === 0) return next;
    next = answer.next;
  }
}

it("answers a request that waits, whatever changes", async () => {
  await using subject = await start();
  const id = await create(subject);
  const run = await subject.runner.runOf(id);
  const job = `/v2/agent/docs/job/${id}`;
  let { next } = await read(subject, null);
  const acts: [act: () => unknown, of: (told: Sent<typeof FullJob>) => unknown, told: unknown][] = [
    [
      () => void run.input.ask({ text: "Why?", choices: [], allowsText: true }),
      ({ questions }) => questions?.[0]?.text,
      "Why?",
    ],
    [
      () => {
        const questionId = subject.store.questions.shown(id)[0]?.id;
        return subject.ask(`${job}/answer`, { body: { questionId, text: "So" } });
      },
      ({ questions }) => questions?.[0]?.answeredAt?.slice(0, 4),
      "2026",
    ],
    [() => subject.ask(`${job}/message`, { body: { prompt: "More" } }), ({ turns }) => turns?.length, 2],
    [
      () => {
        run.end(resultNamed(id, "pull-request"));
        return subject.runner.runOf(id, 2);
      },
      ({ turns }) => turns?.[0]?.outcome,
      "pull-request",
    ],
    [() => subject.ask(`${job}/turn/2/cancel`, { method: "POST" }), ({ status }) => status, "failed"],
    [() => subject.service.runCommand({ name: "archive-job", id }), ({ status }) => status, "archived"],
  ];
  for (const [act, of, told] of acts) {
    const { answer } = await waiting(subject, next);
    await act();
    const changed = await answer;
    expect(changed.jobs.map((each) => each.id)).toEqual([id]);
    next = await drained(subject, changed.next);
    expect(of((await (await subject.ask(job, { headers: READER })).json()) as Sent<typeof FullJob>)).toBe(
      told,
    );
  }
});

it("tells the steps of a turn at most every 5 s, and the last one", async () => {
  await using subject = await start();
  const { clock, runner } = subject;
  const id = await create(subject);
  const { input } = await runner.runOf(id);
  let next = await drained(subject, (await read(subject, null)).next);
  const told: [second: number, step: unknown][] = [];
  for (let second = 0; second < 20; second += 1) {
    if (second < 8) input.report({ step: `step ${second}` });
    input.report({ lines: ["a line"] });
    clock.advance(1_000);
    const answer = await read(subject, next);
    for (const { turns } of answer.jobs) told.push([second + 1, turns?.[0]?.step]);
    next = answer.next;
  }
  expect(told).toEqual([
    [1, "step 0"],
    [6, "step 5"],
    [11, "step 7"],
  ]);
});

it("ends a wait in time, with the same cursor, and wakes nobody for another project", async () => {
  await using subject = await start();
  const { next } = await read(subject, null);
  const { answer } = await waiting(subject, next);
  await create(subject, "api");
  subject.clock.advance(3_000);
  expect(await answer).toEqual({ jobs: [], next });
});

it("pages by bytes, at least one job each, and tells every job once", async () => {
  await using subject = await start();
  let { next } = await read(subject, null);
  const ids: string[] = [];
  for (let n = 0; n < 60; n += 1) ids.push(await create(subject));
  const long = JSON.stringify(
    Array.from({ length: MAX_PLAN_STEPS }, () => ({ text: "x".repeat(290), status: "pending" })),
  );
  subject.db.prepare("UPDATE turns SET plan = ?").run(long);
  const seen: string[] = [];
  for (;;) {
    const answer = await subject.ask(`${FEED}?after=${next}`, { headers: READER });
    const text = await answer.text();
    expect(text.length).toBeLessThan(512 * 1024 + 1_000);
    const { jobs, next: more } = JSON.parse(text) as Sent<typeof JobChanges>;
    if (jobs.length === 0) break;
    seen.push(...jobs.map(({ id }) => id));
    next = more;
  }
  expect(seen.toSorted()).toEqual(ids.toSorted());
});

it("tells after a restart what happened before it, and what happens since", async () => {
  await using subject = await start();
  const { next } = await read(subject, null);
  const one = await create(subject);
  await subject.runner.runOf(one);
  await subject.crash();
  await subject.start();
  const { jobs, next: more } = await read(subject, next);
  expect(jobs.map(({ id }) => id)).toEqual([one]);
  const two = await create(subject);
  expect((await read(subject, more)).jobs.map(({ id }) => id)).toContain(two);
});

it("never counts back, even if a power cut loses the newest changes that were told", async () => {
  await using subject = await start();
  const id = await create(subject);
  await subject.runner.runOf(id);
  const { next } = await read(subject, null);
  // What the disk lost: the last writes, and with them their numbers.
  await subject.crash((db) => db.exec("UPDATE feed SET last = last - 2"));
  await subject.start();
  subject.store.archive(id, subject.clock.now());
  expect((await read(subject, next)).jobs).toMatchObject([{ id, status: "archived" }]);
});

it("knows no cursor of another database", async () => {
  await using one = await start();
  await using two = await start();
  const { next } = await read(one, null);
  await create(two);
  expect((await two.ask(`${FEED}?after=${next}&wait=30`)).status).toBe(410);
});

it("answers those who wait when it stops, and lets a client that leaves make room", async () => {
  await using subject = await start();
  const { next } = await read(subject, null);
  const headers = { authorization: `Bearer ${subject.keys["docs"]}` };
  const leave = new AbortController();
  const wait = (signal: AbortSignal | null = null) =>
    fetch(`${subject.url}${FEED}?after=${next}&wait=60`, { headers, signal });
  const left = Array.from({ length: 32 }, () => wait(leave.signal).catch(() => null));
  await vi.waitUntil(async () => (await read429(subject, next)) === "5", PATIENT);
  leave.abort();
  await Promise.all(left);
  await vi.waitUntil(async () => (await read429(subject, next)) === null, PATIENT);
  const stays = wait();
  await vi.waitUntil(async () => (await read429(subject, next)) === null, PATIENT);
  subject.service.expectStop();
  expect(await (await stays).json()).toEqual({ jobs: [], next });
});

it("answers 500 to those who wait while the database can't be read", async () => {
  await using subject = await start();
  const { next } = await read(subject, null);
  const { answer } = await waiting(subject, next, 500);
  subject.db.exec("ALTER TABLE jobs RENAME TO gone");
  subject.store.changes.look();
  await answer;
  expect(subject.logger.text("error")).toContain("request failed");
});

/** How long a client is told to wait if no more may wait now; null if one more may. */
async function read429(subject: ServiceUnderTest, next: string): Promise<string | null> {
  const signal = AbortSignal.timeout(200);
  const headers = { authorization: `Bearer ${subject.keys["docs"]}` };
  const asked = fetch(`${subject.url}${FEED}?after=${next}&wait=60`, { headers, signal });
  const answer = await asked.catch(() => null);
  return answer?.status === 429 ? answer.headers.get("retry-after") : null;
}
