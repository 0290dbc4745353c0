import type { Read, Write } from "./records.ts";

/**
 * A short text to add at the end of a series. The newest `keep` of it stay; `ttlMs` after the last
 * append all are gone.
 */
export type Append = { series: string; entry: string; keep: number; ttlMs: number };

/**
 * What many turns add to: a person's requests, or how long a project's turns took. An append reads
 * nothing, so nobody has to wait for, or repeat, what somebody else adds. A decision cannot read a
 * series.
 */
export interface Series {
  /** Its entries, oldest first. */
  of(series: string): Promise<string[]>;
}

/** One unit of durable work. */
export type NewTask = {
  /** Derived from what caused the task, so that adding it twice is a no-op. */
  id: string;
  /** What to do: the name of the handler (`submit`, `watch`, …). */
  type: string;
  /**
   * Who answers it, where several may (a job service): tasks of one type that wait for different
   * ones do not hold each other up.
   */
  share?: string;
  /** JSON. The handler parses it: an older version of this program may have written it. */
  payload: unknown;
  /** Epoch milliseconds; the task does not run before. Absent: at once. */
  dueAt?: number;
  /**
   * What adding a known id does.
   *
   * - `once` (default): nothing, as long as the task is pending and for a week after it is done.
   * - `pending`: nothing while it is pending. Once it is done, it is added anew.
   * - `latest`: as `pending`; and while it waits, it becomes due at the earlier of both times;
   *   while it runs, it runs once more afterwards, however that run ends, with the new payload
   *   unless that run names one. So whatever changed before the add is seen by a run that begins
   *   after it.
   */
  known?: "once" | "pending" | "latest";
};

/** A task as its handler gets it. */
export type Task = {
  id: string;
  type: string;
  payload: unknown;
  /** 1, and one more for each `retry` since the task was added or ended its run with `again`. */
  attempt: number;
  /** How often it failed for a reason that nobody foresaw, counted like `attempt`. */
  surprises: number;
  /** How many processes in a row died while they ran it. */
  deaths: number;
  /** Epoch milliseconds. */
  addedAt: number;
};

/** How one run of a task ends. */
export type TaskEnd =
  | { kind: "done" }
  /** Not over, nothing wrong: run again at `dueAt`, with `payload` if given. Counts anew. */
  | { kind: "again"; dueAt: number; payload?: unknown }
  /**
   * It was not its time yet: run again at `dueAt`, with `payload` if given, as if it had not run.
   */
  | { kind: "wait"; dueAt: number; payload?: unknown }
  /**
   * Failed for now: run again at `dueAt`. `isSurprise`: counts as a surprise, not as an attempt.
   */
  | { kind: "retry"; dueAt: number; reason: string; payload?: unknown; isSurprise?: boolean }
  /** Given up. Kept for the operator, counted, never run again. */
  | { kind: "dead"; reason: string };

/** A gate lets `limit` through in `windowMs`, milliseconds, and regains room evenly. */
export type Limit = { gate: string; limit: number; windowMs: number };

/**
 * What to write, to append and to add, all of it together, and what the caller learns from it.
 * `within`: it counts against these limits, of a gate each. Unless all have room it is not carried
 * out, counts against none, and the commit rejects with a `LimitReachedError` about the first that
 * has none.
 */
export type Plan<T> = {
  writes?: readonly Write[];
  adds?: readonly NewTask[];
  appends?: readonly Append[];
  within?: readonly Limit[];
  value: T;
};

/**
 * Decides from the records as they are when it is carried out. Pure: it may run more than once,
 * when somebody else wrote in between, and only what its last run returned counts.
 */
export type Decision<T> = (read: Read) => Plan<T>;

/** How a run of a task ends, what it writes and what it adds: a decision, or just the end. */
export type Step = TaskEnd | Decision<TaskEnd>;

/** A run of a task, as long as it has the task for itself. */
export type TaskRun = {
  /** Aborts when the queue stops and the grace is over. */
  signal: AbortSignal;
  /** As {@link TaskQueue.commit}, and rejects when somebody else runs the task by now. */
  commit: <T>(decide: Decision<T>) => Promise<T>;
  /**
   * Throws unless the run still has the task for itself, as after a pause in which somebody else
   * may have taken it over. Call it right before an effect that must not happen twice.
   */
  assertHeld: () => void;
};

/**
 * Runs one task. What it throws is a surprise, retried in 60 s. A step that cannot be written down
 * is kept and written again until it can: the handler does not run twice for it.
 */
export type TaskHandler = (task: Task, run: TaskRun) => Promise<Step>;

export type TaskCounts = { waiting: number; running: number; dead: number };

/** Durable tasks, run at least once, and the decisions that go with them. */
export interface TaskQueue {
  /**
   * Adds the task if its id allows it (see `known`). When this resolves the task survives a crash
   * and a power cut. Resolves to whether it was added.
   */
  add(task: NewTask): Promise<boolean>;
  /**
   * Carries a decision out: all its writes and adds, or, when it rejects, none. Durable when it
   * resolves.
   */
  commit<T>(decide: Decision<T>): Promise<T>;
  /**
   * Answers a question about the records as they are now. It waits for no lock and no disk. `ask`
   * may run more than once, as what was remembered may be out of date. Whatever is written because
   * of the answer is decided anew, by a commit.
   */
  read<T>(ask: (read: Read) => T): Promise<T>;
  /** Starts to run due tasks. A task is run by one handler at a time. */
  start(handler: TaskHandler): void;
  /**
   * Starts nothing more, waits up to `graceMs` for what runs, then aborts it, to run again after
   * the next start; what aborted handlers still do is not waited for, and writes nothing.
   * Idempotent. Does not close the database.
   */
  stop(graceMs: number): Promise<void>;
  /** Rejects when tasks cannot be added or run now. */
  check(): Promise<void>;
  counts(): Promise<TaskCounts>;
}
