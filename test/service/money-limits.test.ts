import { expect, it, vi } from "vitest";
import type { Usage } from "../../src/shared/contract/turn.ts";
import { PATIENT } from "../support/patient.ts";
import { makeServiceProject } from "../support/service-project.ts";
import { resultNamed } from "../support/scripted-runner.ts";
import { ServiceUnderTest } from "../support/service-under-test.ts";

const JOBS = "/v2/agent/docs/job";
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const limits = { createsPerHour: 100, messagesPerHour: 100, jobsAtOnce: 1, queued: 100 };
const LEVEL = { "docs-agent-capabilities": "docs-agent/1" };

/** On a Monday, January 5, at 9:00 UTC. */
function start(over: { usdPerDay?: number; usdPerMonth?: number }): Promise<ServiceUnderTest> {
  return ServiceUnderTest.start({
    projects: [
      makeServiceProject({ limits: { ...limits, ...over } }),
      makeServiceProject({ id: "api", limits: { ...limits, ...over } }),
    ],
  });
}

async function create(subject: ServiceUnderTest, project = "docs"): Promise<string> {
  const path = `/v2/agent/${project}/job`;
  const response = await subject.ask(path, { body: { prompt: "Fix" }, key: subject.keys[project] ?? null });
  expect(response.status).toBe(201);
  return ((await response.json()) as { id: string }).id;
}

function costing(costUsd: number): Usage {
  return { inputTokens: 1000, outputTokens: 100, cachedInputTokens: 0, calls: 1, costUsd };
}

/** Runs the job's first turn to its end. */
async function spend(subject: ServiceUnderTest, jobId: string, costUsd: number): Promise<void> {
  const run = await subject.runner.runOf(jobId);
  run.input.report({ usage: costing(costUsd) });
  run.end(resultNamed(jobId, "no-changes"));
  await untilTurn(subject, jobId, ({ status }) => status === "ended");
}

type Turn = { status: string; held?: { reason: string; until: string } };

/** The first turn of a job as a client sees it, once it is as expected. */
async function untilTurn(
  subject: ServiceUnderTest,
  jobId: string,
  isAsExpected: (turn: Turn) => boolean,
): Promise<Turn> {
  return await vi.waitFor(async () => {
    const answer = await subject.ask(`${JOBS}/${jobId}`, { headers: LEVEL });
    const [turn] = ((await answer.json()) as { turns: Turn[] }).turns;
    if (turn === undefined || !isAsExpected(turn)) throw new Error(JSON.stringify(turn));
    return turn;
  }, PATIENT);
}

const isHeld = ({ held }: Turn) => held !== undefined;

it("holds the next turn until the next day once the day's budget is used up, also after a restart", async () => {
  await using subject = await start({ usdPerDay: 2 });
  await spend(subject, await create(subject), 1.25);
  await spend(subject, await create(subject), 0.75);
  const third = await create(subject);
  expect(await untilTurn(subject, third, isHeld)).toMatchObject({
    status: "waiting",
    held: { reason: "Today's budget of $2.00 is used up.", until: "2026-01-06T00:00:00Z" },
  });
  // A client of the contract alone sees a job as before.
  const plain = (await (await subject.ask(`${JOBS}/${third}`)).json()) as { status: string };
  expect(plain).toMatchObject({ status: "active" });
  expect(plain).not.toHaveProperty("turns");

  await subject.stop();
  await subject.start();
  await subject.service.queue.check();
  // Another project has a budget of its own.
  await subject.runner.runOf(await create(subject, "api"));
  await untilTurn(subject, third, isHeld);
  subject.clock.advance(15 * HOUR_MS - MINUTE_MS);
  expect(await untilTurn(subject, third, isHeld)).toMatchObject({ status: "waiting" });

  subject.clock.advance(MINUTE_MS);
  await subject.runner.runOf(third);
  expect(await untilTurn(subject, third, ({ status }) => status === "running")).not.toHaveProperty("held");
});

it("holds it until the next month, and counts what forgotten jobs cost", async () => {
  await using subject = await start({ usdPerDay: 100, usdPerMonth: 3 });
  const first = await create(subject);
  await spend(subject, first, 3);
  expect((await subject.ask(`${JOBS}/${first}/archive`, { method: "POST" })).status).toBe(200);
  subject.clock.advance(2 * DAY_MS);
  expect(subject.store.retention.forgetArchived("docs", subject.clock.now(), 10)).toBe(1);

  const held = await create(subject);
  expect((await untilTurn(subject, held, isHeld)).held).toEqual({
    reason: "This month's budget of $3.00 is used up.",
    until: "2026-02-01T00:00:00Z",
  });
  // It can be canceled meanwhile, and is gone.
  expect((await subject.ask(`${JOBS}/${held}/turn/1/cancel`, { method: "POST" })).status).toBe(200);
  const next = await create(subject);
  await untilTurn(subject, next, isHeld);
  subject.clock.advance(Date.UTC(2026, 1, 1) - subject.clock.now());
  await subject.runner.runOf(next);
  expect(subject.runner.runs.map(({ input }) => input.jobId)).toEqual([first, next]);
});

it("counts what a running turn has cost so far, and lets it go on", { tags: "all" }, async () => {
  const projects = [makeServiceProject({ limits: { ...limits, jobsAtOnce: 2, usdPerDay: 1 } })];
  await using subject = await ServiceUnderTest.start({ projects });
  const first = await create(subject);
  const run = await subject.runner.runOf(first);
  run.input.report({ usage: costing(1.5) });
  // It is written every few seconds.
  subject.clock.advance(10_000);
  await expect.poll(() => subject.store.spending.spentSince("docs", 0)).toBe(1.5);
  const second = await create(subject);
  await untilTurn(subject, second, isHeld);
  expect(run.input.signal.aborted).toBe(false);
  run.end(resultNamed(first, "pull-request"));
  await untilTurn(subject, first, ({ status }) => status === "ended");
});

it("starts the turns that waited once the limit is raised", { tags: "all" }, async () => {
  await using subject = await start({ usdPerDay: 1 });
  await spend(subject, await create(subject), 1);
  const held = await create(subject);
  await untilTurn(subject, held, isHeld);
  await subject.stop();
  subject.projects[0] = makeServiceProject({ limits: { ...limits, usdPerDay: 2 } });
  await subject.start();
  expect((await subject.runner.runOf(held)).input.number).toBe(1);
});
