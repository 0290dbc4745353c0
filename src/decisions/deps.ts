import type { PollingPolicy } from "../core/job/retry.ts";
import type { Clock, Logger } from "../core/ports/process.ts";
import type { Directory, Memberships } from "../core/ports/directory.ts";
import type { Contacts, JobServices } from "../core/ports/job-service.ts";
import type { Notifier, WorkStatus } from "../core/ports/notifier.ts";
import type { AppRecords, TaskRun } from "../core/ports/records.ts";
import type { Series } from "../core/ports/task-queue.ts";
import type { FileReader } from "../core/turn/files.ts";
import type { FirstTries } from "./first-tries.ts";
import type { MessageReader, ThreadReader } from "../core/turn/shared.ts";
import type { RateLimiter } from "../store/rate-limiter.ts";
import type { RecordReader } from "../store/records.ts";

/** Everything the tasks depend on. Each takes the part it needs. */
export type TaskDeps = {
  clock: Clock;
  /** Uniform in [0, 1). */
  random: () => number;
  logger: Logger;
  /** Belongs to the current run. See `TaskRun`. */
  commit: TaskRun["commit"];
  assertHeld: TaskRun["assertHeld"];
  /** Aborts when the app begins to stop: whoever only waits for news ends then. */
  stopping: AbortSignal;
  slots: RateLimiter;
  series: Series;
  /**
   * Reads a record's current state. Anything to write because of it must be decided anew
   * (`TaskQueue.commit`, or a step).
   */
  records: RecordReader<AppRecords>;
  notifier: Notifier;
  workStatus: WorkStatus;
  firstTries: Pick<FirstTries, "note">;
  directory: Directory;
  threadReader: ThreadReader;
  messageReader: MessageReader;
  fileReader: FileReader;
  memberships: Memberships;
  jobServices: JobServices;
  contacts: Contacts;
  polling: PollingPolicy;
  /** How long the records of an ended turn are kept, milliseconds. */
  retentionMs: number;
};
