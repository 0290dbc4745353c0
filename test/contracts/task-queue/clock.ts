import { expect, it } from "vitest";
import { ScriptedHandler, done, gate } from "../../support/scripted-handler.ts";
import { turns } from "../../support/turns.ts";
import type { TaskQueueSubject } from "../task-queue.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS, task } from "./task.ts";

/** The time that a queue may take to notice that the clock was set. */
const NOTICED_WITHIN_MS = 10 * SECOND_MS;

/** Lets everything happen that needs no time: due tasks start, run, and end on the disk. */
async function round(subject: TaskQueueSubject): Promise<void> {
  for (let n = 0; n < 3; n += 1) {
    await turns();
    await subject.settled();
  }
}

/** Tests setting the machine's clock while tasks wait. */
export function describeClock(open: () => Promise<TaskQueueSubject>): void {
  /** Lets time pass in steps, so that tasks which become due on the way also run on the way. */
  async function pass(subject: TaskQueueSubject, ms: number, stepMs = SECOND_MS): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      subject.advance(stepMs);
      await round(subject);
    }
  }

  it("runs what waits in time after the clock is set back by an hour", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    handler.on("polls", () => ({ kind: "again", dueAt: subject.now() + MINUTE_MS }));
    subject.queue.start(handler.handle);
    await subject.queue.add(task("polls"));
    await subject.queue.add(task("waits", { dueAt: subject.now() + MINUTE_MS }));
    await subject.idle();

    subject.setClock(-HOUR_MS);
    await pass(subject, MINUTE_MS + NOTICED_WITHIN_MS);
    expect(handler.order().toSorted()).toEqual(["polls", "polls", "waits"]);
    await subject.queue.add(task("new"));
    await round(subject);
    expect(handler.order()).toContain("new");
    await pass(subject, MINUTE_MS);
    expect(handler.runsOf("polls")).toHaveLength(3);
  });

  it("brings what waits no nearer than the clock was set back", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    subject.queue.start(handler.handle);
    await subject.queue.add(task("waits", { dueAt: subject.now() + 2 * MINUTE_MS }));
    await subject.idle();
    subject.setClock(-HOUR_MS);
    await pass(subject, 2 * MINUTE_MS - NOTICED_WITHIN_MS);
    expect(handler.order()).toEqual([]);
    await pass(subject, 2 * NOTICED_WITHIN_MS);
    expect(handler.order()).toEqual(["waits"]);
  });

  it("runs a task in time whose run ends after the clock was set back", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    const held = gate();
    handler.on("a", held.script, done);
    subject.queue.start(handler.handle);
    await subject.queue.add(task("a"));
    await handler.started("a");
    subject.setClock(-HOUR_MS);
    await pass(subject, NOTICED_WITHIN_MS);
    held.open({ kind: "again", dueAt: subject.now() + MINUTE_MS });
    await round(subject);
    await pass(subject, MINUTE_MS + SECOND_MS);
    expect(handler.order()).toEqual(["a", "a"]);
  });

  it("runs once more in time what was added as it ran, before the clock was set back", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    const held = gate();
    handler.on("a", held.script, done);
    subject.queue.start(handler.handle);
    await subject.queue.add(task("a", { onDuplicate: "latest" }));
    await handler.started("a");
    await subject.queue.add(task("a", { onDuplicate: "latest" }));
    subject.setClock(-HOUR_MS);
    await pass(subject, NOTICED_WITHIN_MS);
    held.open();
    await round(subject);
    expect(handler.order()).toEqual(["a", "a"]);
  });

  it("runs what waits in time after the clock was set back while no process was there", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    subject.queue.start(handler.handle);
    await subject.queue.add(task("waits", { dueAt: subject.now() + MINUTE_MS }));
    await subject.idle();

    await subject.queue.stop(0);
    subject.setClock(-HOUR_MS);
    await subject.reopen();
    subject.queue.start(handler.handle);
    await pass(subject, MINUTE_MS + NOTICED_WITHIN_MS);
    expect(handler.order()).toEqual(["waits"]);
  });

  it("runs what waits in time after the restarts that follow a clock set back", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    subject.queue.start(handler.handle);
    await subject.queue.add(task("waits", { dueAt: subject.now() + MINUTE_MS }));
    await subject.idle();

    subject.setClock(-HOUR_MS);
    await subject.reopen();
    // One process that only takes a request, and one that dies as it starts.
    await subject.queue.add(task("other", { dueAt: subject.now() + HOUR_MS }));
    await subject.reopen();
    subject.queue.start(handler.handle);
    await subject.reopen();
    subject.queue.start(handler.handle);
    await pass(subject, MINUTE_MS + NOTICED_WITHIN_MS);
    expect(handler.order()).toContain("waits");
  });

  it("doesn't run tasks early while the clock is ahead, nor late once it is set back", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    subject.queue.start(handler.handle);
    await subject.queue.add(task("half an hour", { dueAt: subject.now() + HOUR_MS / 2 }));
    await subject.queue.add(task("two hours", { dueAt: subject.now() + 2 * HOUR_MS }));
    await subject.idle();

    subject.setClock(HOUR_MS);
    await pass(subject, NOTICED_WITHIN_MS);
    expect(handler.order()).toEqual([]);
    await subject.queue.add(task("ahead", { dueAt: subject.now() + MINUTE_MS }));
    subject.setClock(-HOUR_MS);
    await pass(subject, MINUTE_MS + NOTICED_WITHIN_MS);
    expect(handler.order()).toEqual(["ahead"]);
    await pass(subject, 2 * HOUR_MS, MINUTE_MS);
    expect(handler.order()).toEqual(["ahead", "half an hour", "two hours"]);
  });

  it("brings forward what was added in the moment in which the clock was ahead", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    subject.queue.start(handler.handle);
    await subject.idle();
    subject.setClock(HOUR_MS);
    const added = subject.queue.add(task("a", { dueAt: subject.now() + SECOND_MS }));
    subject.setClock(-HOUR_MS);
    await added;
    await pass(subject, NOTICED_WITHIN_MS);
    expect(handler.order()).toEqual(["a"]);
  });

  it("brings forward what waits also when nothing can be written at first", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    subject.queue.start(handler.handle);
    await subject.queue.add(task("waits", { dueAt: subject.now() + MINUTE_MS }));
    await subject.idle();

    const heal = await subject.failWrites();
    subject.setClock(-HOUR_MS);
    await pass(subject, NOTICED_WITHIN_MS + 2 * SECOND_MS);
    await heal();
    await pass(subject, MINUTE_MS);
    expect(handler.order()).toEqual(["waits"]);
  });
}
