import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../src/core/clock.ts";
import type { Logger } from "../../src/core/logger.ts";
import { createSqliteTaskQueue } from "../../src/queue/sqlite-task-queue.ts";
import { type SqliteLocation, openSqliteDatabase } from "../../src/store/sqlite-database.ts";
import type { TaskQueueSubject } from "../contracts/task-queue.ts";
import { ManualClock } from "./manual-clock.ts";
import { RecordingLogger } from "./recording-logger.ts";
import { openTempDir } from "./temp-dir.ts";

/** A clock as one process has it: once the process is dead, nothing wakes it. */
function mortal(clock: Clock): Clock & { die(): void } {
  let isDead = false;
  return {
    now: () => clock.now(),
    wakeAt: (atMs, wake) => clock.wakeAt(atMs, () => (isDead ? undefined : wake())),
    die: () => {
      isDead = true;
    },
  };
}

async function openProcess(location: SqliteLocation, clock: ManualClock, logger: Logger) {
  const ownClock = mortal(clock);
  const database = await openSqliteDatabase(location, { clock: ownClock, ownerWaitMs: 0 });
  return { ...startProcess(database.db, ownClock, logger), database };
}

function startProcess(db: DatabaseSync, clock: ReturnType<typeof mortal>, logger: Logger) {
  const queue = createSqliteTaskQueue({ db, clock, logger, concurrency, leaseMs });
  return { queue, clock };
}

const concurrency = 4;
const leaseMs = 60_000;

export type SqliteTaskQueueSubject = TaskQueueSubject & {
  readonly queue: ReturnType<typeof createSqliteTaskQueue>;
  /** The database that is open now. */
  readonly db: DatabaseSync;
  readonly clock: ManualClock;
  readonly logger: RecordingLogger;
};

/** In a file: a crash closes the file under the old process. */
export async function openFileSubject(): Promise<SqliteTaskQueueSubject> {
  const dir = await openTempDir();
  const clock = new ManualClock();
  const logger = new RecordingLogger();
  const location = { path: dir.file("store.sqlite") };
  let process = await openProcess(location, clock, logger);
  return {
    get queue() {
      return process.queue;
    },
    get db() {
      return process.database.db;
    },
    clock,
    logger,
    now: () => clock.now(),
    advance: (ms) => clock.advance(ms),
    idle: () => process.queue.idle(),
    reopen: async () => {
      kill(process);
      process.database.close();
      process = await openProcess(location, clock, logger);
    },
    leaseMs,
    concurrency,
    [Symbol.asyncDispose]: async () => {
      await process.queue.stop(0);
      process.database.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** In memory: after a crash the old process's handlers still reach the data, and must find that they lost their claims. */
export async function openMemorySubject(): Promise<SqliteTaskQueueSubject> {
  const clock = new ManualClock();
  const logger = new RecordingLogger();
  const first = await openProcess("memory", clock, logger);
  const { db, close } = first.database;
  let process: Pick<typeof first, "queue" | "clock"> = first;
  return {
    get queue() {
      return process.queue;
    },
    db,
    clock,
    logger,
    now: () => clock.now(),
    advance: (ms) => clock.advance(ms),
    idle: () => process.queue.idle(),
    reopen: async () => {
      kill(process);
      process = startProcess(db, mortal(clock), logger);
    },
    leaseMs,
    concurrency,
    [Symbol.asyncDispose]: async () => {
      await process.queue.stop(0);
      close();
    },
  };
}

/** A stop whose grace never ends claims nothing more and releases nothing, as if the process were gone. */
function kill({ queue, clock }: ReturnType<typeof startProcess>): void {
  clock.die();
  void queue.stop(Infinity);
}
