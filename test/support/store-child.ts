/**
 * A process of its own on a store: `node store-child.ts <url>`. Adds tasks and runs some of them, as fast as it can, until
 * it is killed. Writes "open" once it owns the store, and then each id whose add was acknowledged, a line each.
 */
import { writeSync } from "node:fs";
import type { Clock } from "../../src/core/clock.ts";
import { createSqliteTaskQueue } from "../../src/queue/sqlite-task-queue.ts";
import { openStore } from "../../src/store/open-store.ts";
import { RecordingLogger } from "./recording-logger.ts";

const clock: Clock = {
  now: () => Date.now(),
  wakeAt: (atMs, wake) => {
    const timer = setTimeout(wake, Math.max(0, atMs - Date.now()));
    return () => clearTimeout(timer);
  },
};

const logger = new RecordingLogger();
const store = await openStore({ url: process.argv[2] ?? "", clock, logger });
writeSync(1, "open\n");
const queue = createSqliteTaskQueue({ db: store.db, clock, logger, concurrency: 2 });
queue.start(async () => ({ kind: "done" }));

for (let n = 0; ; n += 4) {
  const ids = [n, n + 1, n + 2, n + 3].map((number) => `task-${number}`);
  await Promise.all(ids.map((id) => queue.add({ id, type: "test", payload: { id }, lane: "only" })));
  for (const id of ids) writeSync(1, `${id}\n`);
}
