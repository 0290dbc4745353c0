// @module-tag all

import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { SqliteTaskQueue } from "../../../src/shared/queue/sqlite/sqlite-task-queue.ts";
import { openSqliteStore } from "../../../src/shared/store/sqlite/open-sqlite-store.ts";
import { spawnNode } from "../../support/child-process.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { ScriptedHandler } from "../../support/scripted-handler.ts";
import { openTempDir } from "../../support/temp-dir.ts";
import { type AppRecords, recordSchemas } from "../../../src/app/rules/records.ts";

const child = fileURLToPath(new URL("../../support/store-child.ts", import.meta.url));

describe("SQLite task queue of a process that is killed", () => {
  it.each([2, 30, 300])("has every task whose add was acknowledged, killed after %i lines", async (lines) => {
    await using dir = await openTempDir();
    const url = `sqlite://${dir.file("store.sqlite")}`;
    await using killed = spawnNode(child, url);
    await killed.wrote(lines);
    await killed.kill();
    const acknowledged = killed.lines.slice(1);

    const clock = new ManualClock(Date.now());
    const logger = new RecordingLogger();
    await using store = await openSqliteStore<AppRecords>({
      schemas: recordSchemas,
      url,
      clock,
      logger,
      ownerWaitMs: 0,
    });
    const pools = { of: () => "all", budgets: { all: 16 } };
    const queue = new SqliteTaskQueue<AppRecords>({ store, clock, logger, pools });
    const known = new Set(
      store.db
        .prepare("SELECT id FROM tasks")
        .all()
        .map(({ id }) => id),
    );
    expect(acknowledged.length).toBeGreaterThanOrEqual(lines - 1);
    expect(acknowledged.filter((id) => !known.has(id))).toEqual([]);

    const handler = new ScriptedHandler();
    queue.start(handler.handle);
    await queue.idle();
    await queue.stop(0);
    expect(handler.order()).toEqual(handler.order().toSorted(byNumber));
    expect(store.db.prepare("SELECT DISTINCT state FROM tasks").all()).toEqual([{ state: "done" }]);
  });
});

function byNumber(a: string, b: string): number {
  return Number(a.slice("task-".length)) - Number(b.slice("task-".length));
}
