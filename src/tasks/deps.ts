import type { Clock } from "../core/clock.ts";
import type { JobService } from "../core/job-service.ts";
import type { Logger } from "../core/logger.ts";
import type { Directory, Notifier } from "../core/notifier.ts";
import type { PollingPolicy } from "../core/polling.ts";
import type { JobRecord, Posts, RecordStore, ThreadRecord } from "../core/records.ts";
import type { TaskQueue } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";

/** The records that tasks keep. Who may write which is said at each schema. */
export type Records = {
  turns: RecordStore<Turn>;
  posts: RecordStore<Posts>;
  jobs: RecordStore<JobRecord>;
  threads: RecordStore<ThreadRecord>;
};

/** All that the tasks stand on; each takes the part it needs. */
export type TaskDeps = {
  clock: Clock;
  /** Uniform in [0, 1). */
  random: () => number;
  logger: Logger;
  queue: TaskQueue;
  records: Records;
  notifier: Notifier;
  directory: Directory;
  /** By the project's short name. */
  jobServices: ReadonlyMap<string, JobService>;
  polling: PollingPolicy;
  /** How long the records of an ended turn are kept, milliseconds. */
  retentionMs: number;
};
