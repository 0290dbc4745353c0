import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import type { LeasedWork, WorkResult } from "../../../src/service/runner/protocol.ts";
import { RunnerStore } from "../../../src/service/jobs/runner-store.ts";
import { HandRunner } from "../../support/hand-runner.ts";
import { makeServiceProject } from "../../support/service-project.ts";
import { makeAskingAgent, type ServiceOptions, ServiceUnderTest } from "../../support/service-under-test.ts";

const NOTHING: WorkResult = { kind: "turn", result: { kind: "no-changes", summary: "All is well" } };

async function open(options: ServiceOptions = {}) {
  const subject = await ServiceUnderTest.start({ isWithoutRunner: true, ...options });
  let added = 0;
  /** A runner with a token of its own, or with that of another one. */
  const runner = (
    given: Partial<ConstructorParameters<typeof HandRunner>[1]> = {},
    allowed: string[] | null = null,
  ) => {
    added += 1;
    const name = `runner-${added}`;
    const made =
      given.token ??
      new RunnerStore(subject.db).add({
        keyPrefix: "docsagent",
        name,
        projects: allowed,
        nowMs: subject.clock.now(),
      })?.token ??
      "";
    return { token: made, hand: new HandRunner(() => subject.url, { ...given, token: made }) };
  };
  const create = async (prompt = "Fix", project = "docs"): Promise<string> => {
    const key = subject.keys[project] ?? "";
    const answer = await subject.ask(`/v2/agent/${project}/job`, { body: { prompt }, key });
    return ((await answer.json()) as { id: string }).id;
  };
  const turnOf = (id: string) => subject.store.turns(id)[0];
  /** Lets time pass, and what comes of it happen. */
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 500) {
      subject.clock.advance(Math.min(left, 500));
      await setImmediate();
    }
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  };
  /** Lets time pass until something is there, and leaves calls the time that they need. */
  const passUntil = async <T>(promise: Promise<T>): Promise<T> => {
    const there = promise.then(() => true);
    while ((await Promise.race([there, sleep(10)])) !== true) await pass(1_000);
    return await promise;
  };
  return {
    subject,
    runner,
    create,
    turnOf,
    pass,
    passUntil,
    [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose](),
  };
}

/** Everything that can be said about a piece of work. */
async function saidAbout(hand: HandRunner, work: Pick<LeasedWork, "id" | "token">): Promise<number[]> {
  const { id, token: lease } = work;
  const told = [
    await hand.report(work),
    await hand.call("GET", `/work/${id}/notes/turn`, { lease }),
    await hand.call("PUT", `/work/${id}/notes/turn`, { lease, body: { text: "null" } }),
    await hand.call("GET", `/work/${id}/attachments/0`, { lease }),
    await hand.call("POST", `/work/${id}/token`, { lease, body: {} }),
    await hand.call("GET", `/work/${id}/identity`, { lease }),
    await hand.end(work, NOTHING),
  ];
  return told.map(({ status }) => status);
}

it("gives a turn to a runner that asks, and takes what came of it", async () => {
  await using world = await open();
  const { hand } = world.runner();
  const id = await world.create("Fix the FAQ");
  const work = await hand.turn();
  expect(work).toMatchObject({
    id: `${id}.1.1`,
    leaseMs: 60_000,
    turn: { jobId: id, prompt: "Fix the FAQ" },
  });
  expect(world.turnOf(id)).toMatchObject({ state: "running", attempts: 1 });
  await hand.report(work, { report: { step: "Reading", lines: ["reads"], agentRuns: true } });
  expect(world.turnOf(id)).toMatchObject({ agentRuns: true });
  expect((await hand.end(work, NOTHING)).status).toBe(200);
  expect(world.turnOf(id)).toMatchObject({ state: "ended", outcome: "no-changes", summary: "All is well" });
  expect(world.turnOf(id)?.progress.join()).toContain("reads");
});

it("waits for a runner as long as none is there, and takes a report once that comes twice", async () => {
  await using world = await open();
  const { hand } = world.runner();
  const asked = hand.turn();
  const id = await world.create();
  const work = await asked;
  const once = { number: 7, report: { lines: ["the same line"] } };
  await hand.report(work, once);
  await hand.report(work, once);
  await hand.end(work, NOTHING);
  expect(world.turnOf(id)?.progress.filter((line) => line === "the same line")).toHaveLength(1);
});

it("gives a turn to another runner when the lease has ended, and refuses all that the first one still says", async () => {
  await using world = await open();
  const [one, two] = [world.runner().hand, world.runner().hand];
  const id = await world.create();
  const first = await one.turn();
  await one.report(first, { report: { agentRuns: true } });
  await world.pass(50_000);
  expect((await one.report(first)).status).toBe(200);
  await world.pass(61_000);
  const asked = two.turn();
  await world.pass(2_000);
  const second = await asked;
  expect(second.id).toBe(`${id}.1.2`);
  expect(await saidAbout(one, first)).toEqual([409, 409, 409, 409, 409, 409, 409]);
  // Nor with its token and the other's lease, or the other way round.
  expect(await saidAbout(one, { id: second.id, token: first.token })).toEqual([
    409, 409, 409, 409, 409, 409, 409,
  ]);
  expect(await saidAbout(one, second)).toEqual([409, 409, 409, 409, 409, 409, 409]);
  expect(await saidAbout(two, { id: first.id, token: second.token })).toEqual([
    409, 409, 409, 409, 409, 409, 409,
  ]);
  expect((await two.end(second, NOTHING)).status).toBe(200);
  expect(world.turnOf(id)).toMatchObject({ state: "ended", outcome: "no-changes", attempts: 2, losses: 1 });
  // An ended turn is over for the one that had it, too. Only its result is answered alike once more.
  expect(await saidAbout(two, second)).toEqual([409, 409, 409, 409, 409, 409, 200]);
});

it("gives a turn to another runner if the one that took it says nothing, without counting that", async () => {
  await using world = await open();
  const [one, two] = [world.runner().hand, world.runner().hand];
  const id = await world.create();
  const first = await one.turn();
  await world.pass(16_000);
  const asked = two.turn();
  await world.pass(2_000);
  const second = await asked;
  expect((await one.report(first)).status).toBe(409);
  await two.end(second, NOTHING);
  expect(world.turnOf(id)).toMatchObject({ attempts: 1, losses: 0 });
});

it("fails a turn whose runner was lost three times while its agent ran", async () => {
  await using world = await open();
  const { hand } = world.runner();
  const id = await world.create();
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const asked = hand.turn();
    await world.pass(2_000);
    const work = await asked;
    expect(work.id).toBe(`${id}.1.${attempt}`);
    await hand.report(work, { report: { agentRuns: true } });
    await world.pass(61_000);
  }
  await world.pass(2_000);
  await world.subject.service.queue.idle();
  expect(world.turnOf(id)).toMatchObject({
    outcome: "failed",
    reason: "The machine that worked on this was lost three times, so the agent isn't started again.",
  });
});

it("takes up a turn again that went on while the service was away, and what it had used counts once", async () => {
  await using world = await open({ projects: [makeServiceProject({ models: [] })] });
  const { subject } = world;
  const { hand } = world.runner();
  const id = await world.create();
  const usage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: null, calls: 1, costUsd: 0.5 };
  const work = await hand.turn();
  await hand.report(work, { report: { agentRuns: true, usage } });
  await world.pass(1_500);
  await subject.stop();
  await subject.start();
  await world.pass(2_000);
  await expect.poll(() => hand.report(work).then(({ status }) => status)).toBe(200);
  const twice = { ...usage, inputTokens: 20, costUsd: 1 };
  await hand.report(work, { report: { usage: twice } });
  const [ended, again] = [await hand.end(work, NOTHING), await hand.end(work, NOTHING)];
  expect([ended.status, again.status]).toEqual([200, 200]);
  expect(world.turnOf(id)).toMatchObject({ outcome: "no-changes", attempts: 1, usage: twice });
  expect(subject.logger.text("info")).toContain("turn is taken up");
});

it("takes up a turn after a crash of the service, and says to wait until then", async () => {
  await using world = await open();
  const { subject } = world;
  const { hand } = world.runner();
  const id = await world.create();
  const work = await hand.turn();
  await hand.report(work);
  await subject.crash();
  await subject.start();
  const answers = new Set<number>();
  await expect
    .poll(async () => {
      const { status } = await hand.report(work);
      answers.add(status);
      return status;
    })
    .toBe(200);
  expect([...answers].filter((status) => ![200, 503].includes(status))).toEqual([]);
  await hand.end(work, NOTHING);
  expect(world.turnOf(id)).toMatchObject({ outcome: "no-changes", attempts: 1 });
});

it("runs a turn again whose runner doesn't come back after a restart of the service", async () => {
  await using world = await open();
  const { subject } = world;
  const [one, two] = [world.runner().hand, world.runner().hand];
  const id = await world.create();
  const first = await one.turn();
  await one.report(first, { report: { agentRuns: true } });
  await subject.crash();
  await subject.start();
  const asked = two.turn();
  await world.pass(61_000);
  await world.pass(2_000);
  const second = await asked;
  expect(second.id).toBe(`${id}.1.2`);
  expect((await one.report(first)).status).toBe(409);
  await two.end(second, NOTHING);
  expect(world.turnOf(id)).toMatchObject({ outcome: "no-changes" });
});

it("loses the work of a runner that was started again at once", async () => {
  await using world = await open();
  const { hand } = world.runner();
  const id = await world.create();
  const work = await hand.turn();
  await hand.report(work);
  hand.session = "another";
  const asked = hand.turn();
  await world.pass(2_000);
  const again = await asked;
  expect(again.id).toBe(`${id}.1.2`);
  expect((await hand.report(work)).status).toBe(409);
});

it("tells a runner that its turn was canceled, and waits until it has stopped", async () => {
  await using world = await open();
  const { hand } = world.runner();
  const id = await world.create();
  const work = await hand.turn();
  const held = hand.report(work, { waitMs: 4_000 });
  await world.subject.ask(`/v2/agent/docs/job/${id}/turn/1/cancel`, { body: {} });
  expect((await held).body).toMatchObject({ isAborted: true });
  const failed: WorkResult = { kind: "failed", reason: "aborted", details: [], retryAfterMs: null };
  expect((await hand.end(work, failed)).status).toBe(200);
  expect(world.turnOf(id)).toMatchObject({ outcome: "cancelled" });
});

it("passes a question on, and the answer back, also if the report is repeated", async () => {
  await using world = await open({ projects: [makeServiceProject({ agent: makeAskingAgent() })] });
  const { hand } = world.runner();
  const id = await world.create();
  const work = await hand.turn();
  const asked = { text: "Which?", choices: [{ id: "a", label: "A" }], allowsText: false };
  const questions = [{ question: 1, asked }];
  await hand.report(work, { questions });
  await hand.report(work, { questions });
  const [question] = world.subject.store.questions.shown(id);
  expect(world.subject.store.questions.shown(id)).toHaveLength(1);
  const held = hand.report(work, { questions, waitMs: 4_000 });
  await world.subject.ask(`/v2/agent/docs/job/${id}/answer`, {
    body: { questionId: question?.id, choice: "a" },
  });
  expect((await held).body).toMatchObject({ answers: [{ question: 1, answer: { choice: "a" } }] });
  // Until the runner says that it has it.
  expect((await hand.report(work, { questions })).body["answers"]).toHaveLength(1);
  expect((await hand.report(work)).body["answers"]).toHaveLength(0);
});

it("keeps notes for the next runner, with which a push is recognized", async () => {
  await using world = await open();
  const [one, two] = [world.runner().hand, world.runner().hand];
  await world.create();
  const first = await one.turn();
  await one.call("PUT", `/work/${first.id}/notes/turn`, { lease: first.token, body: { text: '{"a":1}' } });
  await world.pass(61_000);
  const asked = two.turn();
  await world.pass(2_000);
  const second = await asked;
  const read = await two.call("GET", `/work/${second.id}/notes/turn`, { lease: second.token });
  expect(read.body).toEqual({ text: '{"a":1}' });
  expect((await two.call("GET", `/work/${second.id}/notes/closed`, { lease: second.token })).body).toEqual({
    text: null,
  });
});

it("prefers the machine that has the agent's session for half a minute", async () => {
  await using world = await open();
  const [one, two] = [world.runner({ places: 1 }).hand, world.runner({ places: 1 }).hand];
  const id = await world.create();
  const first = await one.turn();
  await one.end(first, NOTHING);
  const again = one.turn();
  const other = two.turn();
  await world.subject.ask(`/v2/agent/docs/job/${id}/message`, { body: { prompt: "More" } });
  expect((await again).id).toBe(`${id}.2.1`);
  await one.end(await again, NOTHING);
  // Now it doesn't ask, so the other one gets it, but not at once.
  const beganMs = world.subject.clock.now();
  await world.subject.ask(`/v2/agent/docs/job/${id}/message`, { body: { prompt: "And more" } });
  expect((await world.passUntil(other)).id).toBe(`${id}.3.1`);
  expect(world.subject.clock.now() - beganMs).toBeGreaterThanOrEqual(29_000);
});

it("gives a runner only turns of its projects, with its labels, and none while it drains", async () => {
  const projects = [
    makeServiceProject(),
    makeServiceProject({ id: "api", name: "API", runners: { labels: ["big"] } }),
  ];
  await using world = await open({ projects });
  const docs = world.runner({ labels: ["big"] }, ["docs"]).hand;
  const small = world.runner({}).hand;
  const big = world.runner({ labels: ["big"] }).hand;
  await world.create("one", "api");
  const gone = new AbortController();
  const asked = [docs, small].map((hand) => hand.ask({}, gone.signal).catch(() => null));
  const work = await big.turn();
  expect(work.turn.project.id).toBe("api");
  gone.abort();
  await Promise.all(asked);
  const store = new RunnerStore(world.subject.db);
  store.setDraining(store.byName("runner-3")?.id ?? "", true);
  await big.end(work, NOTHING);
  const id = await world.create("two", "api");
  expect((await world.passUntil(big.ask())).body).toEqual({ work: null });
  expect(world.turnOf(id)).toMatchObject({ state: "waiting" });
});

it("keeps the limit of a project over all runners", async () => {
  const limits = { createsPerHour: 100, messagesPerHour: 100, jobsAtOnce: 1, queued: 10 };
  await using world = await open({ projects: [makeServiceProject({ limits })] });
  const [one, two] = [world.runner({ places: 5 }).hand, world.runner({ places: 5 }).hand];
  await world.create("one");
  const id = await world.create("two");
  const first = await one.turn();
  const waiting = two.turn();
  expect(world.turnOf(id)).toMatchObject({ state: "waiting" });
  await one.end(first, NOTHING);
  expect((await waiting).turn.prompt).toBe("two");
});

it("says why it can't lend a token, in the words that a turn of its own runner has", async () => {
  const github = {
    kind: "github",
    apiUrl: "https://api.github.example",
    owner: "acme",
    repo: "docs",
  } as const;
  const app = { id: 7, installationId: 8, keyFile: "/nowhere/key.pem" };
  const codeHost = { ...github, app, pollSeconds: 60 };
  await using world = await open({ projects: [makeServiceProject({ codeHost })] });
  const { hand } = world.runner();
  await world.create();
  const { id, token: lease } = await hand.turn();
  const told = await hand.call("POST", `/work/${id}/token`, { lease, body: {} });
  expect(told.status).toBe(422);
  expect(told.body).toMatchObject({
    error: "The code host's App can't be used, because its key can't.",
    isFinal: true,
    details: [expect.stringContaining("/nowhere/key.pem")],
  });
});

it("believes no link of a runner's that leads elsewhere", async () => {
  const codeHost = { kind: "github", apiUrl: "https://api.github.com", owner: "acme", repo: "docs" } as const;
  const project = makeServiceProject({ codeHost: { ...codeHost, tokenEnv: "T", pollSeconds: 60 } });
  await using world = await open({ projects: [project] });
  const { hand } = world.runner();
  const id = await world.create();
  const work = await hand.turn();
  const link = "https://phish.example/acme/docs/pull/1";
  const result = { kind: "pull-request" as const, prLink: link, summary: null, leftOut: [] };
  await hand.end(work, { kind: "turn", result });
  expect(world.turnOf(id)).toMatchObject({ state: "waiting", outcome: null });
  expect(world.subject.store.job(id)?.prLink).toBeNull();
});
