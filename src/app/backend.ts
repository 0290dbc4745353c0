import type { Config } from "./config/config.ts";
import type { Clock, Logger } from "../shared/machine/ports.ts";
import { type AppRecords, recordSchemas } from "./rules/records.ts";
import { isRedisUrl } from "../shared/store/redis/redis-location.ts";
import type { RedisTaskQueue } from "../shared/queue/redis/redis-task-queue.ts";
import { SqliteTaskQueue } from "../shared/queue/sqlite/sqlite-task-queue.ts";
import { openSqliteStore } from "../shared/store/sqlite/open-sqlite-store.ts";
import type { Store } from "../shared/store/store.ts";
import { taskPools } from "./tasks/index.ts";

/** Everything durable in one place: records, tasks and the rate limiter. */
export type Backend = AsyncDisposable & {
  store: Store<AppRecords>;
  queue: SqliteTaskQueue<AppRecords> | RedisTaskQueue<AppRecords>;
};

type OpenBackendOptions = {
  config: Pick<Config, "storeUrl" | "retentionMs">;
  clock: Clock;
  logger: Logger;
  /** How long to wait for a process that still owns the file. @default 10 000 */
  ownerWaitMs?: number;
  /** Called when the disk failed to keep a write. Only a new process can continue. */
  onBroken?: (error: Error) => void;
  /** Redis's time in tests, epoch milliseconds. */
  serverNow?: () => number;
};

/**
 * Opens the backend that `STORE_URL` names. Rejects with a `StoreInUseError` or a
 * `StoreUnavailableError`.
 */
export async function openBackend(options: OpenBackendOptions): Promise<Backend> {
  const { config, clock, logger } = options;
  const at = { ...options, url: config.storeUrl, keepSetAsideMs: config.retentionMs, schemas: recordSchemas };
  const shared = { clock, logger, pools: taskPools, keepDeadMs: config.retentionMs };
  if (isRedisUrl(config.storeUrl)) {
    // Loaded only when needed, because it slows down the start.
    const { openRedisStore } = await import("../shared/store/redis/open-redis-store.ts");
    const { RedisTaskQueue } = await import("../shared/queue/redis/redis-task-queue.ts");
    const store = await openRedisStore(at);
    const queue = new RedisTaskQueue({ ...shared, store });
    return { store, queue, [Symbol.asyncDispose]: () => store.close() };
  }
  const store = await openSqliteStore(at);
  const queue = new SqliteTaskQueue<AppRecords>({ ...shared, store });
  return { store, queue, [Symbol.asyncDispose]: () => store.close() };
}
