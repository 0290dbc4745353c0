/**
 * A process of its own on a store: `node store-child.ts <url>`. It adds tasks and runs some of them
 * as fast as it can, until it is killed or an add is refused. It writes "open" once it owns the
 * store, and then each id whose add was acknowledged, one per line.
 */
import { writeSync } from "node:fs";
import type { AppQueue } from "../../src/app/rules/records.ts";
import { SqliteTaskQueue } from "../../src/shared/queue/sqlite/sqlite-task-queue.ts";
import { openSqliteStore } from "../../src/shared/store/sqlite/open-sqlite-store.ts";
import { createSystemClock } from "../../src/shared/machine/clock-and-log.ts";
import { RecordingLogger } from "./recording-logger.ts";
import { type AppRecords, recordSchemas } from "../../src/app/rules/records.ts";

const clock = createSystemClock();
const logger = new RecordingLogger();
const pools = { of: () => "all", budgets: { all: 2 } };

async function openQueue(url: string): Promise<AppQueue> {
  if (url.startsWith("redis:")) {
    // Loaded on demand, so that SQLite doesn't wait for it.
    const { openRedisStore } = await import("../../src/shared/store/redis/open-redis-store.ts");
    const { RedisTaskQueue } = await import("../../src/shared/queue/redis/redis-task-queue.ts");
    const store = await openRedisStore({
      schemas: recordSchemas,
      url,
      clock,
      logger,
      keepSetAsideMs: 60_000,
    });
    return new RedisTaskQueue({ store, clock, logger, pools, keepDeadMs: 60_000 });
  }
  const store = await openSqliteStore<AppRecords>({ schemas: recordSchemas, url, clock, logger });
  return new SqliteTaskQueue<AppRecords>({ store, clock, logger, pools });
}

const queue = await openQueue(process.argv[2] ?? "");
writeSync(1, "open\n");
queue.start(async () => ({ kind: "done" }));

for (let n = 0; ; n += 4) {
  const ids = [n, n + 1, n + 2, n + 3].map((number) => `task-${number}`);
  const adds = ids.map((id) => queue.add({ id, type: "test", payload: { id } }));
  const refused = (await Promise.allSettled(adds)).find((add) => add.status === "rejected");
  if (refused !== undefined) {
    console.error("store-child: an add was refused:", refused.reason);
    break;
  }
  for (const id of ids) writeSync(1, `${id}\n`);
}
