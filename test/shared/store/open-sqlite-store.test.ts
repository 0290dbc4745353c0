import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openSqliteStore } from "../../../src/shared/store/sqlite/open-sqlite-store.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { openTempDir } from "../../support/temp-dir.ts";
import { recordSchemas } from "../../../src/app/rules/records.ts";

function openMemory() {
  return openSqliteStore({
    schemas: recordSchemas,
    url: "memory://",
    clock: new ManualClock(),
    logger: new RecordingLogger(),
  });
}

describe("store", () => {
  it("creates the file and its folders", async () => {
    await using dir = await openTempDir();
    const path = dir.file("deep/er/store.sqlite");
    await using store = await openSqliteStore({
      schemas: recordSchemas,
      url: `sqlite://${path}`,
      clock: new ManualClock(),
      logger: new RecordingLogger(),
    });
    await store.check();
    expect(existsSync(path)).toBe(true);
  });

  it("is not well when it cannot be written, and says what to do", async () => {
    await using store = await openMemory();
    await Promise.all([store.check(), store.check()]);
    store.db.exec("PRAGMA query_only = ON");
    await expect(store.check()).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("Make the file and its folder writable"),
    });
    store.db.exec("PRAGMA query_only = OFF");
    await store.check();
    await store.close();
    await expect(store.check()).rejects.toMatchObject({ code: "store_unavailable" });
  });

  it("closes twice", async () => {
    await using store = await openMemory();
    await store.close();
    await store.close();
    expect(store.db.isOpen).toBe(false);
  });
});
