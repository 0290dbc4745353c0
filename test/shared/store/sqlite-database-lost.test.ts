// @module-tag all

import { copyFile, open as openFile, rename, rm, truncate } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { openSqliteStore } from "../../../src/shared/store/sqlite/open-sqlite-store.ts";
import { openSqliteDatabase } from "../../../src/shared/store/sqlite/sqlite-database.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { openTempDir } from "../../support/temp-dir.ts";
import { recordSchemas } from "../../../src/app/rules/records.ts";

async function open(path: string) {
  const { db, close } = await openSqliteDatabase({ path }, { clock: new ManualClock(), ownerWaitMs: 0 });
  return { db, [Symbol.dispose]: close };
}

describe("SQLite database that is damaged", () => {
  /** A store with tasks and records on many pages, none of them free: what is on a free page matters to nobody. */
  async function writeMuch(path: string): Promise<{ pages: number; pageSize: number }> {
    using database = await open(path);
    const { db } = database;
    const insert = db.prepare("INSERT INTO kv (key, value) VALUES (?, ?)");
    for (let n = 0; n < 400; n += 1) insert.run(`turn:${n}`, `{"value":"${"x".repeat((n * 37) % 5_000)}"}`);
    const add = db.prepare(
      "INSERT INTO tasks (id, type, pool, known, payload, state, due_at, added_at) VALUES (?, 'watch', 'polls', 'once', '{}', 'waiting', ?, 0)",
    );
    for (let n = 0; n < 400; n += 1) add.run(`watch:${n}`, n);
    return {
      pages: Number(db.prepare("PRAGMA page_count").get()?.["page_count"]),
      pageSize: Number(db.prepare("PRAGMA page_size").get()?.["page_size"]),
    };
  }

  async function flip(path: string, offset: number): Promise<void> {
    const file = await openFile(path, "r+");
    const byte = new Uint8Array(1);
    await file.read(byte, 0, 1, offset);
    await file.write(Uint8Array.of((byte[0] ?? 0) ^ 0xff), 0, 1, offset);
    await file.close();
  }

  it("is refused at the start, and left as it is", async () => {
    await using dir = await openTempDir();
    const whole = dir.file("whole.sqlite");
    const { pages, pageSize } = await writeMuch(whole);
    expect(pages).toBeGreaterThan(100);
    const path = dir.file("store.sqlite");
    // The kind of page, where its cells begin, and how many there are, all over the file; and the file's own header.
    const places = [0, 5, 100, 103, 105];
    for (let page = 1; page < pages; page += 9) places.push(page * pageSize, page * pageSize + 3);
    for (const offset of places) {
      await copyFile(whole, path);
      await flip(path, offset);
      await expect(open(path), `byte ${offset}`).rejects.toMatchObject({
        code: "store_unavailable",
        message: expect.stringMatching(/the file (?:is damaged|isn't a SQLite database)\. Restore a backup/),
      });
    }
  });

  it("is refused at the start when its end is missing", async () => {
    await using dir = await openTempDir();
    const path = dir.file("store.sqlite");
    const { pages, pageSize } = await writeMuch(path);
    await truncate(path, Math.floor(pages / 2) * pageSize);
    await expect(open(path)).rejects.toThrow("the file is damaged");
  });

  it("is opened when it is whole", async () => {
    await using dir = await openTempDir();
    await writeMuch(dir.file("store.sqlite"));
    using database = await open(dir.file("store.sqlite"));
    expect(database.db.isOpen).toBe(true);
  });
});

describe("SQLite database that is taken away while it is in use", () => {
  async function openApp(path: string) {
    return await openSqliteStore({
      schemas: recordSchemas,
      url: `sqlite://${path}`,
      clock: new ManualClock(),
      logger: new RecordingLogger(),
      ownerWaitMs: 0,
    });
  }

  it.each([
    ["deleted", (path: string) => rm(path)],
    ["moved away", (path: string) => rename(path, `${path}.old`)],
    [
      "replaced by a copy",
      async (path: string) => {
        await copyFile(path, `${path}.copy`);
        await rename(`${path}.copy`, path);
      },
    ],
  ])("takes no write and is not well once its file was %s", async (_, takeAway) => {
    await using dir = await openTempDir();
    const path = dir.file("store.sqlite");
    await using store = await openApp(path);
    const before = store.recordsOf("service");
    await before.set("a", { version: 1, honorsIdempotencyKeys: true });
    await store.check();

    await takeAway(path);
    const refused = {
      code: "store_unavailable",
      message: expect.stringContaining(
        "the file was deleted or replaced while it was in use. Restart the process.",
      ),
    };
    await expect(before.set("b", { version: 1, honorsIdempotencyKeys: true })).rejects.toMatchObject(refused);
    await expect(before.delete("a")).rejects.toMatchObject(refused);
    await expect(store.check()).rejects.toMatchObject(refused);
  });

  it("takes no write any more once a second process runs on it, after its owner's lock was deleted", async () => {
    await using dir = await openTempDir();
    const path = dir.file("store.sqlite");
    await using first = await openApp(path);
    const ofFirst = first.recordsOf("service");
    await ofFirst.set("a", { version: 1, honorsIdempotencyKeys: true });
    await rm(`${path}-owner`);
    await using second = await openApp(path);
    const ofSecond = second.recordsOf("service");

    const late = ofFirst.set("a", { version: 1, honorsIdempotencyKeys: false });
    await expect(late).rejects.toMatchObject({
      code: "store_in_use",
      message: expect.stringContaining("in use by another process"),
    });
    await expect(ofFirst.delete("a")).rejects.toMatchObject({ code: "store_in_use" });
    await expect(first.check()).rejects.toMatchObject({ code: "store_in_use" });
    await second.check();
    await ofSecond.set("b", { version: 1, honorsIdempotencyKeys: true });
    expect(await ofSecond.get("a")).toEqual({ version: 1, honorsIdempotencyKeys: true });
    expect(() => first.commits.assertOwned()).toThrow("in use by another process");
  });
});
