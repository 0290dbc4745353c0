import { describe, expect, it } from "vitest";
import { z } from "zod";
import { endTurn, newTurn } from "../../../src/app/rules/turn/turn.ts";
import { DocsAgentError } from "../../../src/shared/errors.ts";
import { createTaskHandler } from "../../../src/app/tasks/index.ts";
import { openTask, replyTask, watchTask } from "../../../src/app/rules/decisions/new-tasks.ts";
import { tellTask } from "../../../src/app/tasks/notices.ts";
import { turnWrites } from "../../../src/app/rules/decisions/turn-writes.ts";
import { makeJob, makeRequest } from "../../support/builders.ts";
import { TaskRig, lost, notSent, refused, type SlackFault } from "./setup.ts";

const HOUR_MS = 60 * 60_000;

const turn = newTurn(makeRequest());

const whose = { teamId: "T1", userId: "U1", channelId: "C1", responseUrl: null };

class StoreBusyError extends DocsAgentError {
  readonly code = "store_busy";
}

function always(fault: SlackFault): SlackFault[] {
  return Array.from({ length: 1000 }, () => fault);
}

/** Runs a task until it ends, or `hours` have gone by. */
async function runFor(rig: TaskRig, hours: number, run: (attempt: number) => Promise<{ kind: string }>) {
  const end = rig.clock.now() + hours * HOUR_MS;
  for (let attempt = 1; ; attempt += 1) {
    const ended = await run(attempt);
    if (ended.kind !== "retry" || rig.clock.now() >= end) return { ...ended, attempt };
    rig.clock.advanceTo((ended as unknown as { dueAt: number }).dueAt);
  }
}

describe("a message that Slack does not take", () => {
  it.each([notSent, lost])("is tried for a day: $fault.kind", async (fault) => {
    await using rig = await TaskRig.open();
    await rig.save(turn);
    rig.slack.faults.openDirectMessage = always(fault);
    const handler = createTaskHandler(rig.deps);
    const task = rig.task(tellTask(rig.task({ id: "x", type: "watch", payload: {} }), whose));
    const run = async (attempt: number) => rig.carryOut(await handler({ ...task, attempt }, rig.run));
    expect(await runFor(rig, 23, run)).toMatchObject({ kind: "retry" });
    expect(await runFor(rig, 48, (attempt) => run(attempt + 200))).toMatchObject({ kind: "dead" });
  });

  it("is not given up at its first fault because the app was off for two days", async () => {
    await using rig = await TaskRig.open();
    await rig.save(turn);
    const addedAt = rig.clock.now() - 48 * HOUR_MS;
    rig.slack.faults.post = [notSent, lost];
    const handler = createTaskHandler(rig.deps);
    const run = async (attempt: number) =>
      rig.carryOut(await handler(rig.task(openTask(turn), { addedAt, attempt }), rig.run));
    expect(await run(1)).toMatchObject({ kind: "retry", reason: "ratelimited" });
    rig.clock.advance(2000);
    expect(await run(2)).toMatchObject({ kind: "retry", reason: "timeout" });
    expect(rig.added).toEqual([]);
  });
});

describe("telling a person that something was given up", () => {
  const dead = { id: "open:1", type: "open", payload: {} };

  it("is tried again where their channel is only busy, and then says it once", async () => {
    await using rig = await TaskRig.open();
    rig.slack.faults.openDirectMessage = always(refused);
    rig.slack.faults.replyPrivately = [notSent, lost];
    const handler = createTaskHandler(rig.deps);
    const task = rig.task(tellTask(rig.task(dead), whose));
    const run = async (attempt: number) => rig.carryOut(await handler({ ...task, attempt }, rig.run));
    expect(await runFor(rig, 1, run)).toMatchObject({ kind: "done", attempt: 3 });
    expect(rig.slack.toldPrivately).toEqual([
      { kind: "gave-up", taskId: "open:1", taskType: "open", channelId: "C1" },
    ]);
  });

  it("ends where neither a direct message nor their channel takes it", async () => {
    await using rig = await TaskRig.open();
    rig.slack.faults.openDirectMessage = always(refused);
    rig.slack.faults.replyPrivately = always(refused);
    const task = rig.task(tellTask(rig.task(dead), whose));
    const step = await createTaskHandler(rig.deps)(task, rig.run);
    expect(await rig.carryOut(step)).toMatchObject({ kind: "dead" });
    expect(rig.added).toEqual([]);
  });
});

describe("what a handler throws", () => {
  /** Runs `open` on a turn whose record cannot be read because of `thrown`. */
  async function runWith(rig: TaskRig, thrown: unknown, overrides: object = {}) {
    const records: TaskRig["deps"]["records"] = {
      get: (kind, id) => (kind === "turn" ? Promise.reject(thrown) : rig.deps.records.get(kind, id)),
    };
    const handler = createTaskHandler({ ...rig.deps, records });
    return rig.carryOut(await handler(rig.task(openTask(turn), overrides), rig.run));
  }

  it("is final where the task's own payload cannot be read, and its person is told", async () => {
    await using rig = await TaskRig.open();
    const task = rig.task({ id: "open:1", type: "open", payload: { whose } });
    const end = await rig.carryOut(await createTaskHandler(rig.deps)(task, rig.run));
    expect(end).toEqual({
      kind: "dead",
      reason:
        "The payload of a task open cannot be read: turnId: invalid_type, thread: invalid_type, jobId: invalid_type.",
    });
    expect(rig.added.map(({ id }) => id)).toEqual(["tell:open:1"]);
  });

  it("is final where the record is gone", async () => {
    await using rig = await TaskRig.open();
    const step = await createTaskHandler(rig.deps)(rig.task(openTask(turn)), rig.run);
    expect(await rig.carryOut(step)).toMatchObject({ kind: "dead" });
  });

  it("is tried for a day where this version does not know the type of task: a newer replica may", async () => {
    await using rig = await TaskRig.open();
    const handler = createTaskHandler(rig.deps);
    const task = rig.task({ id: "tag:1", type: "tag", payload: { whose } });
    const run = async (attempt: number) => rig.carryOut(await handler({ ...task, attempt }, rig.run));
    const retried = await runFor(rig, 23, run);
    expect(retried).toMatchObject({ kind: "retry" });
    // Seconds apart, so that a newer replica soon has it.
    expect(retried.attempt).toBeGreaterThan((23 * HOUR_MS) / 20_000);
    expect(await runFor(rig, 48, (attempt) => run(attempt + 200))).toMatchObject({ kind: "dead" });
    expect(rig.added.map(({ id }) => id)).toEqual(["tell:tag:1"]);
  });

  it("is an unexpected failure where something else could not be parsed", async () => {
    await using rig = await TaskRig.open();
    const parsed = z.string().safeParse(1);
    expect(await runWith(rig, parsed.error)).toMatchObject({ kind: "retry", isUnexpected: true });
  });

  it("was foreseen where we throw it, and is tried for a day", async () => {
    await using rig = await TaskRig.open();
    const busy = new StoreBusyError("The store is busy.");
    const addedAt = rig.clock.now();
    expect(await runWith(rig, busy, { unexpectedFailures: 7 })).toMatchObject({ kind: "retry" });
    rig.clock.advance(25 * HOUR_MS);
    expect(await runWith(rig, busy, { addedAt, attempt: 1 })).toMatchObject({ kind: "retry" });
    expect(await runWith(rig, busy, { addedAt, attempt: 250 })).toMatchObject({ kind: "dead" });
  });

  it("ends the task at the eighth unexpected failure, however often it met foreseen faults before", async () => {
    await using rig = await TaskRig.open();
    const unexpected = new TypeError("x is not a function");
    expect(await runWith(rig, unexpected, { attempt: 300, unexpectedFailures: 6 })).toMatchObject({
      isUnexpected: true,
    });
    expect(await runWith(rig, unexpected, { unexpectedFailures: 7 })).toMatchObject({ kind: "dead" });
    expect(rig.added.map(({ id }) => id)).toEqual([`tell:open:${turn.id}`]);
  });
});

it("a watch that is abandoned ends every turn of the job that is watched", async () => {
  await using rig = await TaskRig.open();
  const stage = { name: "watching", since: 1, troubleSince: null } as const;
  const turns = ["command:1", "mention:2", "mention:3"].map((id) => ({
    ...newTurn(makeRequest({ id })),
    job: makeJob(),
    stage,
  }));
  const ended = endTurn(turns[2]!, "failed", 5);
  for (const watched of [turns[0]!, turns[1]!, ended]) {
    await rig.queue.commit((read) => ({ writes: turnWrites(rig.deps, read, watched), value: undefined }));
  }
  const task = rig.task(watchTask(turns[0]!, 0), { deaths: 8 });
  const step = await createTaskHandler(rig.deps)(task, rig.run);
  expect(await rig.carryOut(step)).toMatchObject({ kind: "dead" });
  for (const watched of turns.slice(0, 2)) {
    expect((await rig.saved(watched)).stage).toMatchObject({ outcome: { kind: "unknown" } });
  }
  expect((await rig.saved(ended)).stage).toEqual(ended.stage);
  expect(rig.added.map(({ id }) => id)).toEqual(["open:command:1", "open:mention:2"]);
});

it("a watch that is abandoned while it only follows a pull request says nothing", async () => {
  await using rig = await TaskRig.open();
  const ended = endTurn({ ...turn, job: makeJob() }, "pull-request", 5);
  await rig.queue.commit((read) => ({ writes: turnWrites(rig.deps, read, ended), value: undefined }));
  const task = rig.task(watchTask(ended, 0, true), { deaths: 8 });
  const step = await createTaskHandler(rig.deps)(task, rig.run);
  expect(await rig.carryOut(step)).toMatchObject({ kind: "dead" });
  expect(rig.added).toEqual([]);
});

it("a private answer to a mention that can be shown nowhere is given up quietly", async () => {
  await using rig = await TaskRig.open();
  rig.slack.faults.replyPrivately = [refused];
  rig.slack.faults.openDirectMessage = [refused];
  const task = replyTask("mention:1", {
    teamId: "T1",
    channelId: "C1",
    threadTs: null,
    userId: "U1",
    message: { kind: "help" },
  });
  const step = await createTaskHandler(rig.deps)(rig.task(task), rig.run);
  expect(await rig.carryOut(step)).toMatchObject({ kind: "dead" });
  expect(rig.added).toEqual([]);
});
