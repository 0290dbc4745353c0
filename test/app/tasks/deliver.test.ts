import { describe, expect, it } from "vitest";
import { STATUS_SLOT, outcomeSlot } from "../../../src/app/rules/turn/delivery.ts";
import type { NewTask, TaskEnd } from "../../../src/shared/queue/task-queue.ts";
import { endTurn, newTurn, resumeTurn, type Turn } from "../../../src/app/rules/turn/turn.ts";
import { deliver } from "../../../src/app/tasks/deliver.ts";
import { deliverTasks, openTask, refreshTask } from "../../../src/app/rules/decisions/new-tasks.ts";
import { StoreAnswerLostError } from "../../../src/shared/store/store-errors.ts";
import type { TaskDeps } from "../../../src/app/rules/ports/deps.ts";
import { open } from "../../../src/app/tasks/open.ts";
import { refresh } from "../../../src/app/tasks/refresh.ts";
import { makeJob, makeRequest } from "../../support/builders.ts";
import { TaskRig, lost, refused } from "./setup.ts";

const handlers = { open, deliver, refresh };

/** Runs a task, at the times it asks for, until it ends; returns how. */
async function runTask(rig: TaskRig, added: NewTask): Promise<TaskEnd> {
  const handle = handlers[added.type as keyof typeof handlers];
  let task = rig.task(added);
  for (;;) {
    const end = await rig.carryOut(await handle(rig.deps, task));
    if (end.kind === "done" || end.kind === "dead") return end;
    rig.clock.advanceTo(end.dueAt);
    const attempt = end.kind === "retry" ? task.attempt + 1 : task.attempt;
    task = { ...task, attempt, payload: end.payload ?? task.payload };
  }
}

/** Runs what was added, and what that adds, until nothing is left. */
async function runAll(rig: TaskRig): Promise<void> {
  for (let next = rig.added.shift(); next !== undefined; next = rig.added.shift()) {
    await runTask(rig, next);
  }
}

function said(rig: TaskRig): string[] {
  return rig.slack.posts.map(({ place, label }) => `${place.channelId} ${label.post}`);
}

async function accepted(rig: TaskRig): Promise<Turn> {
  const turn = newTurn(makeRequest({ receivedAt: rig.clock.now() }));
  await rig.save(turn);
  return turn;
}

async function end(rig: TaskRig, turn: Turn): Promise<Turn> {
  const ended = endTurn({ ...(await rig.saved(turn)), job: makeJob() }, "expired", rig.clock.now());
  await rig.save(ended);
  return ended;
}

it("a store that does not answer when a post is about to be sent: it was not sent, so nobody looks for it", async () => {
  await using rig = await TaskRig.open();
  const turn = await accepted(rig);
  const task = rig.task(openTask(turn));
  const deps: TaskDeps = {
    ...rig.deps,
    async commit(decide) {
      await rig.queue.commit(decide);
      throw new StoreAnswerLostError("redis://there", "no answer within 1.5 s", "");
    },
  };
  const end = await rig.carryOut(await open(deps, task));
  expect(end).toMatchObject({ kind: "retry" });
  expect((await rig.saved(turn)).delivery.slots).toEqual({});
  await runTask(rig, openTask(turn));
  expect(said(rig)).toEqual(["C1 status"]);
  expect(rig.slack.looks).toBe(0);
});

it("a store that has lost that a post was sent: a task that ran before looks for it, and posts it if it isn't there", async () => {
  await using rig = await TaskRig.open();
  const turn = await accepted(rig);
  await runTask(rig, openTask(turn));
  for (const isThere of [true, false]) {
    await rig.save(turn);
    if (!isThere) rig.slack.posts.length = 0;
    const end = await rig.carryOut(await open(rig.deps, rig.task(openTask(turn), { deaths: 1 })));
    expect(end).toMatchObject({ kind: "wait" });
    await runTask(rig, openTask(turn));
    expect(said(rig)).toEqual(["C1 status"]);
  }
  expect(rig.slack.looks).toBe(2);
});

describe("the outcome", () => {
  it("follows the status message, in its thread, once, though the turn ended before that was there", async () => {
    await using rig = await TaskRig.open();
    const turn = await end(rig, await accepted(rig));
    expect(deliverTasks(turn)).toEqual([]);
    await runTask(rig, openTask(turn));
    await runAll(rig);
    expect(said(rig)).toEqual(["C1 status", "C1 outcome-1"]);
    const delivered = await rig.saved(turn);
    expect(rig.slack.posts[1]?.place.threadTs).toBe(delivered.delivery.slots[STATUS_SLOT]?.ts);
    expect(deliverTasks(delivered)).toEqual([]);
  });

  it("goes to a direct message when the channel is archived, and the status message stays what it was", async () => {
    await using rig = await TaskRig.open();
    const turn = await accepted(rig);
    await runTask(rig, openTask(turn));
    const [task] = deliverTasks(await end(rig, turn));
    rig.slack.faults.post = [refused];
    if (task !== undefined) await runTask(rig, task);
    expect(said(rig)).toEqual(["C1 status", "D1 outcome-1"]);
    const { delivery } = await rig.saved(turn);
    const outcome = delivery.slots[outcomeSlot(1)];
    expect(outcome).toMatchObject({ channelId: "D1", ts: expect.any(String) });
    // What comes later of the turn stands in the thread of that message.
    expect(delivery).toMatchObject({ channelId: "D1", threadTs: outcome?.ts, away: "is_archived" });
    expect(delivery.slots[STATUS_SLOT]).toMatchObject({ channelId: "C1" });
  });

  it("is given up only when the direct message is refused for good, too", async () => {
    await using rig = await TaskRig.open();
    const turn = await accepted(rig);
    rig.slack.faults.post = [refused];
    rig.slack.faults.openDirectMessage = [lost, refused];
    expect(await runTask(rig, openTask(turn))).toMatchObject({ kind: "done" });
    expect(said(rig)).toEqual(["C1 status"]);
    const [task] = deliverTasks(await end(rig, turn));
    rig.slack.faults.post = [refused, refused];
    rig.slack.faults.openDirectMessage = [lost, refused];
    expect(task && (await runTask(rig, task))).toMatchObject({ kind: "dead" });
  });

  it("of a watch that somebody prolonged is not said any more; that of the next watch is", async () => {
    await using rig = await TaskRig.open();
    const turn = await accepted(rig);
    await runTask(rig, openTask(turn));
    const ended = await end(rig, turn);
    const [first] = deliverTasks(ended);
    await rig.save(resumeTurn(ended, rig.clock.now()));
    expect(first && (await runTask(rig, first))).toEqual({ kind: "done" });
    expect(said(rig)).toEqual(["C1 status"]);
    const [second] = deliverTasks(await end(rig, turn));
    if (second !== undefined) await runTask(rig, second);
    expect(said(rig)).toEqual(["C1 status", "C1 outcome-2"]);
    expect((await rig.saved(turn)).delivery.slots).toHaveProperty(outcomeSlot(2));
  });
});

describe("the status message", () => {
  it("shows in the end how the turn stands, whatever changed while it was updated", async () => {
    await using rig = await TaskRig.open();
    const turn = await accepted(rig);
    await runTask(rig, openTask(turn));
    const watching: Turn = {
      ...(await rig.saved(turn)),
      stage: { name: "watching", since: 1, troubleSince: null },
    };
    await rig.save(watching);
    const step = await refresh(rig.deps, rig.task(refreshTask(watching)));
    await end(rig, turn);
    expect(await rig.carryOut(step)).toMatchObject({ kind: "again" });
    expect(await runTask(rig, refreshTask(watching))).toEqual({ kind: "done" });
    expect((await rig.saved(turn)).delivery.shown).toBe("ended-1");
  });

  it("is not touched while it shows what is true", async () => {
    await using rig = await TaskRig.open();
    const turn = await accepted(rig);
    await runTask(rig, openTask(turn));
    rig.slack.faults.update = [lost];
    expect(await runTask(rig, refreshTask(await rig.saved(turn)))).toEqual({ kind: "done" });
    expect(rig.slack.faults.update).toHaveLength(1);
  });
});
