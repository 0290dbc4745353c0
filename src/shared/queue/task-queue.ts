import type { Kinds, ReadOf, WriteOf } from "../store/record-types.ts";
import type { Append } from "../store/series.ts";
import type { Limit } from "../store/rate-limiter.ts";

/** One unit of durable work. */
export type NewTask = {
  /** Derived from what caused the task, so that adding it twice is a no-op. */
  id: string;
  /** The name of the handler (`submit`, `watch`, …). */
  type: string;
  /**
   * What the task depends on, where there are several: a job service, a project or a repository.
   * Tasks in different partitions don't hold each other up.
   */
  partition?: string;
  /** JSON. The handler parses it, since an older version of this program may have written it. */
  payload: unknown;
  /** The earliest time to run it, epoch milliseconds. Absent means now. */
  dueAt?: number;
  /**
   * What happens if a task with this id was added before.
   *
   * - `once` (default): nothing, while the task is pending and for a week after it is done.
   * - `pending`: nothing while it is pending. Once it is done, it is added anew.
   * - `latest`: like `pending`, but a waiting task becomes due at the earlier of both times, and a
   *   running task runs once more afterwards, however that run ends. That run gets the new payload
   *   unless the current one names its own. So a run that begins after the add sees everything that
   *   changed before it.
   */
  onDuplicate?: "once" | "pending" | "latest";
};

export type Task = {
  id: string;
  type: string;
  payload: unknown;
  /**
   * Begins at 1 and grows with each `retry` since the task was added or ended its run with `again`.
   */
  attempt: number;
  /** How often it failed for an unforeseen reason, counted like `attempt`. */
  unexpectedFailures: number;
  /** How many processes in a row died while running it. */
  deaths: number;
  /** Epoch milliseconds. */
  addedAt: number;
};

/** How one run of a task ends. */
export type TaskEnd =
  | { kind: "done" }
  /**
   * Not finished, and nothing is wrong: run again at `dueAt`, with `payload` if given. Counters
   * start anew.
   */
  | { kind: "again"; dueAt: number; payload?: unknown }
  /** Too early: run again at `dueAt`, with `payload` if given, as if it hadn't run. */
  | { kind: "wait"; dueAt: number; payload?: unknown }
  /**
   * Failed for now: run again at `dueAt`. With `isUnexpected` it counts as an unexpected failure,
   * not as an attempt.
   */
  | { kind: "retry"; dueAt: number; reason: string; payload?: unknown; isUnexpected?: boolean }
  /** Given up: kept for the operator, counted, and never run again. */
  | { kind: "dead"; reason: string };

/**
 * The writes, appends and new tasks to carry out together, and the value for the caller. `removes`
 * are the ids of tasks to remove before anything is added: whether they wait, run or are done, it
 * is as if they had never been added, and a run in progress can't store its end. `within` lists
 * limits, at most one per gate, that the plan counts against. If one has no room, nothing is
 * carried out or counted, and the commit rejects with a `LimitReachedError` for the first such
 * limit.
 */
export type PlanOf<R extends Kinds, T> = {
  writes?: readonly WriteOf<R>[];
  removes?: readonly string[];
  adds?: readonly NewTask[];
  appends?: readonly Append[];
  within?: readonly Limit[];
  value: T;
};

/**
 * Decides from the current records. It must be pure: it runs again if somebody else wrote in
 * between, and only its last result counts.
 */
export type DecisionOf<R extends Kinds, T> = (read: ReadOf<R>) => PlanOf<R, T>;

/** How a run of a task ends: just the end, or a decision that also writes and adds. */
export type StepOf<R extends Kinds> = TaskEnd | DecisionOf<R, TaskEnd>;

/** `mustBeConfirmed`: what follows may not happen twice, so it has to wait for missing standbys. */
export type CommitOptions = { mustBeConfirmed?: boolean };

/** A run of a task, which the task belongs to until another run takes it over. */
export type TaskRunOf<R extends Kinds> = {
  /** Aborts when the queue stops and the grace period is over. */
  signal: AbortSignal;
  /**
   * Like {@link TaskQueue.commit}, but rejects if another run has taken the task over. While too
   * few standbys of the store confirm, work goes on without them, unless `mustBeConfirmed`.
   */
  commit: <T>(decide: DecisionOf<R, T>, options?: CommitOptions) => Promise<T>;
  /**
   * Throws if another run has taken the task over, which can happen after a pause. Call it right
   * before an effect that must not happen twice.
   */
  assertHeld: () => void;
};

/**
 * Runs one task. A thrown error is an unexpected failure, retried after 60 s. If a step can't be
 * stored, the queue keeps trying to store it; the handler doesn't run again for it.
 */
export type TaskHandlerOf<R extends Kinds> = (task: Task, run: TaskRunOf<R>) => Promise<StepOf<R>>;

export type TaskCounts = { waiting: number; running: number; dead: number };

/** Unfinished tasks by the name of their pool. Pools without any are there, too. */
export type PoolCounts = Record<string, Omit<TaskCounts, "dead">>;

/** Durable tasks that run at least once, and the decisions that go with them. */
export interface TaskQueue<R extends Kinds> {
  /**
   * Adds the task if its id allows it (see `onDuplicate`). Once this resolves, the task survives a
   * crash and a power cut. Resolves to true if it was added.
   */
  add(task: NewTask): Promise<boolean>;
  /**
   * Carries out a decision: all its writes and adds or, if it rejects, none. Durable when it
   * resolves. If it rejects with an error of which `isStoreAnswerLost` is true, it may have been
   * carried out.
   */
  commit<T>(decide: DecisionOf<R, T>): Promise<T>;
  /**
   * Answers a question about the current records without waiting for a lock or a disk. `ask` may
   * run more than once, since the first run may use stale records. Anything to write because of the
   * answer must be decided anew in a commit.
   */
  read<T>(ask: (read: ReadOf<R>) => T): Promise<T>;
  /** Starts running due tasks. Each task is run by one handler at a time. */
  start(handler: TaskHandlerOf<R>): void;
  /**
   * Starts no more tasks, waits up to `graceMs` for running ones, then aborts them. They run again
   * after the next start. It doesn't wait for aborted handlers, and they can't write anything.
   * Idempotent. Leaves the database open.
   */
  stop(graceMs: number): Promise<void>;
  /** Rejects if tasks can't be added or run at the moment. */
  check(): Promise<void>;
  counts(): Promise<TaskCounts>;
  /** The partitions of a pool are counted together. */
  countsByPool(): Promise<PoolCounts>;
}
