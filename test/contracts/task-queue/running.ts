import { expect, it } from "vitest";
import type { NewTask } from "../../../src/shared/queue/task-queue.ts";
import { type Script, ScriptedHandler, done, gate } from "../../support/scripted-handler.ts";
import type { TaskQueueSubject } from "../task-queue.ts";
import { MINUTE_MS, SECOND_MS, task } from "./task.ts";

/** Tests when tasks run, how many run at once, and the effect of each way to end a run. */
export function describeRunning(open: () => Promise<TaskQueueSubject>): void {
  it("runs a task when it is due, and not before", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    subject.queue.start(handler.handle);
    await subject.queue.add(task("later", { dueAt: subject.now() + 2 * MINUTE_MS }));
    await subject.queue.add(task("now"));
    await subject.queue.add(task("soon", { dueAt: subject.now() + MINUTE_MS }));

    await subject.idle();
    expect(handler.order()).toEqual(["now"]);
    subject.advance(MINUTE_MS - 1);
    await subject.idle();
    expect(handler.order()).toEqual(["now"]);
    subject.advance(1);
    await subject.idle();
    expect(handler.order()).toEqual(["now", "soon"]);
    subject.advance(MINUTE_MS);
    await subject.idle();
    expect(handler.order()).toEqual(["now", "soon", "later"]);
  });

  it("runs what is due longest first", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    for (const n of [3, 1, 2]) await subject.queue.add(task(`t${n}`, { dueAt: subject.now() + n }));
    await subject.settled();
    subject.advance(MINUTE_MS);
    subject.queue.start(handler.handle);
    await subject.idle();
    expect(handler.order()).toEqual(["t1", "t2", "t3"]);
  });

  it("runs what became due while no process was there", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    await subject.queue.add(task("a", { dueAt: subject.now() + MINUTE_MS }));
    await subject.reopen();
    subject.advance(10 * MINUTE_MS);
    subject.queue.start(handler.handle);
    await subject.idle();
    expect(handler.order()).toEqual(["a"]);
  });

  it("runs as many handlers at once as it may, and no more", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    const held = gate();
    const ids = Array.from({ length: subject.concurrency + 2 }, (_, n) => `t${n}`);
    for (const id of ids) handler.on(id, held.script);
    await Promise.all(ids.map((id) => subject.queue.add(task(id))));

    subject.queue.start(handler.handle);
    await handler.started(`t${subject.concurrency - 1}`);
    expect(await subject.queue.counts()).toEqual({ waiting: 2, running: subject.concurrency, dead: 0 });

    held.open();
    await subject.idle();
    expect(handler.order().toSorted()).toEqual(ids.toSorted());
  });

  it("lets a pool that is full hold up no other", async () => {
    await using subject = await open();
    const { slow } = subject;
    const handler = new ScriptedHandler();
    const held = gate();
    const stuck = await addStuck(subject, handler, held.script);
    const free = Array.from({ length: 3 * subject.concurrency }, (_, n) => `free-${n}`);
    for (const id of free) await subject.queue.add(task(id));

    subject.queue.start(handler.handle);
    await handler.started(free.at(-1) ?? "");
    await handler.allDueStarted(subject.queue);
    expect(handler.order().filter((id) => id.startsWith("stuck"))).toEqual(stuck.slice(0, slow.concurrency));

    // This includes tasks that become due later.
    await subject.queue.add(task("later", { dueAt: subject.now() + SECOND_MS }));
    subject.advance(SECOND_MS);
    await handler.started("later");
    held.open();
    await subject.idle();
    expect(handler.order()).toHaveLength(stuck.length + free.length + 1);
  });

  it("lets a partition that is full hold up no other partition of its type", async () => {
    await using subject = await open();
    const { type, concurrency } = subject.slow;
    const handler = new ScriptedHandler();
    const held = gate();
    const stuck = await addStuck(subject, handler, held.script, { partition: "silent" });
    const free = Array.from({ length: 3 * concurrency }, (_, n) => `free-${n}`);
    for (const id of free) await subject.queue.add(task(id, { type, partition: "well" }));
    await subject.queue.add(task("alone", { type }));

    subject.queue.start(handler.handle);
    await handler.started("alone");
    await handler.started(free.at(-1) ?? "");
    await handler.allDueStarted(subject.queue);
    expect(handler.order().filter((id) => id.startsWith("stuck"))).toEqual(stuck.slice(0, concurrency));

    // This also holds for a partition that is new, and for tasks that become due later.
    await subject.queue.add(task("new", { type, partition: "new" }));
    await handler.started("new");
    await subject.queue.add(task("later", { type, partition: "well", dueAt: subject.now() + SECOND_MS }));
    subject.advance(SECOND_MS);
    await handler.started("later");
    held.open();
    await subject.idle();
    expect(handler.order()).toHaveLength(stuck.length + free.length + 3);
  });

  it("keeps partitions apart after a restart", async () => {
    await using subject = await open();
    const { type, concurrency } = subject.slow;
    const handler = new ScriptedHandler();
    const held = gate();
    const stuck = await addStuck(subject, handler, held.script, { partition: "silent" });
    // As many as one partition runs at once, so that all of them start together.
    const free = Array.from({ length: concurrency }, (_, n) => `free-${n}`);
    for (const id of free) await subject.queue.add(task(id, { type, partition: "well" }));
    await subject.reopen();

    subject.queue.start(handler.handle);
    for (const id of free) await handler.started(id);
    for (const id of stuck.slice(0, concurrency)) await handler.started(id);
    await handler.allDueStarted(subject.queue);
    expect(handler.order().toSorted()).toEqual([...free, ...stuck.slice(0, concurrency)].toSorted());

    held.open();
    await subject.idle();
    expect(handler.order()).toHaveLength(stuck.length + free.length);
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

  it("never runs a task twice at once, however long its handler takes", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    const held = gate();
    handler.on("a", held.script);
    await subject.queue.add(task("a"));
    subject.queue.start(handler.handle);
    await handler.started("a");

    for (let n = 0; n < 10; n += 1) {
      subject.advance(MINUTE_MS);
      await handler.allDueStarted(subject.queue);
    }
    // As after a machine's sleep.
    subject.advance(10_000 * MINUTE_MS);
    await handler.allDueStarted(subject.queue);

    expect(handler.order()).toEqual(["a"]);
    held.open();
    await subject.idle();
    expect(await subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 0 });
  });

  it("counts retries and unexpected failures apart, neither for wait, both anew after again", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    const dueAt = () => subject.now() + SECOND_MS;
    const retry = () => ({ kind: "retry" as const, dueAt: dueAt(), reason: "503" });
    const unexpected = () => ({ ...retry(), isUnexpected: true });
    const wait = () => ({ kind: "wait" as const, dueAt: dueAt() });
    const again = () => ({ kind: "again" as const, dueAt: dueAt() });
    handler.on("a", retry, unexpected, wait, unexpected, retry, again, retry, wait, done);
    await subject.queue.add(task("a"));

    subject.queue.start(handler.handle);
    for (let n = 0; n < 9; n += 1) {
      await subject.idle();
      expect(handler.runs).toHaveLength(n + 1);
      subject.advance(SECOND_MS);
    }
    await subject.idle();

    expect(
      handler.runsOf("a").map(({ attempt, unexpectedFailures }) => [attempt, unexpectedFailures]),
    ).toEqual([
      [1, 0],
      [2, 0],
      [2, 1],
      [2, 1],
      [2, 2],
      [3, 2],
      [1, 0],
      [2, 0],
      [2, 0],
    ]);
    expect(await subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 0 });
  });

  it.each(["again", "wait", "retry"] as const)(
    "keeps the payload unless %s brings another one",
    async (kind) => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      const end = () => ({ kind, dueAt: subject.now(), reason: "no" });
      handler.on(
        "a",
        end,
        () => ({ ...end(), payload: { polls: 2 } }),
        end,
        () => ({ ...end(), payload: null }),
        done,
      );
      await subject.queue.add(task("a", { payload: { polls: 1 } }));

      subject.queue.start(handler.handle);
      await subject.idle();

      expect(handler.runsOf("a").map(({ payload }) => payload)).toEqual([
        { polls: 1 },
        { polls: 1 },
        { polls: 2 },
        { polls: 2 },
        null,
      ]);
    },
  );

  it.each([
    ["throws", () => Promise.reject(new Error("boom"))],
    ["throws what is not an Error", () => Promise.reject("boom")],
    ["returns a time that is not a number", () => ({ kind: "again" as const, dueAt: NaN })],
    ["returns a payload that is not JSON", () => ({ kind: "again" as const, dueAt: 0, payload: 1n })],
  ])("runs a task again in a minute, as an unexpected failure, when its handler %s", async (_, script) => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    handler.on("a", script, done);
    await subject.queue.add(task("a"));

    subject.queue.start(handler.handle);
    await subject.idle();
    subject.advance(MINUTE_MS - 1);
    await subject.idle();
    expect(handler.runsOf("a")).toHaveLength(1);
    subject.advance(1);
    await subject.idle();
    expect(handler.runsOf("a")).toMatchObject([
      { attempt: 1, unexpectedFailures: 0 },
      { attempt: 1, unexpectedFailures: 1, payload: { for: "a" } },
    ]);
  });

  it("never runs again what was given up, and keeps it in the counts", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    handler.on("a", () => ({ kind: "dead", reason: "channel archived" }));
    await subject.queue.add(task("a"));
    subject.queue.start(handler.handle);
    await subject.idle();
    subject.advance(24 * 60 * MINUTE_MS);
    await subject.idle();
    expect(handler.order()).toEqual(["a"]);
    expect(await subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 1 });
  });
}

/**
 * Adds three more tasks of the slow type than run at once, each with the script. Resolves to their
 * ids, in order.
 */
async function addStuck(
  { queue, slow }: TaskQueueSubject,
  handler: ScriptedHandler,
  script: Script,
  more: Pick<NewTask, "partition"> = {},
): Promise<string[]> {
  const ids = Array.from({ length: slow.concurrency + 3 }, (_, n) => `stuck-${n}`);
  for (const id of ids) {
    handler.on(id, script);
    await queue.add(task(id, { type: slow.type, ...more }));
  }
  return ids;
}
