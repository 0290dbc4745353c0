import { expect, it } from "vitest";
import { ScriptedHandler, gate } from "../../support/scripted-handler.ts";
import type { TaskQueueSubject } from "../task-queue.ts";
import { DAY_MS, MINUTE_MS, SECOND_MS, task } from "./task.ts";

/** Tests adding tasks with known and new ids. */
export function describeAdding(open: () => Promise<TaskQueueSubject>): void {
  /**
   * Adds tasks in every state: waiting for an hour, running until the test opens `running`, done,
   * and dead.
   */
  async function inEveryState(subject: TaskQueueSubject, onDuplicate: "once" | "pending" | "latest") {
    const handler = new ScriptedHandler();
    const running = gate();
    handler.on("running", running.script, () => ({ kind: "done" }));
    handler.on("dead", () => ({ kind: "dead", reason: "gone" }));
    subject.queue.start(handler.handle);
    await subject.queue.add(task("waiting", { onDuplicate, dueAt: subject.now() + 60 * MINUTE_MS }));
    for (const id of ["running", "done", "dead"]) await subject.queue.add(task(id, { onDuplicate }));
    await handler.allDueStarted(subject.queue);
    await handler.allDueStarted(subject.queue);
    const before = handler.order().length;
    return { handler, running, since: () => handler.runs.filter(isNoSentinel).slice(before) };
  }

  it.each(["once", "pending", "latest"] as const)(
    "adds an id (%s) that is added 50 times at once, and runs it once",
    async (onDuplicate) => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      subject.queue.start(handler.handle);

      const added = await Promise.all(
        Array.from({ length: 50 }, () => subject.queue.add(task("a", { onDuplicate }))),
      );

      expect(added.filter(Boolean)).toHaveLength(1);
      await subject.idle();
      expect(handler.order()).toEqual(["a"]);
    },
  );

  it("once: does nothing while the task waits, runs, is done or is dead, also after a crash", async () => {
    await using subject = await open();
    const { handler, running, since } = await inEveryState(subject, "once");
    const ids = ["waiting", "running", "done", "dead"];
    const addAll = () => Promise.all(ids.map((id) => subject.queue.add(task(id, { payload: "new" }))));

    expect(await addAll()).toEqual([false, false, false, false]);
    running.open();
    await subject.idle();
    expect(await addAll()).toEqual([false, false, false, false]);
    await subject.reopen();
    expect(await addAll()).toEqual([false, false, false, false]);
    subject.queue.start(handler.handle);
    await subject.idle();
    expect(since()).toEqual([]);

    subject.advance(60 * MINUTE_MS);
    await subject.idle();
    expect(since()).toMatchObject([{ id: "waiting", payload: { for: "waiting" } }]);
  });

  it("once: knows a task for a week after it is done, and no longer", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    subject.queue.start(handler.handle);
    await subject.queue.add(task("a"));
    await subject.idle();

    subject.advance(7 * DAY_MS - 1);
    await subject.idle();
    expect(await subject.queue.add(task("a"))).toBe(false);
    subject.advance(MINUTE_MS);
    await subject.idle();
    expect(await subject.queue.add(task("a"))).toBe(true);
    await subject.idle();
    expect(handler.order()).toEqual(["a", "a"]);
  });

  it("pending: does nothing while the task waits or runs, and adds it anew once it has ended", async () => {
    await using subject = await open();
    const { running, since } = await inEveryState(subject, "pending");
    const ids = ["waiting", "running", "done", "dead"];
    const added = await Promise.all(
      ids.map((id) => subject.queue.add(task(id, { onDuplicate: "pending", payload: "new" }))),
    );

    expect(added).toEqual([false, false, true, true]);
    running.open();
    await subject.idle();
    expect(since().toSorted((a, b) => a.id.localeCompare(b.id))).toMatchObject([
      { id: "dead", payload: "new", attempt: 1 },
      { id: "done", payload: "new", attempt: 1 },
    ]);
    subject.advance(60 * MINUTE_MS);
    await subject.idle();
    expect(since()[2]).toMatchObject({ id: "waiting", payload: { for: "waiting" } });
  });

  it("latest: makes a waiting task due sooner, repeats a running one, adds an ended one anew", async () => {
    await using subject = await open();
    const { running, since } = await inEveryState(subject, "latest");
    const ids = ["waiting", "running", "done", "dead"];
    const added = await Promise.all(
      ids.map((id) => subject.queue.add(task(id, { onDuplicate: "latest", payload: "new" }))),
    );

    expect(added).toEqual([false, true, true, true]);
    await subject.queue.add(task("sentinel-last"));
    running.open();
    await subject.idle();
    expect(since().map(({ id, payload }) => [id, payload])).toEqual(
      expect.arrayContaining([
        ["waiting", { for: "waiting" }],
        ["running", "new"],
        ["done", "new"],
        ["dead", "new"],
      ]),
    );
    expect(since()).toHaveLength(4);
  });

  it("latest: leaves the earlier of both times to what waits", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    subject.queue.start(handler.handle);
    const at = (seconds: number) =>
      subject.queue.add(task("a", { onDuplicate: "latest", dueAt: subject.now() + seconds * SECOND_MS }));
    for (const seconds of [60, 30, 90]) await at(seconds);

    subject.advance(30 * SECOND_MS - 1);
    await subject.idle();
    expect(handler.order()).toEqual([]);
    subject.advance(1);
    await subject.idle();
    expect(handler.order()).toEqual(["a"]);
    subject.advance(60 * SECOND_MS);
    await subject.idle();
    expect(handler.order()).toEqual(["a"]);
  });

  it.each([
    ["done", { kind: "done" }, "third"],
    ["dead", { kind: "dead", reason: "no" }, "third"],
    ["again", { kind: "again", dueAt: Infinity }, "third"],
    ["again with a payload", { kind: "again", dueAt: Infinity, payload: "own" }, "own"],
    ["wait with a payload", { kind: "wait", dueAt: Infinity, payload: "own" }, "own"],
    ["retry", { kind: "retry", dueAt: Infinity, reason: "503" }, "third"],
  ] as const)(
    "latest: runs once more what ran when it was added twice, at the earlier time, after %s",
    async (_, end, payload) => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      const first = gate();
      handler.on("a", first.script, () => ({ kind: "done" }));
      subject.queue.start(handler.handle);
      await subject.queue.add(task("a", { onDuplicate: "latest", payload: "first" }));
      await handler.started("a");
      const soon = subject.now() + SECOND_MS;
      await subject.queue.add(task("a", { onDuplicate: "latest", payload: "second", dueAt: soon }));
      await subject.queue.add(
        task("a", { onDuplicate: "latest", payload: "third", dueAt: soon + MINUTE_MS }),
      );
      first.open("dueAt" in end ? { ...end, dueAt: subject.now() + 60 * MINUTE_MS } : end);
      await subject.idle();
      expect(handler.runs).toHaveLength(1);

      subject.advance(SECOND_MS);
      await subject.idle();
      expect(handler.runs[1]).toMatchObject({ payload });
      subject.advance(DAY_MS);
      await subject.idle();
      expect(handler.order()).toEqual(["a", "a"]);
      expect(await subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 0 });
    },
  );

  it.each(["before", "after"] as const)(
    "latest: is not lost when it is added right %s the end of a run, while another commit fails",
    async (when) => {
      await using subject = await open();
      const { queue } = subject;
      const handler = new ScriptedHandler();
      const held = gate();
      handler.on("a", held.script, () => ({ kind: "done" }));
      queue.start(handler.handle);
      await queue.add(task("a", { onDuplicate: "latest" }));
      await handler.started("a");

      const add = () => queue.add(task("a", { onDuplicate: "latest" }));
      const asked: Array<Promise<unknown>> = [];
      if (when === "before") asked.push(add());
      held.open({ kind: "again", dueAt: subject.now() + 60 * MINUTE_MS });
      // After the promises, the end waits to be written in the next round of the event loop.
      await new Promise<void>((resolve) => queueMicrotask(() => process.nextTick(resolve)));
      if (when === "after") asked.push(add());
      asked.push(
        queue.commit(() => {
          throw new Error("no such turn");
        }),
      );
      expect((await Promise.allSettled(asked)).map(({ status }) => status)).toEqual([
        "fulfilled",
        "rejected",
      ]);

      await subject.idle();
      expect(handler.order()).toEqual(["a", "a"]);
    },
  );

  it("latest: runs once more also when the process dies in between", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    handler.on("a", gate().script, () => ({ kind: "done" }));
    subject.queue.start(handler.handle);
    await subject.queue.add(task("a", { onDuplicate: "latest", payload: "first" }));
    await handler.started("a");
    await subject.queue.add(task("a", { onDuplicate: "latest", payload: "second" }));

    await subject.reopen();
    subject.queue.start(handler.handle);
    await subject.idle();

    expect(handler.runs.at(-1)).toMatchObject({ id: "a", payload: "second" });
  });

  it("hands the handler what was added", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    const payload = { text: "é <!channel> \u0000 \ud800", list: [1, 2.5, null, { deep: true }] };
    await subject.queue.add({ id: "a", type: "submit", payload });
    const addedAt = subject.now();
    subject.advance(SECOND_MS);

    subject.queue.start(handler.handle);
    await subject.idle();

    expect(handler.runs).toEqual([
      { id: "a", type: "submit", payload, attempt: 1, unexpectedFailures: 0, deaths: 0, addedAt },
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
  ])("refuses a payload that is not JSON: %s", async (_, payload) => {
    await using subject = await open();
    await expect(subject.queue.add(task("a", { payload }))).rejects.toThrow(TypeError);
    expect(await subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 0 });
  });

  it("removes what waits, runs, is done or was given up, as if it had never been added", async () => {
    await using subject = await open();
    const { handler, running } = await inEveryState(subject, "once");
    const ids = ["waiting", "running", "done", "dead"];
    await subject.queue.commit(() => ({ removes: ids, value: null }));
    const delivery = { channelId: "C", threadTs: null, away: null, slots: {}, shown: null };
    running.open(() => ({
      writes: [{ kind: "notice", id: "late", record: { version: 1, delivery } }],
      value: { kind: "retry", dueAt: 0, reason: "late" },
    }));
    await subject.idle();
    expect(await subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 0 });
    // What the run came to is not stored.
    expect(await subject.queue.read((read) => read("notice", "late"))).toBeUndefined();
    const before = handler.order().length;
    for (const id of ids) {
      handler.on(id, () => ({ kind: "done" }));
      expect(await subject.queue.add(task(id))).toBe(true);
    }
    await subject.idle();
    expect(
      handler
        .order()
        .slice(before)
        .filter((id) => ids.includes(id)),
    ).toEqual(ids);
  });

  it("removes before it adds", async () => {
    await using subject = await open();
    await subject.queue.add(task("a", { dueAt: subject.now() + MINUTE_MS }));
    await subject.queue.commit(() => ({
      removes: ["a", "unknown"],
      adds: [task("a", { dueAt: subject.now() + SECOND_MS, payload: { for: "new" } })],
      value: null,
    }));
    await subject.reopen();
    const handler = new ScriptedHandler();
    subject.queue.start(handler.handle);
    subject.advance(SECOND_MS);
    await subject.idle();
    expect(handler.runs.map(({ payload }) => payload)).toEqual([{ for: "new" }]);
  });

  it("refuses a due time that is not a number, and takes a fraction of a millisecond", async () => {
    await using subject = await open();
    await expect(subject.queue.add(task("a", { dueAt: NaN }))).rejects.toThrow(TypeError);
    expect(await subject.queue.add(task("a", { dueAt: subject.now() + 0.5 }))).toBe(true);
  });
}

function isNoSentinel({ id }: { id: string }): boolean {
  return !id.startsWith("sentinel-");
}
