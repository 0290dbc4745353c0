import { expect, it } from "vitest";
import type { JobServiceAnswer } from "../../../src/app/rules/ports/job-service.ts";
import { jobKey, projectKey } from "../../../src/app/rules/project.ts";
import { sentJobAppend } from "../../../src/app/rules/turn/watching.ts";
import { endTurn, newTurn, resumeTurn, type Turn } from "../../../src/app/rules/turn/turn.ts";
import { turnWrites } from "../../../src/app/rules/decisions/turn-writes.ts";
import { openSqliteStore } from "../../../src/shared/store/sqlite/open-sqlite-store.ts";
import { backoffMs } from "../../../src/app/tasks/service-backoff.ts";
import { feedTasks, submitTask, watchTask } from "../../../src/app/rules/decisions/new-tasks.ts";
import { feed } from "../../../src/app/tasks/feed.ts";
import { submit } from "../../../src/app/tasks/submit.ts";
import { watch } from "../../../src/app/tasks/watch.ts";
import { makeJob, makeRequest } from "../../support/builders.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { TaskRig } from "./setup.ts";
import { recordSchemas } from "../../../src/app/rules/records.ts";

const PR = "https://github.com/acme/docs/pull/7";

const DAY_MS = 24 * 60 * 60_000;

const done: JobServiceAnswer = {
  ok: true,
  honorsIdempotencyKeys: false,
  job: makeJob({ status: "completed" }),
};

/** Ends all of a job's turns, whichever it is asked about. */
const archived: JobServiceAnswer = {
  ok: true,
  honorsIdempotencyKeys: false,
  job: makeJob({ status: "archived" }),
};

const gone: JobServiceAnswer = {
  ok: false,
  honorsIdempotencyKeys: false,
  fault: { kind: "missing", status: 404, message: "404" },
};

/** A turn that has been watched for so long, with its job's record. */
async function watchedTurn(rig: TaskRig, id = "command:1.2.3", forMs = 0): Promise<Turn> {
  const now = rig.clock.now();
  const turn: Turn = {
    ...newTurn(makeRequest({ id, receivedAt: now - forMs })),
    job: makeJob(),
    stage: { name: "watching", since: now - forMs, troubleSince: null },
  };
  await rig.queue.commit((read) => ({ writes: turnWrites(rig.deps, read, turn), value: undefined }));
  return turn;
}

function outcomeOf({ stage }: Turn): unknown {
  return stage.name === "ended" ? [stage.outcome.kind, stage.outcome.reason] : stage.name;
}

it("a job service that says when to come back is asked by nobody about that project before", async () => {
  await using rig = await TaskRig.open();
  const turns = [await watchedTurn(rig, "command:1"), await watchedTurn(rig, "command:2")];
  const submitted = newTurn(makeRequest({ id: "command:3", receivedAt: rig.clock.now() }));
  await rig.save(submitted);
  const told = rig.clock.now() + 90_000;
  rig.answers.unshift({
    ok: false,
    honorsIdempotencyKeys: false,
    fault: { kind: "not-created", status: 429, retryAfterMs: 90_000, message: "429" },
  });
  const polls = turns.map((turn) => rig.task(watchTask(turn, 0)));
  const create = rig.task(submitTask(submitted));
  for (const poll of polls) {
    expect(await rig.carryOut(await watch(rig.deps, poll))).toMatchObject({ kind: "again", dueAt: told });
  }
  const held = await rig.carryOut(await submit(rig.deps, create));
  expect(held).toMatchObject({ kind: "retry", dueAt: told });
  expect([rig.gets, rig.creates]).toEqual([1, []]);
  // The person sees it: the request is kept.
  expect((await rig.saved(submitted)).stage).toMatchObject({
    name: "accepted",
    waitingSince: expect.any(Number),
  });

  rig.clock.advance(90_000);
  await rig.carryOut(await submit(rig.deps, create));
  await rig.carryOut(await watch(rig.deps, polls[1] ?? create));
  expect([rig.gets, rig.creates.length]).toEqual([2, 1]);
});

it("a service without a backoff holds nothing up, however the clock ticks", async () => {
  let ticks = 0;
  const clock = {
    now: () => (ticks += 1),
    wallMs: () => ticks,
    monotonicMs: () => 0,
    wakeAt: () => () => {},
  };
  await using store = await openSqliteStore({
    schemas: recordSchemas,
    url: "memory://",
    clock,
    logger: new RecordingLogger(),
  });
  const deps = { clock, rateLimiter: store.rateLimiter, logger: new RecordingLogger() };
  expect(await backoffMs(deps, makeRequest().project)).toBe(0);
});

it("one poll ends every turn of the job that is open", async () => {
  await using rig = await TaskRig.open();
  const first = await watchedTurn(rig, "command:1");
  const second = await watchedTurn(rig, "mention:2");
  rig.answers[0] = archived;
  const step = await watch(rig.deps, rig.task(watchTask(first, 0)));
  expect(await rig.carryOut(step)).toEqual({ kind: "done" });
  expect(rig.gets).toBe(1);
  expect(outcomeOf(await rig.saved(first))).toEqual(["archived", null]);
  expect(outcomeOf(await rig.saved(second))).toEqual(["archived", null]);
});

it("a turn that has reached its deadline ends, while another of the same job is watched further", async () => {
  await using rig = await TaskRig.open();
  const old = await watchedTurn(rig, "command:1", DAY_MS);
  const young = await watchedTurn(rig, "mention:2");
  const task = watchTask(old, 0);
  const end = await rig.carryOut(await watch(rig.deps, rig.task(task)));
  expect(end).toMatchObject({ kind: "again", dueAt: rig.clock.now() + 5000 });
  // The next poll confirms that the clock was right.
  expect(outcomeOf(await rig.saved(old))).toBe("watching");
  const payload = "payload" in end ? end.payload : null;
  await rig.carryOut(await watch(rig.deps, rig.task({ ...task, payload })));
  expect(outcomeOf(await rig.saved(old))).toEqual(["expired", "deadline"]);
  expect(outcomeOf(await rig.saved(young))).toBe("watching");
});

it("a turn that somebody keeps watching while the poll is under way is watched further", async () => {
  await using rig = await TaskRig.open();
  const turn = await watchedTurn(rig, "command:1", DAY_MS);
  const step = await watch(rig.deps, rig.task(watchTask(turn, 0)));
  const resumed = resumeTurn(endTurn(turn, "expired", rig.clock.now()), rig.clock.now());
  await rig.save(resumed);
  expect(await rig.carryOut(step)).toMatchObject({ kind: "again" });
  expect(await rig.saved(turn)).toMatchObject({ watch: 2, stage: { name: "watching" } });
});

it("an answer says nothing of a turn that began while the poll was under way", async () => {
  await using rig = await TaskRig.open();
  const first = await watchedTurn(rig, "command:1");
  rig.answers[0] = archived;
  const step = await watch(rig.deps, rig.task(watchTask(first, 0)));
  const second = await watchedTurn(rig, "mention:2");
  await rig.carryOut(step);
  expect(outcomeOf(await rig.saved(first))).toEqual(["archived", null]);
  expect(outcomeOf(await rig.saved(second))).toBe("watching");
  // Not even where the job's record was read before that.
  const third = await watchedTurn(rig, "mention:3");
  const late = await watch(rig.deps, rig.task(watchTask(first, 0)));
  const resumed = resumeTurn(endTurn(third, "expired", 1), rig.clock.now());
  await rig.save(resumed);
  expect(await rig.carryOut(late)).toMatchObject({ kind: "again" });
  expect(outcomeOf(await rig.saved(second))).toEqual(["archived", null]);
  expect(await rig.saved(third)).toMatchObject({ watch: 2, stage: { name: "watching" } });
});

it("what happened to a turn's messages while the poll was under way stays", async () => {
  await using rig = await TaskRig.open();
  const turn = await watchedTurn(rig);
  rig.answers[0] = done;
  const step = await watch(rig.deps, rig.task(watchTask(turn, 0)));
  await rig.save({ ...turn, delivery: { ...turn.delivery, shown: "accepted" } });
  await rig.carryOut(step);
  expect(await rig.saved(turn)).toMatchObject({ stage: { name: "ended" }, delivery: { shown: "accepted" } });
});

it("an answer that would end the turn is asked for again over minutes, through restarts", async () => {
  await using rig = await TaskRig.open();
  const turn = await watchedTurn(rig);
  rig.answers[0] = gone;
  const start = rig.clock.now();
  let task = rig.task(watchTask(turn, 0));
  for (;;) {
    const end = await rig.carryOut(await watch(rig.deps, task));
    if (end.kind !== "again") break;
    rig.clock.advanceTo(end.dueAt);
    // As a process that has just started reads it.
    task = { ...task, payload: JSON.parse(JSON.stringify(end.payload)) };
  }
  expect(outcomeOf(await rig.saved(turn))).toEqual(["missing", null]);
  expect(rig.gets).toBeGreaterThanOrEqual(3);
  expect(rig.clock.now() - start).toBeGreaterThanOrEqual(180_000);
});

it("a poll looks at a job's 100 oldest open turns, and the next ones at once when these have ended", async () => {
  await using rig = await TaskRig.open();
  const turns: Turn[] = [];
  for (let n = 0; n < 250; n += 1) turns.push(await watchedTurn(rig, `mention:${n}`));
  const [first] = turns;
  if (first === undefined) throw new Error("there is no turn");
  const ended: number[] = [];
  for (const task = rig.task(watchTask(first, 0)); ;) {
    const step = await watch(rig.deps, task);
    rig.answers.splice(0, rig.answers.length, archived);
    const end = await rig.carryOut(step);
    const now = await Promise.all(turns.map((turn) => rig.saved(turn)));
    ended.push(now.filter(({ stage }) => stage.name === "ended").length);
    if (end.kind !== "again") break;
    if (ended.at(-1) === 0) rig.clock.advanceTo(end.dueAt);
    else expect(end.dueAt).toBe(rig.clock.now());
  }
  expect(ended).toEqual([0, 100, 200, 250]);
});

it("a project that is not configured any more ends the turn, and it can be watched again", async () => {
  await using rig = await TaskRig.open();
  const turn = await watchedTurn(rig);
  const step = await watch(
    { ...rig.deps, jobServices: { of: () => undefined } },
    rig.task(watchTask(turn, 0)),
  );
  expect(await rig.carryOut(step)).toEqual({ kind: "done" });
  expect(outcomeOf(await rig.saved(turn))).toEqual(["rejected", "project"]);
});

it("what is only followed is looked at without a word where its project isn't configured, and ends with its record", async () => {
  await using rig = await TaskRig.open();
  const turn = await watchedTurn(rig);
  await rig.queue.commit((read) => {
    const job = makeJob({ status: "completed", prLink: PR });
    const ended = endTurn(turn, "pull-request", rig.clock.now(), { job });
    return { writes: turnWrites(rig.deps, read, ended), value: undefined };
  });
  const deps = { ...rig.deps, jobServices: { of: () => undefined } };
  const task = rig.task(watchTask(turn, 0, true));
  expect(await rig.carryOut(await watch(deps, task))).toMatchObject({ kind: "again" });
  expect(rig.logger.text("error")).toBe("");
  rig.clock.advance(200 * DAY_MS);
  expect(await rig.carryOut(await watch(deps, task))).toEqual({ kind: "done" });
});

it("jobs are polled at once when a feed breaks off, whatever the clock of the replica that heard it last", async () => {
  await using rig = await TaskRig.open();
  const turn = await watchedTurn(rig);
  const { project } = turn.request;
  const record = {
    version: 1 as const,
    cursor: "c1",
    heardAt: rig.clock.now() - 10 * 60_000,
    waitingReviews: null,
    faults: 0,
    quick: 0,
  };
  await rig.queue.commit(() => ({
    writes: [{ kind: "feed", id: projectKey(project), record, ttlMs: DAY_MS }],
    appends: [sentJobAppend(project, "job-1", rig.deps.polling)],
    value: undefined,
  }));
  const [task] = feedTasks(project, project.service, { level: 1 });
  if (task === undefined) throw new Error("there is no feed");
  await rig.carryOut(await feed(rig.deps, rig.task(task)));
  expect(rig.added.map(({ type }) => type)).toEqual(["watch"]);
  // It is tried again, and the jobs are being polled by then.
  await rig.carryOut(await feed(rig.deps, rig.task(task)));
  expect(rig.added).toHaveLength(1);
});

it("a feed doesn't end its request again and again while the app stops", async () => {
  await using rig = await TaskRig.open();
  const { project } = makeRequest();
  const [task] = feedTasks(project, project.service, { level: 1 });
  if (task === undefined) throw new Error("there is no feed");
  const stopping = AbortSignal.abort();
  const end = await rig.carryOut(await feed({ ...rig.deps, stopping }, rig.task(task)));
  expect(end).toEqual({ kind: "wait", dueAt: rig.clock.now() + 1_000 });
});

it("nothing is asked when nothing is watched any more", async () => {
  await using rig = await TaskRig.open();
  const turn = await watchedTurn(rig);
  await rig.save(endTurn(turn, "failed", rig.clock.now()));
  const step = await watch(rig.deps, rig.task(watchTask(turn, 0)));
  expect(await rig.carryOut(step)).toEqual({ kind: "done" });
  expect(rig.gets).toBe(0);
});

it("the job's record names its open turns, their pull request, and the thread it reports into", async () => {
  await using rig = await TaskRig.open();
  const write = (turn: Turn) =>
    rig.queue.commit((read) => ({ writes: turnWrites(rig.deps, read, turn), value: undefined }));
  const first = await watchedTurn(rig, "command:1", 1_000);
  const second = await watchedTurn(rig, "mention:2");
  const inThread = { ...second, delivery: { ...second.delivery, threadTs: "1.1" } };
  for (const turn of [inThread, inThread]) await write(turn);
  const key = jobKey(first.request.project, "job-1");
  expect(await rig.deps.records.get("job", key)).toMatchObject({
    openTurnIds: ["command:1", "mention:2"],
    thread: { teamId: "T1", channelId: "C1", ts: "1.1" },
  });
  expect(await rig.deps.records.get("thread", "T1:C1:1.1")).toMatchObject({ turnIds: ["mention:2"] });

  const job = makeJob({ id: "job-1", status: "completed", prLink: PR });
  for (const turn of [first, inThread]) await write(endTurn(turn, "pull-request", rig.clock.now(), { job }));
  expect(await rig.deps.records.get("job", key)).toMatchObject({
    openTurnIds: [],
    pullRequest: { url: PR, turnId: "command:1" },
  });
  // Whoever is watched again stands where it stood.
  for (const turn of [inThread, first]) await write(resumeTurn(turn, rig.clock.now()));
  expect((await rig.deps.records.get("job", key))?.openTurnIds).toEqual(["command:1", "mention:2"]);
});
