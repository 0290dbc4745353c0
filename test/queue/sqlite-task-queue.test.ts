import { describe, expect, it } from "vitest";
import { taskSql } from "../../src/queue/task-sql.ts";
import { createSqliteTaskQueue } from "../../src/queue/sqlite-task-queue.ts";
import { openSqliteDatabase } from "../../src/store/sqlite-database.ts";
import { describeTaskQueue } from "../contracts/task-queue.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { unindexedSteps } from "../support/query-plan.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { ScriptedHandler, done, gate } from "../support/scripted-handler.ts";
import { openFileSubject, openMemorySubject } from "../support/sqlite-task-queue.ts";

describeTaskQueue("SQLite file", openFileSubject);
describeTaskQueue("SQLite in memory", openMemorySubject);

const second = 1_000;
const minute = 60 * second;
const day = 24 * 60 * minute;

async function openParts() {
  const clock = new ManualClock();
  const logger = new RecordingLogger();
  const { db, close } = await openSqliteDatabase("memory", { clock });
  const queue = createSqliteTaskQueue({ db, clock, logger });
  const handler = new ScriptedHandler();
  return {
    clock,
    logger,
    db,
    queue,
    handler,
    [Symbol.asyncDispose]: async () => {
      await queue.stop(0);
      close();
    },
  };
}

describe("SQLite task queue", () => {
  it.each(Object.entries(taskSql))("does not scan the tasks to %s", async (_, sql) => {
    await using parts = await openParts();
    expect(unindexedSteps(parts.db, sql)).toEqual([]);
  });

  it("warns when a run ends that was taken over", async () => {
    await using subject = await openMemorySubject();
    const handler = new ScriptedHandler();
    const lost = gate();
    handler.on("a", lost.step, done);
    await subject.queue.add({ id: "a", type: "poll", payload: null });
    subject.queue.start(handler.handle);
    await handler.started("a");
    await subject.reopen();
    subject.queue.start(handler.handle);
    await subject.idle();

    lost.open();
    await handler.allDueStarted(subject.queue);

    expect(subject.logger.text("warn")).toContain("lost its lease");
    expect(subject.logger.text("warn")).toContain(`"task":"a"`);
  });

  it("knows a done task for seven days, without its payload, and then forgets it", async () => {
    await using parts = await openParts();
    const { queue, clock, handler, db } = parts;
    handler.on("a", () => ({ kind: "done", laneGapMs: second }));
    await queue.add({ id: "a", type: "test", payload: { text: "what a person wrote" }, lane: "T1/C1" });
    queue.start(handler.handle);
    await queue.idle();
    expect(db.prepare("SELECT state, payload FROM tasks").all()).toEqual([{ state: "done", payload: null }]);

    clock.advance(7 * day - 1);
    await queue.idle();
    expect(await queue.add({ id: "a", type: "test", payload: null })).toBe(false);
    clock.advance(minute);
    await queue.idle();
    expect(db.prepare("SELECT count(*) AS count FROM tasks").get()).toEqual({ count: 0 });
    expect(db.prepare("SELECT count(*) AS count FROM lanes").get()).toEqual({ count: 0 });
    expect(await queue.add({ id: "a", type: "test", payload: null })).toBe(true);
  });

  it("forgets many done tasks in steps", async () => {
    await using parts = await openParts();
    const { queue, clock, handler, db } = parts;
    const ids = Array.from({ length: 1_100 }, (_, n) => `t${n}`);
    await Promise.all(ids.map((id) => queue.add({ id, type: "test", payload: null })));
    queue.start(handler.handle);
    await queue.idle();

    const left: unknown[] = [];
    clock.advance(7 * day);
    for (let n = 0; n < 3; n += 1) {
      await queue.idle();
      left.push(db.prepare("SELECT count(*) AS count FROM tasks").get());
      clock.advance(minute);
    }

    expect(left).toEqual([{ count: 600 }, { count: 100 }, { count: 0 }]);
  });

  it("shows the dead to an operator, the latest first, with a bounded reason", async () => {
    await using parts = await openParts();
    const { queue, clock, handler } = parts;
    handler.on("first", () => ({ kind: "dead", reason: "x".repeat(10_000) }));
    handler.on("second", () => ({ kind: "dead", reason: "no such channel" }));
    queue.start(handler.handle);
    await queue.add({ id: "first", type: "deliver", payload: null });
    await queue.idle();
    const firstEndedAt = clock.now();
    clock.advance(minute);
    await queue.add({ id: "second", type: "deliver", payload: null, lane: "T1/C1" });
    await queue.idle();

    expect(queue.deadTasks(1)).toEqual([
      {
        id: "second",
        type: "deliver",
        lane: "T1/C1",
        attempt: 1,
        reason: "no such channel",
        addedAt: clock.now(),
        endedAt: clock.now(),
      },
    ]);
    const [, first] = queue.deadTasks(10);
    expect(first).toMatchObject({ id: "first", endedAt: firstEndedAt });
    expect(first?.reason).toHaveLength(500);
  });

  it("says when the next task is due", async () => {
    await using parts = await openParts();
    const { queue, clock, handler } = parts;
    const held = gate();
    handler.on("running", held.step);
    expect(queue.nextDueAt()).toBeNull();
    await queue.add({ id: "later", type: "test", payload: null, dueAt: clock.now() + day });
    await queue.add({ id: "running", type: "test", payload: null });
    expect(queue.nextDueAt()).toBe(clock.now());

    queue.start(handler.handle);
    await handler.started("running");

    expect(queue.nextDueAt()).toBe(clock.now() + day);
  });

  it("adds what arrives together in one commit, or none of it", async () => {
    await using parts = await openParts();
    const { queue, db } = parts;
    db.exec(
      "CREATE TEMP TRIGGER refuse BEFORE INSERT ON tasks WHEN NEW.id = 'bad' BEGIN SELECT RAISE(FAIL, 'no'); END",
    );

    const adds = await Promise.allSettled(
      ["good", "bad"].map((id) => queue.add({ id, type: "test", payload: null })),
    );

    expect(adds.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await queue.counts()).toEqual({ waiting: 0, running: 0, dead: 0 });
  });
});

describe("SQLite task queue on a file that cannot be written", () => {
  it("rejects adds and checks with what to do, and goes on once it can be written", async () => {
    await using parts = await openParts();
    const { queue, clock, handler, db, logger } = parts;
    queue.start(handler.handle);
    await queue.add({ id: "before", type: "test", payload: null, dueAt: clock.now() + minute });
    await queue.idle();

    db.exec("PRAGMA query_only = ON");
    await expect(queue.add({ id: "a", type: "test", payload: null })).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("writable"),
    });
    await expect(queue.check()).rejects.toMatchObject({ code: "store_unavailable" });
    clock.advance(minute);
    await passes();
    expect(logger.text("error")).toContain("pass failed");
    expect(handler.order()).toEqual([]);

    db.exec("PRAGMA query_only = OFF");
    await expect(queue.check()).rejects.toMatchObject({ code: "store_unavailable" });
    clock.advance(second);
    await queue.idle();
    await queue.check();
    expect(handler.order()).toEqual(["before"]);
  });

  it("keeps a result that could not be written, instead of running the task again", async () => {
    await using parts = await openParts();
    const { queue, clock, handler, db, logger } = parts;
    const held = gate();
    handler.on("a1", held.step);
    for (const id of ["a1", "a2"]) await queue.add({ id, type: "test", payload: null, lane: "a" });
    queue.start(handler.handle);
    await handler.started("a1");

    db.exec("PRAGMA query_only = ON");
    held.open();
    await passes();
    for (let n = 0; n < 200; n += 1) {
      clock.advance(second);
      await passes();
    }
    expect(logger.text("error")).toContain("a result could not be written");
    db.exec("PRAGMA query_only = OFF");
    clock.advance(second);
    await queue.idle();

    expect(handler.order()).toEqual(["a1", "a2"]);
  });

  it("survives a full disk", async () => {
    await using parts = await openParts();
    const { queue, clock, handler, db } = parts;
    queue.start(handler.handle);
    db.exec("PRAGMA max_page_count = 1");
    const add = (n: number) => queue.add({ id: `t${n}`, type: "test", payload: "x".repeat(40_000) });
    const fault: unknown = await add(0).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(fault).toMatchObject({ message: expect.stringContaining("the disk is full") });

    db.exec("PRAGMA max_page_count = 100000");
    await add(1);
    clock.advance(second);
    await queue.idle();
    expect(handler.order()).toEqual(["t1"]);
  });

  it("stops, and the next start takes back what could not be released", async () => {
    await using subject = await openFileSubject();
    const handler = new ScriptedHandler();
    handler.on("a", gate().step, done);
    await subject.queue.add({ id: "a", type: "test", payload: null });
    subject.queue.start(handler.handle);
    await handler.started("a");

    subject.db.exec("PRAGMA query_only = ON");
    await subject.queue.stop(0);
    expect(subject.logger.text("warn")).toContain("could not be released");

    await subject.reopen();
    subject.queue.start(handler.handle);
    await subject.idle();
    expect(handler.runsOf("a")).toHaveLength(2);
  });
});

/** Lets everything happen that needs no time: a pass is due within one turn of the event loop. */
async function passes(): Promise<void> {
  for (let n = 0; n < 3; n += 1) await new Promise((resolve) => setImmediate(resolve));
}
