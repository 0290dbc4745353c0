import { describe, expect, it } from "vitest";
import { openSqliteStore } from "../../../src/shared/store/sqlite/open-sqlite-store.ts";
import { GATE_SQL } from "../../../src/shared/store/sqlite/sqlite-rate-limiter.ts";
import { type RateLimiterSubject, describeRateLimiter } from "../../contracts/rate-limiter.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { unindexedSteps } from "../../support/query-plan.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { openTempDir } from "../../support/temp-dir.ts";
import { recordSchemas } from "../../../src/app/rules/records.ts";

async function openSubject(): Promise<RateLimiterSubject> {
  const dir = await openTempDir();
  const clock = new ManualClock();
  const open = () =>
    openSqliteStore({
      schemas: recordSchemas,
      url: `sqlite://${dir.file("store.sqlite")}`,
      clock,
      logger: new RecordingLogger(),
    });
  let store = await open();
  return {
    get rateLimiter() {
      return store.rateLimiter;
    },
    now: () => clock.now(),
    advance: (ms) => clock.advance(ms),
    setBack: (byMs) => {
      clock.setTo(clock.now() - byMs);
      store.rateLimiter.pullIn(byMs);
    },
    reopen: async () => {
      await store.commits.run(() => {});
      await store.close();
      store = await open();
    },
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

describeRateLimiter("SQLite", openSubject);

async function openMemory() {
  const clock = new ManualClock();
  const store = await openSqliteStore({
    schemas: recordSchemas,
    url: "memory://",
    clock,
    logger: new RecordingLogger(),
  });
  const rows = () => store.db.prepare("SELECT gate FROM slots ORDER BY gate").all();
  return { clock, store, rows, [Symbol.asyncDispose]: () => store.close() };
}

describe("SQLite gates", () => {
  // All of them are read once, at the start.
  const { all: _, ...others } = GATE_SQL;

  it.each(Object.entries(others))("do not scan the gates to %s", async (_, sql) => {
    await using parts = await openMemory();
    expect(unindexedSteps(parts.store.db, sql)).toEqual([]);
  });

  it("wait for nobody: they go to the disk with the next commit", async () => {
    await using parts = await openMemory();
    await parts.store.rateLimiter.reserve("a", { gapMs: 1_000 });
    expect(parts.rows()).toEqual([]);
    await parts.store.commits.run(() => {});
    expect(parts.rows()).toEqual([{ gate: "a" }]);
  });

  it("go with a later commit when one fails", async () => {
    await using parts = await openMemory();
    const { store } = parts;
    await store.rateLimiter.reserve("a", { gapMs: 1_000 });
    store.db.exec("PRAGMA query_only = ON");
    await expect(store.commits.run(() => {})).rejects.toMatchObject({ code: "store_unavailable" });
    store.db.exec("PRAGMA query_only = OFF");
    await store.commits.run(() => {});
    expect(parts.rows()).toEqual([{ gate: "a" }]);
  });

  it("forget a gate that holds nothing any more", async () => {
    await using parts = await openMemory();
    const { store, clock } = parts;
    await store.rateLimiter.reserve("a", { gapMs: 1_000 });
    await store.rateLimiter.postpone("b", clock.now() + 60_000);
    await store.commits.run(() => store.sweep());
    expect(parts.rows()).toHaveLength(2);
    clock.advance(1_000);
    await store.commits.run(() => store.sweep());
    expect(parts.rows()).toEqual([{ gate: "b" }]);
    clock.advance(60_000);
    await store.commits.run(() => store.sweep());
    expect(parts.rows()).toEqual([]);
    expect((await store.rateLimiter.reserve("b", { gapMs: 1_000 })).at).toBe(clock.now());
  });
});
