import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { GroupCommit } from "../../../src/shared/store/sqlite/group-commit.ts";
import { StoreInUseError } from "../../../src/shared/store/store-errors.ts";
import { openTempDir } from "../../support/temp-dir.ts";
import { turn } from "../../support/turns.ts";

async function openParts() {
  const dir = await openTempDir();
  const path = dir.file("store.sqlite");
  const db = new DatabaseSync(path, { timeout: 0 });
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;
    CREATE TABLE notes (text TEXT NOT NULL) STRICT;
    CREATE TABLE parents (id INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE children (parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED) STRICT`);
  const owner = { isOther: false };
  const commits = new GroupCommit({
    db,
    assertOwned: () => {
      if (owner.isOther) throw new StoreInUseError(path);
    },
  });
  const insert = db.prepare("INSERT INTO notes (text) VALUES (?)");
  const other = new DatabaseSync(path, { timeout: 0 });
  return {
    db,
    commits,
    owner,
    write: (text: string) => insert.run(text),
    /** What another program sees: only what was committed. */
    notes: () =>
      other
        .prepare("SELECT text FROM notes ORDER BY rowid")
        .all()
        .map(({ text }) => text),
    lock: () => {
      other.exec("BEGIN IMMEDIATE");
      return () => other.exec("ROLLBACK");
    },
    [Symbol.asyncDispose]: async () => {
      other.close();
      if (db.isOpen) db.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

describe("group commit", () => {
  it("commits once what is written in one turn of the event loop, in the order it was asked for", async () => {
    await using parts = await openParts();
    const { commits, write, notes } = parts;
    let rides = 0;
    commits.ride(() => {
      rides += 1;
    });
    const told: string[] = [];
    const ask = async (text: string) => {
      told.push(await commits.run(() => (write(text), text)));
    };
    const all = Promise.all(Array.from({ length: 100 }, (_, n) => ask(`n${n}`)));
    expect(notes()).toEqual([]);
    await all;

    const expected = Array.from({ length: 100 }, (_, n) => `n${n}`);
    expect(notes()).toEqual(expected);
    expect(told).toEqual(expected);
    expect(rides).toBe(1);
    await ask("later");
    expect(rides).toBe(2);
  });

  it("tells nobody before it is on the disk", async () => {
    await using parts = await openParts();
    const { commits, write, notes } = parts;
    expect(await commits.run(() => (write("a"), "done")).then((told) => [told, notes()])).toEqual([
      "done",
      ["a"],
    ]);
  });

  it("lets a work see what the works before it wrote", async () => {
    await using parts = await openParts();
    const { commits, write, db } = parts;
    const count = () => db.prepare("SELECT count(*) AS count FROM notes").get()?.["count"];
    const counts = await Promise.all([1, 2, 3].map(() => commits.run(() => (write("a"), count()))));
    expect(counts).toEqual([1, 2, 3]);
  });

  it("fails a work that throws alone, with all it wrote", async () => {
    await using parts = await openParts();
    const { commits, write, notes } = parts;
    const bad = (text: string) => () => {
      write(text);
      throw new TypeError(text);
    };
    const all = await Promise.allSettled([
      commits.run(bad("bad 1")),
      commits.run(() => write("a").changes),
      commits.run(bad("bad 2")),
      commits.run(() => write("b").changes),
      commits.run(bad("bad 3")),
    ]);
    expect(all).toMatchObject([
      { status: "rejected", reason: new TypeError("bad 1") },
      { status: "fulfilled", value: 1 },
      { status: "rejected", reason: new TypeError("bad 2") },
      { status: "fulfilled", value: 1 },
      { status: "rejected", reason: new TypeError("bad 3") },
    ]);
    expect(notes()).toEqual(["a", "b"]);
  });

  it("tells what lives in memory once, when it is on the disk, and what is undone as often as it is", async () => {
    await using parts = await openParts();
    const { commits, write } = parts;
    const heard: string[] = [];
    const work = (text: string, fails = false) =>
      commits.run(() => {
        write(text);
        commits.afterCommit(() => heard.push(`${text} is there`));
        commits.afterUndo(() => heard.push(`${text} is undone`));
        if (fails) throw new Error("no");
      });
    await Promise.allSettled([work("a"), work("bad", true), work("b")]);
    expect(heard).toEqual(["a is undone", "bad is undone", "a is there", "b is there"]);
  });

  it("rejects all when the commit itself fails, and goes on with the next turn", async () => {
    await using parts = await openParts();
    const { commits, write, notes, db } = parts;
    const heard: string[] = [];
    const all = await Promise.allSettled([
      commits.run(() => write("a")),
      commits.run(() => {
        commits.afterCommit(() => heard.push("is there"));
        db.exec("INSERT INTO children (parent) VALUES (7)");
      }),
    ]);
    expect(all.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(all[0]).toMatchObject({ reason: { code: "store_unavailable" } });
    expect(heard).toEqual([]);
    await commits.run(() => write("b"));
    expect(notes()).toEqual(["b"]);
  });

  it("rejects all, and runs none, when the transaction cannot begin", async () => {
    await using parts = await openParts();
    const { commits, write, notes, lock } = parts;
    let ran = 0;
    const unlock = lock();
    const all = await Promise.allSettled(
      ["a", "b"].map((text) => commits.run(() => ((ran += 1), write(text)))),
    );
    expect(all).toMatchObject([
      { reason: { code: "store_unavailable", message: expect.stringContaining("holds a lock") } },
      { reason: { code: "store_unavailable" } },
    ]);
    expect(ran).toBe(0);
    unlock();
    await commits.run(() => write("c"));
    expect(notes()).toEqual(["c"]);
  });

  it("rejects all when SQLite fails in one work", async () => {
    await using parts = await openParts();
    const { commits, write, notes, db } = parts;
    const all = await Promise.allSettled([
      commits.run(() => write("a")),
      commits.run(() => db.exec("INSERT INTO nowhere VALUES (1)")),
    ]);
    expect(all).toMatchObject([
      { reason: { code: "store_unavailable" } },
      { reason: { code: "store_unavailable" } },
    ]);
    expect(notes()).toEqual([]);
  });

  it("writes nothing once another process owns the file", async () => {
    await using parts = await openParts();
    const { commits, write, notes, owner } = parts;
    owner.isOther = true;
    await expect(commits.run(() => write("a"))).rejects.toMatchObject({ code: "store_in_use" });
    expect(() => commits.assertOwned()).toThrow(StoreInUseError);
    owner.isOther = false;
    commits.assertOwned();
    await commits.run(() => write("b"));
    expect(notes()).toEqual(["b"]);
  });

  it("takes riders along with every commit, behind the works, and is not begun for them", async () => {
    await using parts = await openParts();
    const { commits, write, notes } = parts;
    commits.ride(() => write("rider"));
    await turn();
    await turn();
    expect(notes()).toEqual([]);
    await commits.run(() => write("a"));
    expect(notes()).toEqual(["a", "rider"]);
  });

  it("has riders ride again when a work is undone, or when the commit failed that they rode with", async () => {
    await using parts = await openParts();
    const { commits, write, notes, db } = parts;
    let isWritten = false;
    commits.ride(() => {
      if (isWritten) return;
      write("rider");
      commits.afterCommit(() => {
        isWritten = true;
      });
    });
    await Promise.allSettled([commits.run(() => db.exec("INSERT INTO children (parent) VALUES (7)"))]);
    expect(notes()).toEqual([]);
    await commits.run(() => write("a"));
    await commits.run(() => write("b"));
    expect(notes()).toEqual(["a", "rider", "b"]);
  });

  it("commits at once when it is told to, and is idle then", async () => {
    await using parts = await openParts();
    const { commits, write, notes } = parts;
    expect(commits.isIdle).toBe(true);
    const written = commits.run(() => write("a"));
    expect(commits.isIdle).toBe(false);
    commits.flush();
    expect(commits.isIdle).toBe(true);
    expect(notes()).toEqual(["a"]);
    await written;
    commits.flush();
  });

  it("says that the database was closed", async () => {
    await using parts = await openParts();
    const { commits, write, db } = parts;
    const late = commits.run(() => write("a"));
    db.close();
    await expect(late).rejects.toThrow("it was closed");
  });
});
