import { describe, expect, it } from "vitest";
import { openSqliteStore } from "../../../src/shared/store/sqlite/open-sqlite-store.ts";
import { Note, type RecordStoreSubject, describeRecordStore } from "../../contracts/record-store.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { openTempDir } from "../../support/temp-dir.ts";
import { type AppRecords, recordSchemas } from "../../../src/app/rules/records.ts";

async function openSubject(url: string, cleanUp: () => Promise<void>): Promise<RecordStoreSubject> {
  const clock = new ManualClock();
  const logger = new RecordingLogger();
  const open = () =>
    openSqliteStore<AppRecords>({ schemas: recordSchemas, url, clock, logger, ownerWaitMs: 0 });
  let store = await open();
  let notes = store.recordsNamed("notes", Note);
  let drafts = store.recordsNamed("drafts", Note);
  return {
    get notes() {
      return notes;
    },
    get drafts() {
      return drafts;
    },
    advance: (ms) => clock.advance(ms),
    now: () => clock.now(),
    damage: async (id, text) => {
      store.db.prepare("INSERT OR REPLACE INTO kv (key, value) VALUES (?, ?)").run(`notes:${id}`, text);
    },
    setAside: async (key) => {
      const row = store.db.prepare("SELECT value FROM kv WHERE key = ?").get(`set-aside:${key}`);
      return JSON.parse(String(row?.["value"])).value;
    },
    setAsideCount: () => store.setAsideCount(),
    errors: () => logger.text("error"),
    reopen: async () => {
      // What is in memory is gone with the process.
      if (url !== "memory://") {
        await store.close();
        store = await open();
      }
      notes = store.recordsNamed("notes", Note);
      drafts = store.recordsNamed("drafts", Note);
    },
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await cleanUp();
    },
  };
}

describeRecordStore("SQLite file", async () => {
  const dir = await openTempDir();
  return await openSubject(`sqlite://${dir.file("store.sqlite")}`, async () => {
    await dir[Symbol.asyncDispose]();
  });
});
describeRecordStore("SQLite in memory", () => openSubject("memory://", async () => {}));

describe("record store", () => {
  it("rejects when the storage fails", async () => {
    await using store = await openSqliteStore({
      schemas: recordSchemas,
      url: "memory://",
      clock: new ManualClock(),
      logger: new RecordingLogger(),
    });
    const notes = store.recordsNamed("notes", Note);
    await store.close();
    await expect(notes.get("a")).rejects.toMatchObject({ code: "store_unavailable" });
    await expect(notes.set("a", { version: 1, text: "" })).rejects.toMatchObject({
      code: "store_unavailable",
    });
    await expect(notes.delete("a")).rejects.toMatchObject({ code: "store_unavailable" });
  });

  it("forgets what was set aside after the time that was asked for", async () => {
    const clock = new ManualClock();
    await using store = await openSqliteStore({
      schemas: recordSchemas,
      url: "memory://",
      clock,
      logger: new RecordingLogger(),
      keepSetAsideMs: 60_000,
    });
    const rows = () => store.db.prepare("SELECT key FROM kv").all();
    store.db.exec("INSERT INTO kv (key, value) VALUES ('notes:a', '{'), ('turn:b', '{')");
    expect(await store.recordsNamed("notes", Note).get("a")).toBeUndefined();
    await store.commits.run(() => store.decided.read("turn", "b"));
    expect(store.setAsideCount()).toBe(2);
    expect(rows()).toEqual([{ key: "set-aside:notes:a" }, { key: "set-aside:turn:b" }]);

    clock.advance(59_999);
    await store.commits.run(() => store.sweep());
    expect(rows()).toHaveLength(2);
    clock.advance(1);
    await store.commits.run(() => store.sweep());
    expect(rows()).toEqual([]);
  });

  it("counts and logs what a decision set aside once it is on the disk, and once", async () => {
    const logger = new RecordingLogger();
    await using store = await openSqliteStore({
      schemas: recordSchemas,
      url: "memory://",
      clock: new ManualClock(),
      logger,
    });
    store.db.exec("INSERT INTO kv (key, value) VALUES ('turn:b', '{')");
    const all = await Promise.allSettled([
      store.commits.run(() => store.decided.read("turn", "b")),
      store.commits.run(() => {
        throw new Error("so that the turn is carried out again");
      }),
    ]);
    expect(all.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(store.setAsideCount()).toBe(1);
    expect(logger.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  });
});
