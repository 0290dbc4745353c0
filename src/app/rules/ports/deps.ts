import type { PollingPolicy } from "../retry.ts";
import type { Clock, Logger } from "../../../shared/machine/ports.ts";
import type { Directory, Memberships } from "./directory.ts";
import type { Contacts, JobServices } from "./job-service.ts";
import type { Measure } from "./measure.ts";
import type { Notifier, Refusal, WorkStatus } from "./notifier.ts";
import type { AppRecords, TaskRun } from "../records.ts";
import type { FileReader } from "../thread/files.ts";
import type { MessageReader, ThreadReader } from "../thread/messages-to-share.ts";
import type { RateLimiter } from "../../../shared/store/rate-limiter.ts";
import type { RecordReader } from "../../../shared/store/record-types.ts";
import type { Series } from "../../../shared/store/series.ts";

/** Everything the tasks depend on. Each takes the part it needs. */
export type TaskDeps = {
  clock: Clock;
  /** Uniform in [0, 1). */
  random: () => number;
  logger: Logger;
  measure: Measure;
  /** Belongs to the current run. See `TaskRun`. */
  commit: TaskRun["commit"];
  assertHeld: TaskRun["assertHeld"];
  /** Aborts when the app begins to stop: whoever only waits for news ends then. */
  stopping: AbortSignal;
  rateLimiter: RateLimiter;
  series: Series;
  /**
   * Reads a record's current state. Anything to write because of it must be decided anew
   * (`TaskQueue.commit`, or a step).
   */
  records: RecordReader<AppRecords>;
  notifier: Notifier;
  workStatus: WorkStatus;
  /** Hears whether Slack refused, for now, the first attempt to post a turn's status message. */
  firstTries: { note(turnId: string, isRefused: boolean): void };
  directory: Directory;
  threadReader: ThreadReader;
  messageReader: MessageReader;
  fileReader: FileReader;
  memberships: Memberships;
  /** Why a person may not use the app at a place now, or null if they may. */
  refusalOf: (who: { userId: string; channelId: string | null }) => Promise<Refusal | null>;
  jobServices: JobServices;
  contacts: Contacts;
  polling: PollingPolicy;
  /** How long the records of an ended turn are kept, milliseconds. */
  retentionMs: number;
};
