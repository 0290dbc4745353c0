/**
 * A process of its own on a store: `node store-child.ts <url>`. Adds tasks and runs some of them, as fast as it can, until
 * it is killed. Writes "open" once it owns the store, and then each id whose add was acknowledged, a line each.
 */
import { writeSync } from "node:fs";
import { SqliteTaskQueue } from "../../src/queue/sqlite-task-queue.ts";
import { openStore } from "../../src/store/open-store.ts";
import { createSystemClock } from "../../src/system-clock.ts";
import { RecordingLogger } from "./recording-logger.ts";

const clock = createSystemClock();
const logger = new RecordingLogger();
const store = await openStore({ url: process.argv[2] ?? "", clock, logger });
writeSync(1, "open\n");
const pools = { of: () => "all", budgets: { all: 2 } };
const queue = new SqliteTaskQueue({ db: store.db, commits: store.commits, clock, logger, pools });
queue.start(async () => ({ kind: "done" }));

for (let n = 0; ; n += 4) {
  const ids = [n, n + 1, n + 2, n + 3].map((number) => `task-${number}`);
  await Promise.all(ids.map((id) => queue.add({ id, type: "test", payload: { id } })));
  for (const id of ids) writeSync(1, `${id}\n`);
}
