/** One unit of durable work. `id` is derived from what caused it, so that adding it twice is a no-op. */
export type NewTask = {
  id: string;
  /** What to do: the name of the handler (`submit`, `poll`, …). */
  type: string;
  /** JSON. The handler parses it: an older version of this program may have written it. */
  payload: unknown;
  /** Epoch milliseconds; the task does not run before. Absent: at once. */
  dueAt?: number;
  /**
   * Tasks of one lane run one at a time, in the order they were added; a task that waits (retry, postponed) makes the
   * lane wait. Give a lane only to tasks that are due now. Absent: no order, runs beside everything else.
   */
  lane?: string;
};

/** A task as its handler gets it. */
export type Task = {
  id: string;
  type: string;
  payload: unknown;
  lane: string | null;
  /** How many times it has been claimed since it was added or last rescheduled by `again`, this time included: 1, 2, … */
  attempt: number;
  /** Epoch milliseconds. */
  addedAt: number;
};

/** What the queue does with a task once its handler is through. */
export type TaskResult =
  /** Over. The id stays known, so that adding it again stays a no-op. `laneGapMs`: the lane's next task starts no sooner. */
  | { kind: "done"; laneGapMs?: number }
  /** Not over, nothing wrong: run again at `dueAt`, with `payload` if given. Counts attempts anew. */
  | { kind: "again"; dueAt: number; payload?: unknown }
  /** Failed for now: run again at `dueAt`. Attempts go on counting. */
  | { kind: "retry"; dueAt: number; reason: string }
  /** Given up. Kept for the operator, counted, never run again. The lane goes on. */
  | { kind: "dead"; reason: string };

/** Runs one task. `signal` aborts when the queue stops and the grace is over. What it throws is a `retry` in 60 s. */
export type TaskHandler = (task: Task, signal: AbortSignal) => Promise<TaskResult>;

export type TaskCounts = { waiting: number; running: number; dead: number };

/** Durable tasks, run at least once. */
export interface TaskQueue {
  /**
   * Adds the task only if its id was not added before, atomically, whatever became of that task; ids of done tasks are known
   * for a week. When this resolves the task survives a crash and a power cut. Resolves to whether it was added.
   */
  add(task: NewTask): Promise<boolean>;
  /** Starts to claim due tasks and run them. A task is run by one handler at a time as long as its lease is renewed. */
  start(handler: TaskHandler): void;
  /**
   * Claims nothing more, waits up to `graceMs` for what runs, then aborts it and releases it to run again after the next
   * start; what aborted handlers still do is not waited for. Idempotent. Does not close the database.
   */
  stop(graceMs: number): Promise<void>;
  /** Rejects when tasks cannot be added or claimed now. */
  check(): Promise<void>;
  counts(): Promise<TaskCounts>;
}
