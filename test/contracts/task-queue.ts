import { describe, expect, it } from "vitest";
import type { NewTask, TaskQueue } from "../../src/core/task-queue.ts";
import { ScriptedHandler, done, gate } from "../support/scripted-handler.ts";

/** A queue under test, with the time and the crashes that tests need. */
export type TaskQueueSubject = AsyncDisposable & {
  /** The queue that is open now: another one after `reopen`. */
  readonly queue: TaskQueue;
  /** The queue's time, in epoch milliseconds. */
  now(): number;
  advance(ms: number): void;
  /** Resolves when nothing runs and nothing is due. */
  idle(): Promise<void>;
  /** The process dies without a word, and a new one opens the same data. What the old one's handlers return comes late. */
  reopen(): Promise<void>;
  /** How long a claim lasts unless it is renewed, in milliseconds. */
  readonly leaseMs: number;
  readonly concurrency: number;
};

const second = 1_000;
const minute = 60 * second;

function task(id: string, more: Partial<NewTask> = {}): NewTask {
  return { id, type: "test", payload: { for: id }, ...more };
}

/** What any task queue must do. `open` opens an empty one. */
export function describeTaskQueue(name: string, open: () => Promise<TaskQueueSubject>): void {
  describe(`${name}: adding`, () => {
    it("adds an id once when it is added 50 times at once", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      subject.queue.start(handler.handle);

      const added = await Promise.all(Array.from({ length: 50 }, () => subject.queue.add(task("a"))));

      expect(added.filter(Boolean)).toHaveLength(1);
      await subject.idle();
      expect(handler.order()).toEqual(["a"]);
    });

    it("does not add an id again while it waits, runs, is done, is dead, or after a crash", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      const running = gate();
      handler.on("running", running.step);
      handler.on("dead", () => ({ kind: "dead", reason: "gone" }));
      subject.queue.start(handler.handle);
      const ids = ["waiting", "running", "done", "dead"];
      await subject.queue.add(task("waiting", { dueAt: subject.now() + minute }));
      for (const id of ids.slice(1)) await subject.queue.add(task(id));
      await handler.allDueStarted(subject.queue);

      for (const id of ids) expect(await subject.queue.add(task(id))).toBe(false);
      running.open();
      await subject.idle();
      for (const id of ids) expect(await subject.queue.add(task(id))).toBe(false);
      await subject.reopen();
      for (const id of ids) expect(await subject.queue.add(task(id))).toBe(false);

      subject.queue.start(handler.handle);
      await subject.idle();
      expect(handler.order()).toEqual(["running", "done", "dead"]);
    });

    it("hands the handler what was added", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      const payload = { text: "é <!channel> \u0000 \ud800", list: [1, 2.5, null, { deep: true }] };
      await subject.queue.add({ id: "a", type: "submit", payload, lane: "T1/C1" });
      const addedAt = subject.now();
      subject.advance(second);

      subject.queue.start(handler.handle);
      await subject.idle();

      expect(handler.runs).toEqual([
        { id: "a", type: "submit", payload, lane: "T1/C1", attempt: 1, addedAt },
      ]);
    });

    it("accepts tasks before the start, and again after the stop for the next start", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      expect(await subject.queue.add(task("before"))).toBe(true);
      subject.queue.start(handler.handle);
      await subject.idle();
      await subject.queue.stop(0);
      expect(await subject.queue.add(task("after"))).toBe(true);
      expect(handler.order()).toEqual(["before"]);

      await subject.reopen();
      subject.queue.start(handler.handle);
      await subject.idle();
      expect(handler.order()).toEqual(["before", "after"]);
    });

    it.each([
      ["undefined", undefined],
      ["a function", () => 1],
      ["a BigInt", { count: 1n }],
    ])("refuses a payload that is no JSON: %s", async (_, payload) => {
      await using subject = await open();
      await expect(subject.queue.add(task("a", { payload }))).rejects.toThrow(TypeError);
      expect(await subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 0 });
    });

    it("refuses a due time that is none, and takes a fraction of a millisecond", async () => {
      await using subject = await open();
      await expect(subject.queue.add(task("a", { dueAt: NaN }))).rejects.toThrow(TypeError);
      expect(await subject.queue.add(task("a", { dueAt: subject.now() + 0.5 }))).toBe(true);
    });
  });

  describe(`${name}: due times`, () => {
    it("runs a task when it is due, and not before", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      subject.queue.start(handler.handle);
      await subject.queue.add(task("later", { dueAt: subject.now() + 2 * minute }));
      await subject.queue.add(task("now"));
      await subject.queue.add(task("soon", { dueAt: subject.now() + minute }));

      await subject.idle();
      expect(handler.order()).toEqual(["now"]);
      subject.advance(minute - 1);
      await subject.idle();
      expect(handler.order()).toEqual(["now"]);
      subject.advance(1);
      await subject.idle();
      expect(handler.order()).toEqual(["now", "soon"]);
      subject.advance(minute);
      await subject.idle();
      expect(handler.order()).toEqual(["now", "soon", "later"]);
    });

    it("runs what became due while no process was there", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      await subject.queue.add(task("a", { dueAt: subject.now() + minute }));
      await subject.reopen();
      subject.advance(10 * minute);
      subject.queue.start(handler.handle);
      await subject.idle();
      expect(handler.order()).toEqual(["a"]);
    });

    it("runs as many handlers at once as it may, and no more", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      const held = gate();
      const ids = Array.from({ length: subject.concurrency + 2 }, (_, n) => `t${n}`);
      for (const id of ids) handler.on(id, held.step);
      await Promise.all(ids.map((id) => subject.queue.add(task(id))));

      subject.queue.start(handler.handle);
      await handler.started(`t${subject.concurrency - 1}`);
      expect(await subject.queue.counts()).toEqual({ waiting: 2, running: subject.concurrency, dead: 0 });

      held.open();
      await subject.idle();
      expect(handler.order().toSorted()).toEqual(ids.toSorted());
    });

    it("lets no task starve behind tasks that keep coming", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      const { queue } = subject;
      let chained = 0;
      for (let n = 0; n < 500; n += 1) {
        handler.on(`chain-${n}`, async () => {
          chained += 1;
          await queue.add(task(`chain-${n + subject.concurrency}`, { dueAt: subject.now() }));
          return { kind: "done" };
        });
      }
      let chainedBefore = Infinity;
      handler.on("patient", () => {
        chainedBefore = chained;
        return { kind: "done" };
      });
      for (let n = 0; n < subject.concurrency; n += 1) await queue.add(task(`chain-${n}`));
      await queue.add(task("patient"));

      queue.start(handler.handle);
      await subject.idle();

      expect(chained).toBe(500);
      expect(chainedBefore).toBeLessThanOrEqual(2 * subject.concurrency);
    });
  });

  describe(`${name}: lanes`, () => {
    it("runs the tasks of a lane one at a time, in the order they were added, beside other lanes", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      const first = gate();
      handler.on("a1", first.step);
      for (const id of ["a1", "a2", "b1", "a3"]) await subject.queue.add(task(id, { lane: id.charAt(0) }));
      await subject.queue.add(task("free"));

      subject.queue.start(handler.handle);
      await handler.allDueStarted(subject.queue);
      expect(handler.order()).toEqual(["a1", "b1", "free"]);

      first.open();
      await subject.idle();
      expect(handler.order()).toEqual(["a1", "b1", "free", "a2", "a3"]);
    });

    it.each(["retry", "again"] as const)(
      "makes a lane wait while its first task is postponed by %s, and no other lane",
      async (kind) => {
        await using subject = await open();
        const handler = new ScriptedHandler();
        handler.on("a1", () => ({ kind, dueAt: subject.now() + minute, reason: "not now" }), done);
        for (const id of ["a1", "a2", "b1"]) await subject.queue.add(task(id, { lane: id.charAt(0) }));

        subject.queue.start(handler.handle);
        await subject.idle();
        expect(handler.order()).toEqual(["a1", "b1"]);
        await subject.queue.add(task("a3", { lane: "a" }));
        subject.advance(minute - 1);
        await subject.idle();
        expect(handler.order()).toEqual(["a1", "b1"]);

        subject.advance(1);
        await subject.idle();
        expect(handler.order()).toEqual(["a1", "b1", "a1", "a2", "a3"]);
      },
    );

    it("leaves the gap that was asked for before the lane's next task", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      for (const id of ["a1", "a2"]) handler.on(id, () => ({ kind: "done", laneGapMs: second }));
      for (const id of ["a1", "a2", "a3", "b1"]) await subject.queue.add(task(id, { lane: id.charAt(0) }));

      subject.queue.start(handler.handle);
      await subject.idle();
      expect(handler.order()).toEqual(["a1", "b1"]);
      subject.advance(second - 1);
      await subject.idle();
      expect(handler.order()).toEqual(["a1", "b1"]);
      subject.advance(1);
      await subject.idle();
      expect(handler.order()).toEqual(["a1", "b1", "a2"]);
      subject.advance(second - 1);
      await subject.idle();
      expect(handler.order()).toEqual(["a1", "b1", "a2"]);
      subject.advance(1);
      await subject.idle();
      expect(handler.order()).toEqual(["a1", "b1", "a2", "a3"]);
    });

    it("leaves the gap before a task that is added to the empty lane later, also after a crash", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      handler.on("a1", () => ({ kind: "done", laneGapMs: second }));
      await subject.queue.add(task("a1", { lane: "a" }));
      subject.queue.start(handler.handle);
      await subject.idle();

      await subject.reopen();
      subject.queue.start(handler.handle);
      subject.advance(second / 2);
      await subject.queue.add(task("a2", { lane: "a" }));
      await subject.idle();
      expect(handler.order()).toEqual(["a1"]);
      subject.advance(second / 2);
      await subject.idle();
      expect(handler.order()).toEqual(["a1", "a2"]);
    });

    it("goes on with the lane after a task that is given up", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      handler.on("a1", () => ({ kind: "dead", reason: "channel archived" }));
      for (const id of ["a1", "a2"]) await subject.queue.add(task(id, { lane: "a" }));

      subject.queue.start(handler.handle);
      await subject.idle();

      expect(handler.order()).toEqual(["a1", "a2"]);
      expect(await subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 1 });
      subject.advance(24 * 60 * minute);
      await subject.idle();
      expect(handler.order()).toEqual(["a1", "a2"]);
    });
  });

  describe(`${name}: running again`, () => {
    it("counts attempts over retries, and anew after again", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      const retry = () => ({ kind: "retry" as const, dueAt: subject.now() + second, reason: "503" });
      const again = () => ({ kind: "again" as const, dueAt: subject.now() + second });
      handler.on("a", retry, retry, again, retry, done);
      await subject.queue.add(task("a"));

      subject.queue.start(handler.handle);
      for (let n = 0; n < 5; n += 1) {
        await subject.idle();
        subject.advance(second);
      }
      await subject.idle();

      expect(handler.runsOf("a").map(({ attempt }) => attempt)).toEqual([1, 2, 3, 1, 2]);
      expect(await subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 0 });
    });

    it("keeps the payload unless again brings another one", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      handler.on(
        "a",
        () => ({ kind: "again", dueAt: subject.now() }),
        () => ({ kind: "again", dueAt: subject.now(), payload: { polls: 2 } }),
        () => ({ kind: "again", dueAt: subject.now(), payload: null }),
        done,
      );
      await subject.queue.add(task("a", { payload: { polls: 1 } }));

      subject.queue.start(handler.handle);
      await subject.idle();

      expect(handler.runsOf("a").map(({ payload }) => payload)).toEqual([
        { polls: 1 },
        { polls: 1 },
        { polls: 2 },
        null,
      ]);
    });

    it.each([
      ["throws", () => Promise.reject(new Error("boom"))],
      ["throws no Error", () => Promise.reject("boom")],
      ["returns a time that is none", () => ({ kind: "again" as const, dueAt: NaN })],
      ["returns a payload that is no JSON", () => ({ kind: "again" as const, dueAt: 0, payload: 1n })],
    ])("runs a task again in a minute when its handler %s", async (_, step) => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      handler.on("a", step, done);
      await subject.queue.add(task("a"));

      subject.queue.start(handler.handle);
      await subject.idle();
      subject.advance(minute - 1);
      await subject.idle();
      expect(handler.runsOf("a")).toHaveLength(1);
      subject.advance(1);
      await subject.idle();
      expect(handler.runsOf("a").map(({ attempt }) => attempt)).toEqual([1, 2]);
    });

    it("never runs a task twice at once, however long its handler takes", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      const held = gate();
      handler.on("a", held.step);
      await subject.queue.add(task("a", { lane: "a" }));
      subject.queue.start(handler.handle);
      await handler.started("a");

      for (let n = 0; n < 10; n += 1) {
        subject.advance(subject.leaseMs / 2);
        await handler.allDueStarted(subject.queue);
      }
      // As after a machine that slept: many leases at once.
      subject.advance(100 * subject.leaseMs);
      await handler.allDueStarted(subject.queue);

      expect(handler.order()).toEqual(["a"]);
      held.open();
      await subject.idle();
      expect(await subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 0 });
    });
  });

  describe(`${name}: crash`, () => {
    it("runs again what was running, and then the rest of its lane", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      handler.on("a1", gate().step, done);
      for (const id of ["a1", "a2"]) await subject.queue.add(task(id, { lane: "a" }));
      subject.queue.start(handler.handle);
      await handler.started("a1");

      await subject.reopen();
      subject.queue.start(handler.handle);
      await subject.idle();

      expect(handler.order()).toEqual(["a1", "a1", "a2"]);
      expect(handler.runsOf("a1")[1]).toMatchObject({ attempt: 2, payload: { for: "a1" } });
    });

    it.each([
      { kind: "done" },
      { kind: "again", dueAt: 0, payload: "from the run that was lost" },
      { kind: "retry", dueAt: 0, reason: "from the run that was lost" },
      { kind: "dead", reason: "from the run that was lost" },
    ] as const)("ignores $kind from a run that was taken over", async (late) => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      const lost = gate();
      const taken = gate();
      handler.on("a1", lost.step, taken.step, done);
      for (const id of ["a1", "a2"]) await subject.queue.add(task(id, { lane: "a" }));
      subject.queue.start(handler.handle);
      await handler.started("a1");
      await subject.reopen();
      subject.queue.start(handler.handle);
      await handler.started("a1", 2);

      lost.open(late);
      await handler.allDueStarted(subject.queue);
      expect(handler.order()).toEqual(["a1", "a1"]);
      expect(await subject.queue.counts()).toMatchObject({ waiting: 1, dead: 0 });

      taken.open({ kind: "again", dueAt: subject.now() });
      await subject.idle();
      expect(handler.order()).toEqual(["a1", "a1", "a1", "a2"]);
      expect(handler.runsOf("a1")[2]).toMatchObject({ attempt: 1, payload: { for: "a1" } });
      expect(await subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 0 });
    });
  });

  describe(`${name}: stopping`, () => {
    it("waits for what runs, and starts nothing more", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      const held = gate();
      handler.on("a1", held.step);
      for (const id of ["a1", "a2"]) await subject.queue.add(task(id, { lane: "a" }));
      subject.queue.start(handler.handle);
      await handler.started("a1");

      const stopping = subject.queue.stop(minute);
      held.open();
      await stopping;

      expect(handler.order()).toEqual(["a1"]);
      expect(await subject.queue.counts()).toEqual({ waiting: 1, running: 0, dead: 0 });
    });

    it("aborts what outlasts the grace, and lets it run again as if it had not run", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      const aborted: string[] = [];
      const late = gate();
      handler.on(
        "a1",
        (_, signal) => {
          signal.addEventListener("abort", () => aborted.push("a1"));
          return late.step(_, signal);
        },
        done,
      );
      for (const id of ["a1", "a2"]) await subject.queue.add(task(id, { lane: "a" }));
      subject.queue.start(handler.handle);
      await handler.started("a1");

      const stopping = subject.queue.stop(minute);
      subject.advance(minute - 1);
      expect(aborted).toEqual([]);
      subject.advance(1);
      await stopping;
      expect(aborted).toEqual(["a1"]);
      late.open({ kind: "dead", reason: "too late" });
      expect(await subject.queue.counts()).toEqual({ waiting: 2, running: 0, dead: 0 });

      await subject.reopen();
      subject.queue.start(handler.handle);
      await subject.idle();
      expect(handler.order()).toEqual(["a1", "a1", "a2"]);
      expect(handler.runsOf("a1")[1]).toMatchObject({ attempt: 1 });
      expect(await subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 0 });
    });

    it("ends the wait at once when it is stopped again without grace", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      handler.on("a", gate().step);
      await subject.queue.add(task("a"));
      subject.queue.start(handler.handle);
      await handler.started("a");

      const patient = subject.queue.stop(60 * minute);
      await subject.queue.stop(0);
      await patient;
      await subject.queue.stop(minute);

      expect(await subject.queue.counts()).toEqual({ waiting: 1, running: 0, dead: 0 });
    });

    it("stops when it was never started", async () => {
      await using subject = await open();
      await subject.queue.stop(minute);
      expect(await subject.queue.add(task("a"))).toBe(true);
    });
  });

  describe(`${name}: check and counts`, () => {
    it("is well before and after the start, and not after the stop", async () => {
      await using subject = await open();
      await subject.queue.check();
      subject.queue.start(new ScriptedHandler().handle);
      await subject.queue.check();
      await subject.queue.stop(0);
      await expect(subject.queue.check()).rejects.toThrow("stopped");
    });

    it("counts what waits, also behind the first of a lane, what runs, and what is dead", async () => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      handler.on("a1", gate().step);
      handler.on("dead", () => ({ kind: "dead", reason: "no" }));
      for (const id of ["a1", "a2", "a3"]) await subject.queue.add(task(id, { lane: "a" }));
      await subject.queue.add(task("later", { dueAt: subject.now() + minute }));
      for (const id of ["done", "dead"]) await subject.queue.add(task(id));
      expect(await subject.queue.counts()).toEqual({ waiting: 6, running: 0, dead: 0 });

      subject.queue.start(handler.handle);
      await handler.allDueStarted(subject.queue);
      await handler.allDueStarted(subject.queue);

      expect(await subject.queue.counts()).toMatchObject({ waiting: 3, dead: 1 });
    });
  });
}
