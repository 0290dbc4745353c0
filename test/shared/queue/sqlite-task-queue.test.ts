import { rm } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { type AppRecords, type Plan } from "../../../src/app/rules/records.ts";
import { SqliteTaskQueue } from "../../../src/shared/queue/sqlite/sqlite-task-queue.ts";
import { TASK_SQL } from "../../../src/shared/queue/sqlite/task-table.ts";
import { openSqliteStore } from "../../../src/shared/store/sqlite/open-sqlite-store.ts";
import { describeTaskQueue } from "../../contracts/task-queue.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { queryPlan, unindexedSteps } from "../../support/query-plan.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { ScriptedHandler, gate } from "../../support/scripted-handler.ts";
import { openFileSubject, openMemorySubject } from "../../support/sqlite-task-queue.ts";
import { turns } from "../../support/turns.ts";
import { recordSchemas } from "../../../src/app/rules/records.ts";

describeTaskQueue("SQLite file", openFileSubject);
describeTaskQueue("SQLite in memory", openMemorySubject);

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;

async function openParts() {
  const clock = new ManualClock();
  const logger = new RecordingLogger();
  const store = await openSqliteStore<AppRecords>({
    schemas: recordSchemas,
    url: "memory://",
    clock,
    logger,
  });
  const { db, commits } = store;
  const pools = { of: () => "all", budgets: { all: 16 } };
  const queue = new SqliteTaskQueue<AppRecords>({ store: { db, commits }, clock, logger, pools });
  const handler = new ScriptedHandler();
  return {
    clock,
    logger,
    store,
    db,
    queue,
    handler,
    [Symbol.asyncDispose]: async () => {
      await queue.stop(0);
      await store.close();
    },
  };
}

describe("SQLite task queue", () => {
  // Once, at the start, all that waits is looked at, to find what belongs into another pool in this version.
  const { waitingTypes, ...others } = TASK_SQL;

  it.each(Object.entries(others))("does not scan the tasks to %s", async (_, sql) => {
    await using parts = await openParts();
    expect(unindexedSteps(parts.db, sql)).toEqual([]);
  });

  it("reads what waits by its index at the start, and not what is done", async () => {
    await using parts = await openParts();
    expect(queryPlan(parts.db, waitingTypes).join()).toContain("tasks USING INDEX tasks_waiting");
  });

  it("reads no more than it needs to find what is due", async () => {
    await using parts = await openParts();
    for (const sql of [TASK_SQL.due, TASK_SQL.nextDue]) {
      expect(queryPlan(parts.db, sql)).toEqual([
        expect.stringMatching(/^SEARCH tasks USING COVERING INDEX tasks_waiting \(pool=\?/),
      ]);
    }
  });

  it("decides each of many that come at once once, though most have no room", async () => {
    await using subject = await openMemorySubject();
    const within = [{ gate: "a", limit: 5, windowMs: DAY_MS }];
    let decisions = 0;
    const decide = (): Plan<null> => {
      decisions += 1;
      return { within, adds: [{ id: `t${decisions}`, type: "test", payload: null }], value: null };
    };
    const all = await Promise.allSettled(Array.from({ length: 800 }, () => subject.queue.commit(decide)));
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
    expect(await subject.queue.counts()).toMatchObject({ waiting: 5 });
    expect(decisions).toBe(800);
  });

  it("keeps what people wrote no longer than a task needs it", async () => {
    await using parts = await openParts();
    const { queue, clock, handler, db } = parts;
    await queue.add({ id: "once", type: "test", payload: { text: "what a person wrote" } });
    for (const onDuplicate of ["pending", "latest"] as const) {
      await queue.add({
        id: onDuplicate,
        type: "test",
        onDuplicate,
        payload: { text: "what a person wrote" },
      });
    }
    queue.start(handler.handle);
    await queue.idle();
    expect(db.prepare("SELECT id, state, payload FROM tasks").all()).toEqual([
      { id: "once", state: "done", payload: null },
    ]);
    clock.advance(8 * DAY_MS);
    await queue.idle();
    expect(db.prepare("SELECT count(*) AS count FROM tasks").get()).toEqual({ count: 0 });
  });

  it("forgets tasks that were given up after 90 days", async () => {
    await using parts = await openParts();
    const { queue, clock, handler, db } = parts;
    handler.on("a", () => ({ kind: "dead", reason: "no such channel" }));
    queue.start(handler.handle);
    await queue.add({ id: "a", type: "test", payload: { text: "what a person wrote" } });
    await queue.idle();
    clock.advance(90 * DAY_MS - 2 * MINUTE_MS);
    await queue.idle();
    expect(await queue.counts()).toMatchObject({ dead: 1 });
    clock.advance(4 * MINUTE_MS);
    await queue.idle();
    expect(db.prepare("SELECT count(*) AS count FROM tasks").get()).toEqual({ count: 0 });
  });

  it("forgets many done tasks in steps", async () => {
    await using parts = await openParts();
    const { queue, clock, handler, db } = parts;
    const ids = Array.from({ length: 1_100 }, (_, n) => `t${n}`);
    await Promise.all(ids.map((id) => queue.add({ id, type: "test", payload: null })));
    queue.start(handler.handle);
    await queue.idle();
    await turns();

    const left: unknown[] = [];
    clock.advance(7 * DAY_MS);
    for (let n = 0; n < 4; n += 1) {
      await queue.idle();
      await turns();
      left.push(db.prepare("SELECT count(*) AS count FROM tasks").get()?.["count"]);
      clock.advance(SECOND_MS);
    }

    expect(left).toEqual([600, 100, 0, 0]);
  });

  it("keeps why a task was given up, within bounds", async () => {
    await using parts = await openParts();
    const { queue, handler, db } = parts;
    handler.on("a", () => ({ kind: "dead", reason: "x".repeat(10_000) }));
    queue.start(handler.handle);
    await queue.add({ id: "a", type: "deliver", payload: null });
    await queue.idle();
    const row = db.prepare("SELECT state, length(reason) AS chars FROM tasks").get();
    expect(row).toEqual({ state: "dead", chars: 500 });
  });

  it("says when the next task is due", async () => {
    await using parts = await openParts();
    const { queue, clock, handler } = parts;
    const held = gate();
    handler.on("running", held.script);
    expect(queue.nextDueAt()).toBeNull();
    await queue.add({ id: "later", type: "test", payload: null, dueAt: clock.now() + DAY_MS });
    await queue.add({ id: "running", type: "test", payload: null });
    expect(queue.nextDueAt()).toBe(clock.now());

    queue.start(handler.handle);
    await handler.started("running");

    expect(queue.nextDueAt()).toBe(clock.now() + DAY_MS);
  });

  it("runs what an earlier version left in pools that are gone, also when they cannot be sorted at first", async () => {
    await using subject = await openFileSubject();
    const handler = new ScriptedHandler();
    await subject.queue.add({ id: "a", type: "test", payload: null });
    subject.db.exec("UPDATE tasks SET pool = 'of another version'");
    const heal = await subject.failWrites();
    subject.queue.start(handler.handle);
    await turns();
    expect(subject.logger.text("error")).toContain("cannot move waiting tasks to their pools");
    await heal();
    subject.advance(SECOND_MS);
    await handler.started("a");
  });

  it("hands a payload to the handler as it is that is no longer JSON", async () => {
    await using parts = await openParts();
    const { queue, handler, db } = parts;
    await queue.add({ id: "a", type: "test", payload: null });
    db.exec(`UPDATE tasks SET payload = '{"turnId'`);
    queue.start(handler.handle);
    await queue.idle();
    expect(handler.runs).toMatchObject([{ id: "a", payload: '{"turnId' }]);
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

  it("says by how much the clock was set back, once", async () => {
    await using subject = await openFileSubject();
    subject.queue.start(new ScriptedHandler().handle);
    await subject.idle();
    subject.setClock(-60 * MINUTE_MS);
    for (let start = 0; start < 3; start += 1) {
      await subject.reopen();
      subject.queue.start(new ScriptedHandler().handle);
      await subject.idle();
    }
    expect(subject.setBacks).toEqual([60 * MINUTE_MS]);
    expect(subject.logger.text("warn")).toContain(`"by_ms":${60 * MINUTE_MS}`);
  });

  it("takes a clock that is corrected by a second, or set forward, for what it is", async () => {
    await using subject = await openFileSubject();
    for (const byMs of [-SECOND_MS, 60 * MINUTE_MS, -SECOND_MS]) {
      subject.setClock(byMs);
      await subject.reopen();
      subject.queue.start(new ScriptedHandler().handle);
      subject.advance(10 * SECOND_MS);
      await subject.idle();
    }
    expect(subject.setBacks).toEqual([]);
  });
});

describe("SQLite task queue on a file that cannot be written", () => {
  it("rejects adds and checks with what to do, and goes on once it can be written", async () => {
    await using parts = await openParts();
    const { queue, clock, handler, db } = parts;
    queue.start(handler.handle);
    await queue.add({ id: "before", type: "test", payload: null, dueAt: clock.now() + MINUTE_MS });
    await queue.idle();

    db.exec("PRAGMA query_only = ON");
    await expect(queue.add({ id: "a", type: "test", payload: null })).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("writable"),
    });
    await expect(queue.check()).rejects.toMatchObject({ code: "store_unavailable" });

    db.exec("PRAGMA query_only = OFF");
    await queue.check();
    clock.advance(MINUTE_MS);
    await queue.idle();
    expect(handler.order()).toEqual(["before"]);
  });

  it("says so, and tries again, when the tasks cannot be read", async () => {
    await using parts = await openParts();
    const { queue, clock, handler, db, logger } = parts;
    queue.start(handler.handle);
    await queue.add({ id: "a", type: "test", payload: null, dueAt: clock.now() + SECOND_MS });
    await queue.idle();
    db.exec("ALTER TABLE tasks RENAME TO elsewhere");
    clock.advance(SECOND_MS);
    await turns();
    expect(logger.text("error")).toContain("pass failed");
    await expect(queue.check()).rejects.toThrow("no such table");

    db.exec("ALTER TABLE elsewhere RENAME TO tasks");
    clock.advance(SECOND_MS);
    await queue.idle();
    await queue.check();
    expect(handler.order()).toEqual(["a"]);
  });

  it("survives a full disk", async () => {
    await using parts = await openParts();
    const { queue, clock, handler, db } = parts;
    queue.start(handler.handle);
    db.exec("PRAGMA max_page_count = 1");
    const add = (n: number) => queue.add({ id: `t${n}`, type: "test", payload: "x".repeat(40_000) });
    await expect(add(0)).rejects.toThrow("the disk is full");

    db.exec("PRAGMA max_page_count = 100000");
    await add(1);
    clock.advance(SECOND_MS);
    await queue.idle();
    expect(handler.order()).toEqual(["t1"]);
  });

  it("stops, and the next start runs what was aborted", async () => {
    await using subject = await openFileSubject();
    const handler = new ScriptedHandler();
    handler.on("a", gate().script, () => ({ kind: "done" }));
    await subject.queue.add({ id: "a", type: "test", payload: null });
    await subject.reopen();
    subject.queue.start(handler.handle);
    await handler.started("a");

    const heal = await subject.failWrites();
    await subject.queue.stop(0);
    await turns();
    expect(subject.logger.text("warn")).toContain("stays counted");
    await heal();

    await subject.reopen();
    subject.queue.start(handler.handle);
    await subject.idle();
    expect(handler.runsOf("a")).toHaveLength(2);
  });

  it("starts nothing more once a second process owns the file", async () => {
    await using subject = await openFileSubject();
    const handler = new ScriptedHandler();
    subject.queue.start(handler.handle);
    await subject.queue.add({ id: "a", type: "test", payload: null, dueAt: subject.now() + SECOND_MS });
    await subject.idle();
    const path = subject.db.location() ?? "";
    await rm(`${path}-owner`);
    const { clock, logger } = subject;
    await using _second = await openSqliteStore({
      schemas: recordSchemas,
      url: `sqlite://${path}`,
      clock,
      logger,
      ownerWaitMs: 0,
    });

    subject.advance(SECOND_MS);
    await turns();
    expect(handler.order()).toEqual([]);
    await expect(subject.queue.check()).rejects.toMatchObject({ code: "store_in_use" });
  });

  it("starts nothing more once the file is gone", async () => {
    await using subject = await openFileSubject();
    const handler = new ScriptedHandler();
    subject.queue.start(handler.handle);
    await subject.queue.add({ id: "a", type: "test", payload: null, dueAt: subject.now() + SECOND_MS });
    await subject.idle();
    await rm(subject.db.location() ?? "");

    subject.advance(SECOND_MS);
    await turns();
    expect(handler.order()).toEqual([]);
    await expect(subject.queue.check()).rejects.toMatchObject({ code: "store_unavailable" });
  });
});
