import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { z } from "zod";
import type { Task, TaskEnd } from "../task-queue.ts";
import { preparing } from "../../store/sqlite/sqlite-database.ts";
import {
  type Pools,
  type StorableTask,
  fromStoredPayload,
  poolName,
  toStorablePayload,
  toStorableReason,
  toWholeMs,
} from "../storable-task.ts";

/**
 * The statements of the SQLite task queue. None may scan the tasks, which a test checks by their
 * query plans. Conditions such as `state = 'waiting'` repeat those of the partial indexes in
 * `store/sqlite/migrations.ts`, which SQLite would otherwise not use.
 */
export const TASK_SQL = {
  /** id, type, pool, known, payload, due_at, added_at */
  add: `INSERT INTO tasks (id, type, pool, known, payload, state, due_at, added_at)
    VALUES (?, ?, ?, ?, ?, 'waiting', ?, ?) ON CONFLICT (id) DO NOTHING`,

  /** id */
  find: `SELECT seq, state FROM tasks WHERE id = ?`,

  /** due_at, seq; brings a task forward */
  bringForward: `UPDATE tasks SET due_at = min(due_at, ?) WHERE seq = ?`,

  /** payload, due_at, seq; for a running task */
  runOnceMore: `UPDATE tasks SET next_payload = ?1, next_due_at = min(coalesce(next_due_at, ?2), ?2)
    WHERE seq = ?3`,

  /** pool, now, limit; due tasks, longest due first */
  due: `SELECT seq, due_at FROM tasks WHERE state = 'waiting' AND pool = ? AND due_at <= ?
    ORDER BY due_at, seq LIMIT ?`,

  /** seq */
  load: `SELECT id, type, pool, known AS onDuplicate, payload, attempt,
      surprises AS unexpectedFailures, deaths, added_at AS addedAt
    FROM tasks WHERE seq = ?`,

  /** by, seq; a process that dies while running the task leaves a count behind */
  countRun: `UPDATE tasks SET deaths = max(deaths + ?, 0) WHERE seq = ?`,

  newest: `SELECT max(seq) FROM tasks`,

  /** seq */
  pending: `SELECT next_payload, next_due_at FROM tasks WHERE seq = ? AND state = 'waiting'`,

  /** seq */
  remove: `DELETE FROM tasks WHERE seq = ?`,

  /** id */
  removeById: `DELETE FROM tasks WHERE id = ?`,

  /** ended_at, seq; the id stays known, but people's words don't */
  done: `UPDATE tasks SET state = 'done', payload = NULL, ended_at = ? WHERE seq = ?`,

  /** ended_at, reason, seq; abandoned tasks keep their payload for the operator */
  dead: `UPDATE tasks SET state = 'dead', ended_at = ?, reason = ?, next_payload = NULL, next_due_at = NULL
    WHERE seq = ?`,

  /** due_at, payload or NULL, attempt, surprises, reason, seq */
  waitOn: `UPDATE tasks SET due_at = ?, payload = coalesce(?, payload), attempt = ?, surprises = ?,
      deaths = 0, reason = ?, next_payload = NULL, next_due_at = NULL
    WHERE seq = ?`,

  /** pool */
  nextDue: `SELECT due_at FROM tasks WHERE state = 'waiting' AND pool = ?
    ORDER BY due_at, seq LIMIT 1 OFFSET ?`,

  waitingTypes: `SELECT DISTINCT type, pool FROM tasks WHERE state = 'waiting'`,

  /** pool, type, pool before */
  movePool: `UPDATE tasks SET pool = ? WHERE state = 'waiting' AND type = ? AND pool = ?`,

  /** by; the clock was set back */
  pullIn: `UPDATE tasks SET due_at = due_at - ?1, next_due_at = next_due_at - ?1 WHERE state = 'waiting'`,

  countWaiting: `SELECT count(*) FROM tasks WHERE state = 'waiting'`,
  countByPool: `SELECT pool, count(*) AS tasks FROM tasks WHERE state = 'waiting' GROUP BY pool`,
  countDead: `SELECT count(*) FROM tasks WHERE state = 'dead' AND state <> 'waiting'`,

  /** state, ended before, limit */
  forget: `DELETE FROM tasks WHERE seq IN
    (SELECT seq FROM tasks WHERE state = ? AND state <> 'waiting' AND ended_at <= ?
      ORDER BY ended_at LIMIT ?)`,

  /** now */
  seen: `INSERT INTO seen (id, at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET at = excluded.at`,
  lastSeen: `SELECT at FROM seen WHERE id = 1`,
} as const;

const Seqs = z.array(z.object({ seq: z.int() }));
const Found = z.object({ seq: z.int(), state: z.enum(["waiting", "done", "dead"]) });
const Next = z.object({ next_payload: z.string().nullable(), next_due_at: z.int().nullable() });
const TypeInPool = z.object({ type: z.string(), pool: z.string() });
const InPool = z.object({ pool: z.string(), tasks: z.int() });
const OnDuplicate = z.enum(["once", "pending", "latest"]);

const LoadedRow = z.object({
  id: z.string(),
  type: z.string(),
  pool: z.string(),
  onDuplicate: OnDuplicate,
  payload: z.string().nullable(),
  attempt: z.int(),
  unexpectedFailures: z.int(),
  deaths: z.int(),
  addedAt: z.int(),
});

/** An end after which the task runs again. */
type TaskWait = Extract<TaskEnd, { dueAt: number }>;

/** A task as its run needs it. */
export type LoadedTask = { seq: number; pool: string; onDuplicate: z.infer<typeof OnDuplicate>; task: Task };

/**
 * The tasks in SQLite. Methods that write are called inside a transaction. `nowMs` is epoch
 * milliseconds.
 */
export class TaskTable {
  readonly #sql: (sql: string) => StatementSync;
  readonly #poolsOfTypes: Pools;
  readonly #pools = new Set<string>();
  /** Returns true if this process is running the task with that number. */
  readonly #isRunning: (seq: number) => boolean;

  constructor(db: DatabaseSync, pools: Pools, isRunning: (seq: number) => boolean) {
    this.#sql = preparing(db);
    this.#poolsOfTypes = pools;
    this.#isRunning = isRunning;
  }

  /**
   * Adds a task, following its `onDuplicate`. Returns true if it was added or will run once more.
   */
  add(task: StorableTask, nowMs: number): boolean {
    const { id, type, pool, onDuplicate, payload, dueAt } = task;
    this.#pools.add(pool);
    const insert = () =>
      this.#sql(TASK_SQL.add).run(id, type, pool, onDuplicate, payload, dueAt, nowMs).changes === 1;
    if (insert()) return true;
    const { seq, state } = Found.parse(this.#sql(TASK_SQL.find).get(id));
    if (onDuplicate === "once") return false;
    if (state !== "waiting") {
      this.#sql(TASK_SQL.remove).run(seq);
      return insert();
    }
    if (onDuplicate === "pending") return false;
    if (this.#isRunning(seq)) this.#sql(TASK_SQL.runOnceMore).run(payload, dueAt, seq);
    else this.#sql(TASK_SQL.bringForward).run(dueAt, seq);
    return this.#isRunning(seq);
  }

  /** Removes a task and what is known of it, whatever its state. */
  remove(id: string): void {
    this.#sql(TASK_SQL.removeById).run(id);
  }

  /** True if the task waits or runs. */
  isPending(seq: number): boolean {
    return this.#sql(TASK_SQL.pending).get(seq) !== undefined;
  }

  /** The numbers of at most `limit` due tasks of a pool, longest due first. */
  due(pool: string, nowMs: number, limit: number): number[] {
    return Seqs.parse(this.#sql(TASK_SQL.due).all(pool, nowMs, limit)).map(({ seq }) => seq);
  }

  load(seq: number): LoadedTask {
    const row = LoadedRow.parse(this.#sql(TASK_SQL.load).get(seq));
    const { pool, onDuplicate, ...task } = row;
    return { seq, pool, onDuplicate, task: { ...task, payload: fromStoredPayload(row.payload) } };
  }

  /**
   * Counts a run that has begun (1) or ended (-1). The count shows that a task kills its process.
   */
  countRun(seq: number, by: 1 | -1): void {
    this.#sql(TASK_SQL.countRun).run(by, seq);
  }

  /** The number of the newest task, or 0. */
  newestSeq(): number {
    return this.#number(TASK_SQL.newest) ?? 0;
  }

  /** Stores how a run ended. */
  end({ seq, onDuplicate, task }: LoadedTask, how: TaskEnd, nowMs: number): void {
    const row = this.#sql(TASK_SQL.pending).get(seq);
    if (row === undefined) return;
    const { next_payload: nextPayload, next_due_at: nextDueAt } = Next.parse(row);
    const isOver = how.kind === "done" || how.kind === "dead";
    if (isOver && nextPayload === null) {
      if (how.kind === "dead") this.#sql(TASK_SQL.dead).run(nowMs, toStorableReason(how.reason), seq);
      else if (onDuplicate === "once") this.#sql(TASK_SQL.done).run(nowMs, seq);
      else this.#sql(TASK_SQL.remove).run(seq);
      return;
    }
    const end: TaskWait = isOver ? { kind: "again", dueAt: nextDueAt ?? nowMs } : how;
    const dueAt = Math.min(toWholeMs(end.dueAt), nextDueAt ?? Infinity);
    // The run's own payload comes first, because the run knows its state best. Then comes that of
    // an add made meanwhile.
    const payload = toStorablePayload(end) ?? nextPayload;
    const reason = end.kind === "retry" ? toStorableReason(end.reason) : null;
    this.#sql(TASK_SQL.waitOn).run(dueAt, payload, ...countersAfter(end, task), reason, seq);
  }

  /**
   * When the next task of a pool that isn't held is due. Null if none waits. `running` is how many
   * of the pool are held.
   */
  nextDueAt(pool: string, running: number): number | null {
    // In a pool with room, everything that was due is already running and comes first in the order.
    return this.#number(TASK_SQL.nextDue, pool, running);
  }

  /** Moves waiting tasks to the pools of their types in this version. */
  movePools(): void {
    for (const { type, pool } of z.array(TypeInPool).parse(this.#sql(TASK_SQL.waitingTypes).all())) {
      const [, ...words] = pool.split(" ");
      const partition = words.length === 0 ? undefined : words.join(" ");
      const right = poolName(this.#poolsOfTypes, type, partition);
      this.#pools.add(right);
      if (pool !== right) this.#sql(TASK_SQL.movePool).run(right, type, pool);
    }
  }

  /** The pools of tasks since {@link movePools}: `<pool>`, or `<pool> <partition>`. */
  get pools(): Iterable<string> {
    return this.#pools;
  }

  /** Brings all waiting tasks forward by that many milliseconds. */
  pullIn(byMs: number): void {
    this.#sql(TASK_SQL.pullIn).run(Math.ceil(byMs));
  }

  /** Running tasks count as waiting. */
  counts(): { waiting: number; dead: number } {
    return { waiting: this.#number(TASK_SQL.countWaiting) ?? 0, dead: this.#number(TASK_SQL.countDead) ?? 0 };
  }

  /** The number of unfinished tasks of each pool, or partition of it. */
  countsByPool(): [string, number][] {
    const rows = z.array(InPool).parse(this.#sql(TASK_SQL.countByPool).all());
    return rows.map(({ pool, tasks }) => [pool, tasks]);
  }

  /**
   * Removes at most `limit` tasks that ended in that state by then. Returns true if more may be
   * left.
   */
  forget(state: "done" | "dead", endedByMs: number, limit: number): boolean {
    return Number(this.#sql(TASK_SQL.forget).run(state, endedByMs, limit).changes) === limit;
  }

  /** Notes the machine's time. */
  see(nowMs: number): void {
    this.#sql(TASK_SQL.seen).run(nowMs);
  }

  /** The machine's time when it was last noted. Null if it never was. */
  lastSeenAt(): number | null {
    return this.#number(TASK_SQL.lastSeen);
  }

  /** The only column of a statement's first row. Null if there is no row or the column is. */
  #number(sql: string, ...values: SQLInputValue[]): number | null {
    const [value = null] = Object.values(this.#sql(sql).get(...values) ?? {});
    return z.int().nullable().parse(value);
  }
}

/** The attempt of a task's next run, and how often it has failed unexpectedly by then. */
function countersAfter(end: TaskWait, { attempt, unexpectedFailures }: Task): [number, number] {
  if (end.kind === "again") return [1, 0];
  if (end.kind === "wait") return [attempt, unexpectedFailures];
  return end.isUnexpected === true ? [attempt, unexpectedFailures + 1] : [attempt + 1, unexpectedFailures];
}
