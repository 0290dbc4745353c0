import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../src/shared/machine/ports.ts";
import { createSteadyClock } from "../../src/shared/machine/steady-clock.ts";
import { SqliteTaskQueue } from "../../src/shared/queue/sqlite/sqlite-task-queue.ts";
import { GroupCommit } from "../../src/shared/store/sqlite/group-commit.ts";
import { openSqliteStore, type SqliteStore } from "../../src/shared/store/sqlite/open-sqlite-store.ts";
import { SqliteRateLimiter } from "../../src/shared/store/sqlite/sqlite-rate-limiter.ts";
import { StoreInUseError } from "../../src/shared/store/store-errors.ts";
import { ManualClock } from "../../world/clock/manual-clock.ts";
import { RecordingLogger } from "./recording-logger.ts";
import type { ModelSubject } from "./task-queue-model.ts";
import { openTempDir } from "./temp-dir.ts";
import { turn } from "./turns.ts";
import { type AppRecords, recordSchemas } from "../../src/app/rules/records.ts";

/** The clock of one process. Once the process is dead, nothing wakes it. */
function mortal(clock: Clock): Clock & { die(): void } {
  let isDead = false;
  return {
    now: () => clock.now(),
    wallMs: () => clock.wallMs(),
    monotonicMs: () => clock.monotonicMs(),
    wakeAt: (atMs, wake) => clock.wakeAt(atMs, () => (isDead ? undefined : wake())),
    die: () => {
      isDead = true;
    },
  };
}

const concurrency = 4;
const slow = { type: "slow", concurrency: 2 };
const pools = {
  of: (type: string) => (type === slow.type ? "slow" : "rest"),
  budgets: { slow: slow.concurrency, rest: concurrency },
};

/** A queue on SQLite for the suites, with its database. */
export type SqliteTaskQueueSubject = ModelSubject & {
  readonly queue: SqliteTaskQueue<AppRecords>;
  /** The database that is open now. */
  readonly db: DatabaseSync;
  readonly commits: GroupCommit;
  readonly clock: ManualClock;
  readonly logger: RecordingLogger;
  /** The set-backs of the clock that the queue noticed, in milliseconds. */
  readonly setBacks: number[];
};

/** A process from the queue's point of view: its own commits and its own timers. */
type Process = {
  clock: Clock;
  store: SqliteStore<AppRecords>;
  commits: GroupCommit;
  queue: SqliteTaskQueue<AppRecords>;
  die(): void;
};

/** Starts a process. `whenDead` says what happens to its commits after its death. */
function startProcess(
  subject: Subject,
  steady: Clock,
  store: SqliteStore<AppRecords>,
  commits: GroupCommit,
  whenDead: () => void,
): Process {
  const clock = mortal(steady);
  const rateLimiter = new SqliteRateLimiter({ db: store.db, commits, clock });
  const queue = new SqliteTaskQueue<AppRecords>({
    store: {
      ...store,
      commits,
      rateLimiter: {
        takeWithin: (limits) => rateLimiter.takeWithin(limits),
        pullIn: (byMs) => void subject.setBacks.push(byMs),
      },
    },
    clock,
    logger: subject.logger,
    pools,
  });
  return {
    clock,
    store,
    commits,
    queue,
    die: () => {
      clock.die();
      whenDead();
      // A stop with endless grace starts and aborts nothing, as if the process were gone.
      void queue.stop(Infinity);
    },
  };
}

type Subject = { clock: ManualClock; logger: RecordingLogger; setBacks: number[] };

function subjectOf(
  subject: Subject,
  current: () => Process,
  more: Pick<SqliteTaskQueueSubject, "reopen" | "failWrites" | typeof Symbol.asyncDispose>,
): SqliteTaskQueueSubject {
  const { clock, logger, setBacks } = subject;
  return {
    get queue() {
      return current().queue;
    },
    get series() {
      return current().store.series;
    },
    get db() {
      return current().store.db;
    },
    get commits() {
      return current().commits;
    },
    clock,
    logger,
    setBacks,
    now: () => current().clock.now(),
    nextDueAt: async () => current().queue.nextDueAt(),
    turn,
    advance: (ms) => clock.advance(ms),
    setClock: (byMs) => clock.setTo(clock.now() + byMs),
    idle: () => current().queue.idle(),
    settled: () => current().commits.settled(),
    concurrency,
    slow,
    ...more,
  };
}

function newSubject(): Subject {
  return { clock: new ManualClock(), logger: new RecordingLogger(), setBacks: [] };
}

/** Opens a queue in a file. A crash closes the file under the old process. */
export async function openFileSubject(): Promise<SqliteTaskQueueSubject> {
  const dir = await openTempDir();
  const subject = newSubject();
  const path = dir.file("store.sqlite");
  async function open(): Promise<Process> {
    const clock = createSteadyClock(subject.clock);
    const store = await openSqliteStore({
      schemas: recordSchemas,
      url: `sqlite://${path}`,
      ...subject,
      clock,
      ownerWaitMs: 0,
    });
    return startProcess(subject, clock, store, store.commits, () => store.db.close());
  }
  let process = await open();
  return subjectOf(subject, () => process, {
    reopen: async () => {
      process.die();
      await process.store.close();
      process = await open();
    },
    failWrites: async () => {
      const shell = new DatabaseSync(path);
      shell.exec("BEGIN IMMEDIATE");
      return async () => shell.close();
    },
    [Symbol.asyncDispose]: async () => {
      await process.queue.stop(0);
      await process.store.close();
      await dir[Symbol.asyncDispose]();
    },
  });
}

/**
 * Opens a queue in memory. After a crash, the old process's handlers reach the same database and
 * must notice that it isn't theirs anymore.
 */
export async function openMemorySubject(): Promise<SqliteTaskQueueSubject> {
  const subject = newSubject();
  const store = await openSqliteStore<AppRecords>({ schemas: recordSchemas, url: "memory://", ...subject });
  function start(): Process {
    let isDead = false;
    const commits = new GroupCommit({
      db: store.db,
      assertOwned: () => {
        if (isDead) throw new StoreInUseError("memory://");
      },
    });
    return startProcess(subject, createSteadyClock(subject.clock), store, commits, () => {
      isDead = true;
    });
  }
  let process = start();
  return subjectOf(subject, () => process, {
    reopen: async () => {
      process.die();
      process = start();
    },
    failWrites: async () => {
      store.db.exec("PRAGMA query_only = ON");
      return async () => store.db.exec("PRAGMA query_only = OFF");
    },
    [Symbol.asyncDispose]: async () => {
      await process.queue.stop(0);
      await store.close();
    },
  });
}
