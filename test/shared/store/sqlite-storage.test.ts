import { Keyv } from "keyv";
import { describe, expect, it } from "vitest";
import { openSqliteStore } from "../../../src/shared/store/sqlite/open-sqlite-store.ts";
import { SqliteStorage, STORAGE_SQL } from "../../../src/shared/store/sqlite/sqlite-storage.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { unindexedSteps } from "../../support/query-plan.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { recordSchemas } from "../../../src/app/rules/records.ts";

async function openParts() {
  const clock = new ManualClock();
  const store = await openSqliteStore({
    schemas: recordSchemas,
    url: "memory://",
    clock,
    logger: new RecordingLogger(),
  });
  const { db, commits } = store;
  const storageOf = (namespace: string) => new SqliteStorage({ db, commits, namespace, clock });
  return { clock, db, storageOf, [Symbol.asyncDispose]: () => store.close() };
}

describe("SQLite storage", () => {
  it("is one for a Keyv with its defaults", async () => {
    await using parts = await openParts();
    const [one, two] = ["one", "two"].map(
      (namespace) => new Keyv({ store: parts.storageOf(namespace), namespace, throwOnErrors: true }),
    );
    await one?.set("a", { deep: [1] });
    await two?.set("a", 2);
    expect(await one?.get("a")).toEqual({ deep: [1] });
    expect(await one?.has("a")).toBe(true);
    expect(await one?.delete("a")).toBe(true);
    expect(await one?.delete("a")).toBe(false);
    expect(await one?.get("a")).toBeUndefined();
    expect(await two?.get("a")).toBe(2);
  });

  it.each(Object.entries(STORAGE_SQL))("does not scan the tables to %s", async (_, sql) => {
    await using parts = await openParts();
    expect(unindexedSteps(parts.db, sql)).toEqual([]);
  });

  it("treats an expired entry as absent everywhere", async () => {
    await using parts = await openParts();
    const storage = parts.storageOf("one");
    await storage.set("a", "1", 1_000);
    await storage.set("kept", "1");
    parts.clock.advance(1_000);
    expect(await storage.get("a")).toBeUndefined();
    expect(await storage.get("kept")).toBe("1");
    expect(await storage.delete("a")).toBe(false);
  });

  it("removes an entry only while it is what was expected", async () => {
    await using parts = await openParts();
    const storage = parts.storageOf("one");
    expect(await storage.deleteIf("a", "1")).toBe(false);
    await storage.set("a", "1");
    expect(await storage.deleteIf("a", "2")).toBe(false);
    expect(await storage.get("a")).toBe("1");
    expect(await storage.deleteIf("a", "1")).toBe(true);
    expect(await storage.get("a")).toBeUndefined();
  });
});
