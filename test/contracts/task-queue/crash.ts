import { expect, it } from "vitest";
import { type Script, ScriptedHandler, done, gate, never } from "../../support/scripted-handler.ts";
import type { TaskQueueSubject } from "../task-queue.ts";
import { turns } from "../../support/turns.ts";
import { MINUTE_MS, SECOND_MS, task } from "./task.ts";

/** Tests processes that die without notice. */
export function describeCrash(open: () => Promise<TaskQueueSubject>): void {
  it("runs again what was running", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    handler.on("a", never, done);
    await subject.queue.add(task("a"));
    subject.queue.start(handler.handle);
    await handler.started("a");

    await subject.reopen();
    subject.queue.start(handler.handle);
    await subject.idle();

    expect(handler.order()).toEqual(["a", "a"]);
    expect(handler.runs[1]).toMatchObject({ attempt: 1, unexpectedFailures: 0, payload: { for: "a" } });
  });

  it.each([
    { kind: "done" },
    { kind: "again", dueAt: 0, payload: "from the run that was lost" },
    { kind: "wait", dueAt: 0, payload: "from the run that was lost" },
    { kind: "retry", dueAt: 0, reason: "from the run that was lost" },
    { kind: "dead", reason: "from the run that was lost" },
  ] as const)("ignores $kind from a process that is gone", async (late) => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    const lost = gate();
    const taken = gate();
    handler.on("a", lost.script, taken.script, done);
    await subject.queue.add(task("a"));
    subject.queue.start(handler.handle);
    await handler.started("a");
    await subject.reopen();
    subject.queue.start(handler.handle);
    await handler.started("a", 2);

    lost.open(() => ({ adds: [task("from the run that was lost")], value: late }));
    await handler.allDueStarted(subject.queue);
    expect(handler.order()).toEqual(["a", "a"]);
    expect(await subject.queue.counts()).toMatchObject({ waiting: 0, dead: 0 });

    taken.open({ kind: "again", dueAt: subject.now() });
    await subject.idle();
    expect(handler.order()).toEqual(["a", "a", "a"]);
    expect(handler.runs.at(-1)).toMatchObject({ attempt: 1, payload: { for: "a" } });
    expect(await subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 0 });
  });

  it.each([
    ["long after it began", never],
    [
      "as soon as it began",
      (_, __, die) => {
        die();
        return new Promise(() => {});
      },
    ],
  ] as Array<[string, (...args: [...Parameters<Script>, () => void]) => ReturnType<Script>]>)(
    "tells a task how many processes in a row died %s",
    async (_, script) => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      let died = Promise.resolve();
      const die = (): void => {
        died = subject.reopen();
      };
      handler.on("a", (task, signal) => script(task, signal, die));
      await subject.queue.add(task("a"));
      // A first process that only took the request.
      await subject.reopen();

      for (let n = 0; n < 8; n += 1) {
        subject.queue.start(handler.handle);
        await handler.started("a", n + 1);
        if (script === never) {
          await handler.allDueStarted(subject.queue);
          die();
        }
        await died;
      }
      expect(handler.runsOf("a").map(({ deaths }) => deaths)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      handler.on("a", ...Array.from({ length: 8 }, () => done), again(subject), done);
      subject.queue.start(handler.handle);
      await subject.idle();
      expect(
        handler
          .runsOf("a")
          .slice(8)
          .map(({ deaths }) => deaths),
      ).toEqual([8, 0]);
    },
  );

  it("does not count the deaths that one task causes for those that were due beside it", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    handler.on("poison", never);
    handler.on("innocent", never, never, done);
    await subject.queue.add(task("poison"));
    await subject.queue.add(task("innocent"));
    await subject.reopen();
    for (let n = 0; n < 8; n += 1) {
      subject.queue.start(handler.handle);
      // A task that waits for the other may be checked only now and then.
      while (handler.runsOf("poison").length <= n) {
        await turns();
        await subject.settled();
        subject.advance(SECOND_MS);
      }
      await handler.allDueStarted(subject.queue);
      await subject.reopen();
    }
    expect(handler.runsOf("poison").at(-1)).toMatchObject({ deaths: 7 });
    // It ran twice beside the other, and then alone.
    expect(handler.runsOf("innocent").map(({ deaths }) => deaths)).toEqual([0, 1, 2]);
  });

  it("counts no death for a task that a process stopped in an orderly way", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    handler.on("a", never);
    await subject.queue.add(task("a"));
    for (let n = 0; n < 3; n += 1) {
      await subject.reopen();
      subject.queue.start(handler.handle);
      await handler.started("a", n + 1);
      await handler.allDueStarted(subject.queue);
      await subject.queue.stop(0);
    }
    expect(handler.runsOf("a").map(({ deaths }) => deaths)).toEqual([0, 0, 0]);
  });

  it("counts no death where a run ends well before it was counted", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    const wait: Script = () => ({ kind: "wait", dueAt: subject.now() + SECOND_MS });
    handler.on("a", wait, wait, done);
    subject.queue.start(handler.handle);
    await subject.queue.add(task("a"));
    for (let n = 0; n < 3; n += 1) {
      await subject.idle();
      subject.advance(SECOND_MS);
    }
    expect(handler.runsOf("a").map(({ deaths }) => deaths)).toEqual([0, 0, 0]);
  });

  it("goes on counting attempts after a crash", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    const retry: Script = () => ({ kind: "retry", dueAt: subject.now() + MINUTE_MS, reason: "503" });
    handler.on("a", retry, done);
    await subject.queue.add(task("a"));
    subject.queue.start(handler.handle);
    await subject.idle();
    await subject.reopen();
    subject.queue.start(handler.handle);
    subject.advance(MINUTE_MS);
    await subject.idle();
    expect(handler.runs.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });
}

function again(subject: TaskQueueSubject): Script {
  return () => ({ kind: "again", dueAt: subject.now() });
}
