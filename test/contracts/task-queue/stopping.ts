import { expect, it } from "vitest";
import { ScriptedHandler, done, gate, never } from "../../support/scripted-handler.ts";
import type { TaskQueueSubject } from "../task-queue.ts";
import { MINUTE_MS, task } from "./task.ts";

/** Tests the stop of a queue, and what the queue reports about itself. */
export function describeStopping(open: () => Promise<TaskQueueSubject>): void {
  it("waits for what runs, and starts nothing more", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    const held = gate();
    handler.on("a", held.script);
    await subject.queue.add(task("a"));
    subject.queue.start(handler.handle);
    await handler.started("a");

    const stopping = subject.queue.stop(MINUTE_MS);
    await subject.queue.add(task("b"));
    held.open(() => ({ adds: [task("c")], value: { kind: "done" } }));
    await stopping;

    expect(handler.order()).toEqual(["a"]);
    expect(await subject.queue.counts()).toEqual({ waiting: 2, running: 0, dead: 0 });
    const byPool = Object.values(await subject.queue.countsByPool());
    expect(byPool.filter(({ waiting, running }) => waiting + running > 0)).toEqual([
      { waiting: 2, running: 0 },
    ]);
  });

  it("aborts what outlasts the grace, and lets it run again as if it had not run", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    const aborted: unknown[] = [];
    const late = gate();
    handler.on(
      "a",
      (task, signal) => {
        signal.addEventListener("abort", () => aborted.push(signal.reason));
        return late.script(task, signal);
      },
      done,
    );
    await subject.queue.add(task("a"));
    subject.queue.start(handler.handle);
    await handler.started("a");

    const stopping = subject.queue.stop(MINUTE_MS);
    subject.advance(MINUTE_MS - 1);
    expect(aborted).toEqual([]);
    subject.advance(1);
    await stopping;
    expect(aborted).toMatchObject([{ code: "queue_stopped" }]);
    late.open(() => ({ adds: [task("late")], value: { kind: "dead", reason: "too late" } }));
    await expect(subject.queue.commit(() => ({ adds: [task("late")], value: null }))).rejects.toMatchObject({
      code: "queue_stopped",
    });
    expect(await subject.queue.counts()).toEqual({ waiting: 1, running: 0, dead: 0 });

    await subject.reopen();
    subject.queue.start(handler.handle);
    await subject.idle();
    expect(handler.order()).toEqual(["a", "a"]);
    expect(handler.runs[1]).toMatchObject({ attempt: 1, unexpectedFailures: 0, deaths: 0 });
    expect(await subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 0 });
  });

  it("still writes down what had returned by the time it is stopped", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    const stopped = new Promise<void>((resolve) => {
      handler.on("a", () => {
        // After the promises, the step has been returned. It is written in the next round of the
        // event loop.
        queueMicrotask(() => process.nextTick(() => resolve(subject.queue.stop(0))));
        return { kind: "done" };
      });
    });
    await subject.queue.add(task("a"));
    subject.queue.start(handler.handle);
    await stopped;
    await subject.reopen();
    subject.queue.start(handler.handle);
    await subject.idle();
    expect(handler.order()).toEqual(["a"]);
  });

  it("ends the wait at once when it is stopped again without grace", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    handler.on("a", never);
    await subject.queue.add(task("a"));
    subject.queue.start(handler.handle);
    await handler.started("a");

    const patient = subject.queue.stop(60 * MINUTE_MS);
    await subject.queue.stop(0);
    await patient;
    await subject.queue.stop(MINUTE_MS);

    expect(await subject.queue.counts()).toEqual({ waiting: 1, running: 0, dead: 0 });
  });

  it("stops when it was never started, and cannot be started then", async () => {
    await using subject = await open();
    await subject.queue.stop(MINUTE_MS);
    expect(await subject.queue.add(task("a"))).toBe(true);
    expect(() => subject.queue.start(new ScriptedHandler().handle)).toThrow("stopped");
  });

  it("is well before and after the start, and not after the stop", async () => {
    await using subject = await open();
    await subject.queue.check();
    subject.queue.start(new ScriptedHandler().handle);
    await subject.queue.check();
    await subject.queue.stop(0);
    await expect(subject.queue.check()).rejects.toThrow("stopped");
  });

  it("is not well while nothing can be written", async () => {
    await using subject = await open();
    const heal = await subject.failWrites();
    await expect(subject.queue.check()).rejects.toMatchObject({ code: "store_unavailable" });
    await heal();
    await subject.queue.check();
  });

  it("is not well once nothing was begun for a minute although something is due", async () => {
    await using subject = await open();
    await subject.queue.add(task("a"));
    subject.advance(MINUTE_MS - 1);
    await subject.queue.check();
    subject.advance(1);
    await expect(subject.queue.check()).rejects.toMatchObject({ code: "queue_stands_still" });
    const handler = new ScriptedHandler();
    subject.queue.start(handler.handle);
    await handler.started("a");
    await subject.queue.check();
  });

  it("is well while what is due waits only for room", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    const ids = Array.from({ length: subject.concurrency + 1 }, (_, n) => `t${n}`);
    for (const id of ids) handler.on(id, never);
    await Promise.all(ids.map((id) => subject.queue.add(task(id))));
    subject.queue.start(handler.handle);
    await handler.started(`t${subject.concurrency - 1}`);
    subject.advance(2 * MINUTE_MS);
    await expect(subject.queue.check()).resolves.toBeUndefined();
  });

  it("counts what waits, what runs, and what is dead", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    handler.on("runs", never);
    handler.on("dead", () => ({ kind: "dead", reason: "no" }));
    await subject.queue.add(task("later", { dueAt: subject.now() + MINUTE_MS }));
    for (const id of ["runs", "done", "dead"]) await subject.queue.add(task(id));
    expect(await subject.queue.counts()).toEqual({ waiting: 4, running: 0, dead: 0 });

    subject.queue.start(handler.handle);
    await handler.allDueStarted(subject.queue);
    await handler.allDueStarted(subject.queue);

    expect(await subject.queue.counts()).toMatchObject({ waiting: 1, dead: 1 });
  });
}
