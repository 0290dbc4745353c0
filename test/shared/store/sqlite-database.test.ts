import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { chmod, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { APP_MIGRATIONS as ownMigrations } from "../../../src/shared/store/sqlite/migrations.ts";
import {
  assertRoom,
  openSqliteDatabase,
  transaction,
} from "../../../src/shared/store/sqlite/sqlite-database.ts";
import { resolveFile } from "../../../src/shared/store/sqlite/file-owner.ts";
import { spawnNode } from "../../support/child-process.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { openTempDir } from "../../support/temp-dir.ts";
import { turn } from "../../support/turns.ts";

const child = fileURLToPath(new URL("../../support/store-child.ts", import.meta.url));
const isRoot = process.getuid?.() === 0;

async function open(path: string, more: Partial<Parameters<typeof openSqliteDatabase>[1]> = {}) {
  const { db, close } = await openSqliteDatabase(
    { path },
    { clock: new ManualClock(), ownerWaitMs: 0, ...more },
  );
  return { db, close, [Symbol.dispose]: close };
}

describe("SQLite database", () => {
  it("syncs each commit to the disk", async () => {
    await using dir = await openTempDir();
    using database = await open(dir.file("store.sqlite"));
    expect(database.db.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect(database.db.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
  });

  it("can be read by other programs while it is owned", async () => {
    await using dir = await openTempDir();
    using database = await open(dir.file("store.sqlite"));
    database.db.exec("INSERT INTO kv (key, value) VALUES ('a', '1')");
    const shell = new DatabaseSync(dir.file("store.sqlite"), { readOnly: true });
    expect(shell.prepare("SELECT value FROM kv").all()).toEqual([{ value: "1" }]);
    shell.close();
  });

  it("commits all of a transaction or none of it", async () => {
    await using dir = await openTempDir();
    using database = await open(dir.file("store.sqlite"));
    const { db } = database;
    const insert = db.prepare("INSERT INTO kv (key, value) VALUES (?, '1')");
    expect(() =>
      transaction(db, () => {
        insert.run("a");
        throw new Error("no");
      }),
    ).toThrow("no");
    expect(transaction(db, () => insert.run("b").changes)).toBe(1);
    expect(db.prepare("SELECT key FROM kv").all()).toEqual([{ key: "b" }]);
  });
});

describe("SQLite database, on a small disk", () => {
  it.skipIf(!mountsFolders())("has no room, which is told before a request is refused", async () => {
    await using dir = await openTempDir();
    const disk = dir.file("disk");
    await mkdir(disk);
    mount("size=1m", disk);
    try {
      await expect(assertRoom(disk)).resolves.toBeUndefined();
      await writeFile(`${disk}/filled`, Buffer.alloc(700 * 1024));
      await expect(assertRoom(disk)).rejects.toMatchObject({
        code: "store_unavailable",
        message: expect.stringContaining("the disk is full. Free some space."),
      });
    } finally {
      execFileSync("umount", [disk]);
    }
  });
});

function mount(options: string, folder: string): void {
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", folder], { stdio: "pipe" });
}

function mountsFolders(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "mount-"));
  try {
    mount("size=1m", folder);
    execFileSync("umount", [folder]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("SQLite database, owned by one process", () => {
  it("is refused to a second owner in the same process, by whatever path, until the first closes", async () => {
    await using dir = await openTempDir();
    const path = dir.file("store.sqlite");
    const first = await open(path);
    await symlink(path, dir.file("link.sqlite"));
    for (const name of ["store.sqlite", "link.sqlite"]) {
      await expect(open(dir.file(name))).rejects.toMatchObject({
        code: "store_in_use",
        message: `The store ${path} is in use by another process. Stop that process, or give each process its own STORE_URL.`,
      });
    }
    first.close();
    first.close();
    using second = await open(path);
    expect(second.db.isOpen).toBe(true);
  });

  it("is refused to another process until the owner is killed", async () => {
    await using dir = await openTempDir();
    const path = dir.file("store.sqlite");
    await using owner = spawnNode(child, `sqlite://${path}`);
    await owner.wrote(1);
    await expect(open(path)).rejects.toMatchObject({ code: "store_in_use" });
    await owner.kill();
    using database = await open(path);
    expect(database.db.isOpen).toBe(true);
  });

  it("is waited for, as in a rolling restart", async () => {
    await using dir = await openTempDir();
    const clock = new ManualClock();
    const first = await open(dir.file("store.sqlite"));
    const opening = open(dir.file("store.sqlite"), { clock, ownerWaitMs: 10_000 });
    clock.advance(100);
    await turn();
    first.close();
    clock.advance(100);
    using second = await opening;
    expect(second.db.isOpen).toBe(true);
  });

  it("is waited for no longer than asked", async () => {
    await using dir = await openTempDir();
    const clock = new ManualClock();
    using _first = await open(dir.file("store.sqlite"));
    const opening = open(dir.file("store.sqlite"), { clock, ownerWaitMs: 250 });
    const refused = opening.then(
      () => "opened",
      (thrown: unknown) => thrown,
    );
    for (let n = 0; n < 3; n += 1) {
      clock.advance(100);
      await turn();
    }
    expect(await refused).toMatchObject({ code: "store_in_use" });
  });
});

describe("SQLite database, for this user alone", () => {
  it("is in files that nobody else can read, in a folder of its own", async () => {
    await using dir = await openTempDir();
    using database = await open(dir.file("data/store.sqlite"));
    database.db.exec("INSERT INTO kv (key, value) VALUES ('a', '1')");
    const files = await readdir(dir.file("data"));
    expect(files.toSorted()).toEqual([
      "store.sqlite",
      "store.sqlite-owner",
      "store.sqlite-owner-journal",
      "store.sqlite-shm",
      "store.sqlite-wal",
    ]);
    expect(files.map((file) => modeOf(dir.file(`data/${file}`)))).toEqual(files.map(() => "600"));
    expect(modeOf(dir.file("data"))).toBe("700");
  });

  it("is made so where an earlier version left it open, and leaves a folder that was there as it is", async () => {
    await using dir = await openTempDir();
    await chmod(dir.path, 0o755);
    const path = dir.file("store.sqlite");
    (await open(path)).close();
    for (const file of [path, `${path}-owner`]) await chmod(file, 0o644);
    using database = await open(path);
    database.db.exec("INSERT INTO kv (key, value) VALUES ('a', '1')");
    for (const file of [path, `${path}-owner`, `${path}-wal`, `${path}-shm`])
      expect(modeOf(file)).toBe("600");
    expect(modeOf(dir.path)).toBe("755");
  });

  it("overwrites what is deleted", async () => {
    await using dir = await openTempDir();
    using database = await open(dir.file("store.sqlite"));
    expect(database.db.prepare("PRAGMA secure_delete").get()).toEqual({ secure_delete: 1 });
  });
});

describe("SQLite database that cannot be used", () => {
  it.each([
    ["no database", "this is no database, but a text that is long enough to look at".repeat(20)],
    ["cut short", "SQLite format 3\u0000"],
  ])("says so when the file is %s, and leaves it", async (_, text) => {
    await using dir = await openTempDir();
    const path = dir.file("store.sqlite");
    await writeFile(path, text);
    await expect(open(path)).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(
        new RegExp(`^The store ${path} is unavailable: the file isn't a SQLite database\\. Restore`),
      ),
    });
    await expect(open(path)).rejects.toMatchObject({ code: "store_unavailable" });
  });

  it("says so when no folder can be made there, such as below /proc", () => {
    expect(() => resolveFile("/proc/docs-agent/data/state.sqlite")).toThrow(
      /^The store \/proc\/docs-agent\/data\/state/,
    );
  });

  it("says so when the path is a folder, or leads through a file", async () => {
    await using dir = await openTempDir();
    await mkdir(dir.file("folder"));
    await writeFile(dir.file("file"), "");
    await expect(open(dir.file("folder"))).rejects.toMatchObject({ code: "store_unavailable" });
    await expect(open(dir.file("file/store.sqlite"))).rejects.toMatchObject({ code: "store_unavailable" });
  });

  it.skipIf(isRoot)("says so when the file or its folder is read-only", async () => {
    await using dir = await openTempDir();
    const path = dir.file("folder/store.sqlite");
    (await open(path)).close();
    await chmod(path, 0o400);
    await expect(open(path)).rejects.toMatchObject({ code: "store_unavailable" });
    await chmod(path, 0o600);
    await chmod(`${path}-owner`, 0o400);
    await expect(open(path)).rejects.toMatchObject({ code: "store_unavailable" });
  });

  it("refuses another program's database, and does not change it", async () => {
    await using dir = await openTempDir();
    const path = dir.file("store.sqlite");
    const other = new DatabaseSync(path);
    other.exec("CREATE TABLE accounts (id)");
    other.close();
    await expect(open(path)).rejects.toThrow("another program's SQLite database");
    expect(existsSync(`${path}-wal`)).toBe(false);
    const after = new DatabaseSync(path);
    expect(after.prepare("SELECT name FROM sqlite_schema").all()).toEqual([{ name: "accounts" }]);
    expect(after.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "delete" });
    after.close();
  });
});

describe("SQLite database schema", () => {
  const steps = ["CREATE TABLE a (x)", "ALTER TABLE a ADD COLUMN y"];

  it("is brought up to date, a step at a time, once", async () => {
    await using dir = await openTempDir();
    const path = dir.file("store.sqlite");
    const migrations = ["CREATE TABLE probe (id INTEGER PRIMARY KEY, written_at)", ...steps];
    (await open(path, { migrations: migrations.slice(0, 2) })).close();
    using database = await open(path, { migrations });
    database.db.exec("INSERT INTO a (x, y) VALUES (1, 2)");
    expect(database.db.prepare("PRAGMA user_version").get()).toEqual({ user_version: 3 });
  });

  it("stays as it was when a step fails", async () => {
    await using dir = await openTempDir();
    const path = dir.file("store.sqlite");
    (await open(path)).close();
    await expect(open(path, { migrations: ["", ...steps, "CREATE TABLE broken ("] })).rejects.toMatchObject({
      code: "store_unavailable",
    });
    using database = await open(path);
    expect(database.db.prepare("SELECT name FROM sqlite_schema WHERE name = 'a'").all()).toEqual([]);
  });

  it("is refused when a newer version wrote it", async () => {
    await using dir = await openTempDir();
    const path = dir.file("store.sqlite");
    const newer = await open(path);
    newer.db.exec("PRAGMA user_version = 99");
    newer.close();
    await expect(open(path)).rejects.toThrow(
      `schema version 99, and this version of docs-agent knows ${ownMigrations.length}. A newer version wrote it`,
    );
  });
});

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}
