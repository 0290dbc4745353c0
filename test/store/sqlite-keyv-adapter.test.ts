import { Keyv } from "keyv";
import { describe, expect, it } from "vitest";
import { GroupCommit } from "../../src/store/group-commit.ts";
import { openKeyv } from "../../src/store/keyv.ts";
import { openSqliteDatabase } from "../../src/store/sqlite-database.ts";
import { createSqliteKeyvAdapter, kvSql } from "../../src/store/sqlite-keyv-adapter.ts";
import { storeErrorsOf } from "../../src/store/store-errors.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { unindexedSteps } from "../support/query-plan.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

async function openParts() {
  const clock = new ManualClock();
  const { db, close, assertOwned } = await openSqliteDatabase("memory", { clock });
  const commits = new GroupCommit({ db, toStoreError: storeErrorsOf(db), assertOwned });
  const adapterOf = (namespace: string) => createSqliteKeyvAdapter({ db, commits, namespace, clock });
  const keyvOf = (namespace: string) =>
    openKeyv({ store: adapterOf(namespace), namespace, logger: new RecordingLogger() });
  const rows = () => db.prepare("SELECT key FROM kv ORDER BY key").all().length;
  return { clock, db, adapterOf, keyvOf, rows, [Symbol.asyncDispose]: async () => close() };
}

/** Keyv's own behaviour on the adapter, whether Keyv prefixes keys and stamps expiry itself (its defaults) or not. */
describe.each(["as opened by openKeyv", "with Keyv's defaults"])("SQLite Keyv adapter, %s", (how) => {
  async function openBoth() {
    const parts = await openParts();
    const open = (namespace: string): Keyv =>
      how === "with Keyv's defaults"
        ? new Keyv({ store: parts.adapterOf(namespace), namespace, throwOnErrors: true })
        : parts.keyvOf(namespace);
    return { ...parts, one: open("one"), two: open("two") };
  }

  it("sets, gets, has and deletes", async () => {
    await using parts = await openBoth();
    const { one } = parts;
    expect(await one.set("a", { deep: [1] })).toBe(true);
    expect(await one.get("a")).toEqual({ deep: [1] });
    expect(await one.has("a")).toBe(true);
    expect(await one.delete("a")).toBe(true);
    expect(await one.delete("a")).toBe(false);
    expect(await one.has("a")).toBe(false);
    expect(await one.get("a")).toBeUndefined();
  });

  it("does so with many keys", async () => {
    await using parts = await openBoth();
    const { one } = parts;
    await one.setMany([
      { key: "a", value: 1 },
      { key: "b", value: false },
    ]);
    expect(await one.getMany(["b", "none", "a"])).toEqual([false, undefined, 1]);
    expect(await one.hasMany(["b", "none"])).toEqual([true, false]);
    expect(await one.deleteMany(["a", "none"])).toBe(true);
    expect(await one.deleteMany(["a", "none"])).toBe(false);
    expect(await one.getMany(["a", "b"])).toEqual([undefined, false]);
  });

  it("keeps two namespaces apart", async () => {
    await using parts = await openBoth();
    const { one, two } = parts;
    await one.set("a", 1);
    await two.set("a", 2);
    await two.delete("b");
    expect([await one.get("a"), await two.get("a")]).toEqual([1, 2]);
    await one.clear();
    expect([await one.get("a"), await two.get("a")]).toEqual([undefined, 2]);
  });

  it("iterates over its own entries, page by page, while they are deleted", async () => {
    await using parts = await openBoth();
    const { one, two } = parts;
    const keys = Array.from({ length: 250 }, (_, n) => `k:${String(n).padStart(3, "0")}`);
    for (const key of keys) await one.set(key, key);
    await two.set("other", 1);

    const seen: unknown[] = [];
    for await (const [key, value] of one.iterator?.(undefined) ?? []) {
      expect(value).toBe(key);
      seen.push(key);
      await one.delete(String(key));
    }

    expect(seen).toEqual(keys);
    expect(parts.rows()).toBe(1);
  });

  it("disconnects without closing the database", async () => {
    await using parts = await openBoth();
    await parts.one.disconnect();
    await parts.one.set("a", 1);
    expect(await parts.one.get("a")).toBe(1);
  });
});

describe("SQLite Keyv adapter", () => {
  it.each(Object.entries(kvSql))("does not scan the entries to %s", async (_, sql) => {
    await using parts = await openParts();
    expect(unindexedSteps(parts.db, sql)).toEqual([]);
  });

  it("treats an expired entry as absent everywhere", async () => {
    await using parts = await openParts();
    const keyv = parts.keyvOf("one");
    for (const key of ["a", "b", "c"]) await keyv.set(key, 1, 1_000);
    await keyv.set("kept", 1);
    parts.clock.advance(1_000);

    expect(await keyv.get("a")).toBeUndefined();
    expect(await keyv.has("a")).toBe(false);
    expect(await keyv.getMany(["a", "kept"])).toEqual([undefined, 1]);
    expect(await keyv.delete("a")).toBe(false);
    expect(await keyv.deleteMany(["b"])).toBe(false);
    const seen: unknown[] = [];
    for await (const entry of keyv.iterator?.(undefined) ?? []) seen.push(entry);
    expect(seen).toEqual([["kept", 1]]);
  });

  it("keeps an entry as long as the injected clock says, whatever the wall clock says", async () => {
    await using parts = await openParts();
    const keyv = parts.keyvOf("one");
    // The injected clock is in January 2026, so that a stamp of it is in the past for Date.now().
    await keyv.set("a", 1, 1);
    await expect.poll(() => Date.now()).toBeGreaterThan(parts.clock.now());
    expect(await keyv.get("a")).toBe(1);
  });

  it("removes an entry only while it is what was expected", async () => {
    await using parts = await openParts();
    const adapter = parts.adapterOf("one");
    expect(await adapter.deleteIf("a", "1")).toBe(false);
    await adapter.set("a", "1");
    expect(await adapter.deleteIf("a", "2")).toBe(false);
    expect(await adapter.get("a")).toBe("1");
    expect(await adapter.deleteIf("a", "1")).toBe(true);
    expect(await adapter.has("a")).toBe(false);
  });

  it("deletes many or none", async () => {
    await using parts = await openParts();
    const adapter = parts.adapterOf("one");
    for (const key of ["a", "b"]) await adapter.set(key, "1");
    parts.db.exec(
      "CREATE TEMP TRIGGER refuse BEFORE DELETE ON kv WHEN OLD.key = 'one:b' BEGIN SELECT RAISE(FAIL, 'no'); END",
    );
    await expect(adapter.deleteMany(["a", "b"])).rejects.toThrow("no");
    expect(await adapter.getMany(["a", "b"])).toEqual(["1", "1"]);
  });

  it("refuses a second Keyv with another namespace, and a namespace with a colon", async () => {
    await using parts = await openParts();
    const adapter = parts.adapterOf("one");
    expect(() => new Keyv({ store: adapter, namespace: "two" })).toThrow("one adapter per Keyv");
    expect(() => parts.adapterOf("a:b")).toThrow(TypeError);
    expect(() => parts.adapterOf("")).toThrow(TypeError);
  });
});
