import { expect, it } from "vitest";
import { newDelivery } from "../../../src/app/rules/turn/delivery.ts";
import type { Read, Write } from "../../../src/app/rules/records.ts";
import { ScriptedHandler, done } from "../../support/scripted-handler.ts";
import { turns } from "../../support/turns.ts";
import type { TaskQueueSubject } from "../task-queue.ts";
import { MINUTE_MS, SECOND_MS, task } from "./task.ts";

/** Returns a record that is small to write. */
function mark(id: string, honorsIdempotencyKeys = true): Write {
  return { kind: "service", id, record: { version: 1, honorsIdempotencyKeys } };
}

/** Returns a record that holds a number. */
function counter(count: number): Write {
  const delivery = { ...newDelivery({ channelId: "C1", threadTs: null }), shown: String(count) };
  return { kind: "notice", id: "count", record: { version: 1, delivery } };
}

/** Returns a record that doesn't fit its schema. */
function badMark(id: string): Write {
  return { kind: "service", id, record: { version: 1, honorsIdempotencyKeys: "yes" as never } };
}

async function isMarked(subject: TaskQueueSubject, id: string): Promise<boolean | undefined> {
  return await subject.queue.commit((read) => ({ value: read("service", id)?.honorsIdempotencyKeys }));
}

/** Tests that the writes of a step are written together, or not at all. */
export function describeSteps(open: () => Promise<TaskQueueSubject>): void {
  it("carries out a decision: writes, adds, and tells what it came to", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    await subject.queue.commit(() => ({ writes: [mark("a", false)], value: null }));

    const before = await subject.queue.commit((read) => ({
      writes: [mark("a"), mark("b")],
      adds: [task("x"), task("y", { dueAt: subject.now() + MINUTE_MS })],
      value: read("service", "a"),
    }));

    expect(before).toEqual({ version: 1, honorsIdempotencyKeys: false });
    await subject.reopen();
    expect([await isMarked(subject, "a"), await isMarked(subject, "b")]).toEqual([true, true]);
    subject.queue.start(handler.handle);
    await subject.idle();
    expect(handler.order()).toEqual(["x"]);
    expect(await subject.queue.counts()).toMatchObject({ waiting: 1 });
  });

  it("keeps why a run failed, also where cutting it to size cuts a character in two", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    const reason = `${"x".repeat(499)}😀`;
    handler.on("a", () => ({ kind: "retry", dueAt: subject.now(), reason }), done);
    handler.on("b", () => ({ kind: "dead", reason }));
    for (const id of ["a", "b", "c"]) await subject.queue.add(task(id));
    subject.queue.start(handler.handle);
    await subject.idle();
    expect(handler.order().toSorted()).toEqual(["a", "a", "b", "c"]);
    expect(await subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 1 });
  });

  it("removes a record, and forgets one when its time is over", async () => {
    await using subject = await open();
    await subject.queue.commit(() => ({
      writes: [mark("a"), { ...mark("b"), ttlMs: MINUTE_MS }],
      value: null,
    }));
    await subject.queue.commit(() => ({ writes: [{ kind: "service", id: "a", record: null }], value: null }));
    expect(await isMarked(subject, "a")).toBeUndefined();
    expect(await isMarked(subject, "b")).toBe(true);
    subject.advance(MINUTE_MS);
    expect(await isMarked(subject, "b")).toBeUndefined();
  });

  it("rewrites a record without changing its end, and nothing that isn't there", async () => {
    await using subject = await open();
    await subject.queue.commit(() => ({
      writes: [mark("a"), { ...mark("b"), ttlMs: MINUTE_MS }, { ...mark("c"), ttlMs: SECOND_MS }],
      value: null,
    }));
    subject.advance(SECOND_MS);
    const ids = ["a", "b", "c", "d"];
    await subject.queue.commit((read) => ({
      writes: ids.map((id) => ({ ...mark(id, false), keepsEnd: true as const })),
      value: ids.map((id) => read("service", id)),
    }));
    const marks = () => Promise.all(ids.map((id) => isMarked(subject, id)));
    expect(await marks()).toEqual([false, false, undefined, undefined]);
    subject.advance(MINUTE_MS - SECOND_MS);
    expect(await marks()).toEqual([false, undefined, undefined, undefined]);
    subject.advance(10 * MINUTE_MS);
    expect(await marks()).toEqual([false, undefined, undefined, undefined]);
  });

  it.each([
    [
      "a record that does not fit its schema",
      { writes: [mark("a"), badMark("b")], adds: [task("x")] },
      "service/b",
    ],
    [
      "a task whose payload is not JSON",
      { writes: [mark("a")], adds: [task("x"), task("y", { payload: 1n })] },
      "BigInt",
    ],
  ])("writes nothing of a decision with %s", async (_, plan, fault) => {
    await using subject = await open();
    await expect(subject.queue.commit(() => ({ ...plan, value: null }))).rejects.toThrow(fault);
    expect(await isMarked(subject, "a")).toBeUndefined();
    expect(await subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 0 });
  });

  it("lets a decision that throws harm none of those made at the same time", async () => {
    await using subject = await open();
    const { queue } = subject;
    const all = await Promise.allSettled([
      queue.commit(() => ({ writes: [mark("a")], value: "first" })),
      queue.add(task("x")),
      queue.commit(() => {
        throw new Error("no such turn");
      }),
      queue.commit((read) => ({ writes: [mark("b")], value: read("service", "a") !== undefined })),
      queue.commit(() => ({ writes: [mark("c"), badMark("d")], value: null })),
      queue.add(task("x")),
    ]);

    expect(all.map((one) => (one.status === "fulfilled" ? one.value : "rejected"))).toEqual([
      "first",
      true,
      "rejected",
      true,
      "rejected",
      false,
    ]);
    expect(await Promise.all(["a", "b", "c", "d"].map((id) => isMarked(subject, id)))).toEqual([
      true,
      true,
      undefined,
      undefined,
    ]);
  });

  it("decides on what those before it wrote: 50 that count at once lose no count", async () => {
    await using subject = await open();
    const counted = Array.from({ length: 50 }, () =>
      subject.queue.commit((read) => {
        const count = Number(read("notice", "count")?.delivery.shown ?? 0);
        return { writes: [counter(count + 1)], value: count };
      }),
    );
    expect((await Promise.all(counted)).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 50 }, (_, n) => n),
    );
  });

  it("rejects a commit that cannot be written, and then nothing of it is there", async () => {
    await using subject = await open();
    const heal = await subject.failWrites();
    await expect(
      subject.queue.commit(() => ({ writes: [mark("a")], adds: [task("x")], value: null })),
    ).rejects.toMatchObject({ code: "store_unavailable" });
    await heal();
    expect(await isMarked(subject, "a")).toBeUndefined();
    expect(await subject.queue.counts()).toEqual({ waiting: 0, running: 0, dead: 0 });
  });

  it("answers a question while nothing can be written, with what was written last", async () => {
    await using subject = await open();
    const { queue } = subject;
    const both = (read: Read) => ["a", "b"].map((id) => read("service", id)?.honorsIdempotencyKeys);
    expect(await queue.read(both)).toEqual([undefined, undefined]);
    await queue.commit(() => ({ writes: [mark("a", false)], value: null }));
    const heal = await subject.failWrites();
    expect(await queue.read(both)).toEqual([false, undefined]);
    await heal();
    await queue.commit(() => ({ writes: [mark("a"), mark("b", false)], value: null }));
    expect(await queue.read(both)).toEqual([true, false]);
    await expect(
      queue.read(() => {
        throw new Error("no answer");
      }),
    ).rejects.toThrow("no answer");
  });

  it("writes what a step writes, adds and ends with in one", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    handler.on("a", () => (read) => ({
      writes: [mark("a", read("service", "a") === undefined)],
      adds: [task("next")],
      value: { kind: "again", dueAt: subject.now() + MINUTE_MS, payload: "second" },
    }));
    await subject.queue.add(task("a"));
    subject.queue.start(handler.handle);
    await handler.started("next");

    await subject.reopen();
    expect(await isMarked(subject, "a")).toBe(true);
    subject.queue.start(handler.handle);
    subject.advance(MINUTE_MS);
    await handler.started("a", 2);
    expect(handler.runsOf("a")[1]).toMatchObject({ payload: "second", attempt: 1 });
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("no such turn");
      },
    ],
    [
      "writes what does not fit",
      () => ({
        writes: [mark("a"), badMark("b")],
        adds: [task("next")],
        value: { kind: "done" as const },
      }),
    ],
    [
      "ends at a time that is not a number",
      () => ({
        writes: [mark("a")],
        adds: [task("next")],
        value: { kind: "again" as const, dueAt: NaN },
      }),
    ],
  ])(
    "writes nothing of a step that %s, and runs the task again as an unexpected failure",
    async (_, step) => {
      await using subject = await open();
      const handler = new ScriptedHandler();
      handler.on("a", () => step, done);
      await subject.queue.add(task("a"));
      subject.queue.start(handler.handle);
      await subject.idle();
      expect(await isMarked(subject, "a")).toBeUndefined();

      subject.advance(MINUTE_MS);
      await subject.idle();
      expect(handler.order()).toEqual(["a", "a"]);
      expect(handler.runs[1]).toMatchObject({ attempt: 1, unexpectedFailures: 1 });
    },
  );

  it("keeps a step that cannot be written, writes it later, and does not run the task again", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    const failing = Promise.withResolvers<() => Promise<void>>();
    handler.on("a", async () => {
      failing.resolve(await subject.failWrites());
      return () => ({ writes: [mark("a")], adds: [task("next")], value: { kind: "done" } });
    });
    await subject.queue.add(task("a"));
    await subject.queue.add(task("other", { dueAt: subject.now() + SECOND_MS }));
    subject.queue.start(handler.handle);
    const heal = await failing.promise;
    await turns();
    for (let n = 0; n < 5; n += 1) {
      subject.advance(SECOND_MS);
      await turns();
    }
    // A task that starts now would have to be repeated after a crash.
    expect(handler.order()).toEqual(["a"]);
    expect(await subject.queue.counts()).toEqual({ waiting: 1, running: 1, dead: 0 });

    await heal();
    // The queue isn't well before that is written, because no task runs.
    await expect(subject.queue.check()).rejects.toMatchObject({ code: "store_unavailable" });
    await expect
      .poll(
        () => {
          subject.advance(SECOND_MS);
          return subject.queue.counts();
        },
        { timeout: 30_000 },
      )
      .toEqual({ waiting: 0, running: 0, dead: 0 });
    await subject.queue.check();
    expect(handler.order().toSorted()).toEqual(["a", "next", "other"]);
    expect(await isMarked(subject, "a")).toBe(true);
  });
}
