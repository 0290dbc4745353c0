import type { DatabaseSync, StatementSync } from "node:sqlite";
import { z } from "zod";
import type { Task, TaskEnd } from "../core/task-queue.ts";
import { fromStoredPayload, toStorablePayload, toStorableReason, toWholeMs } from "./storable-task.ts";
import type { StorableTask } from "./storable-task.ts";
import { taskSql } from "./task-sql.ts";

const Seq = z.object({ seq: z.int() });
const Found = z.object({ seq: z.int(), state: z.enum(["waiting", "done", "dead"]) });
const DueAt = z.object({ due_at: z.int() });
const Count = z.object({ count: z.int() });
const Next = z.object({ next_payload: z.string().nullable(), next_due_at: z.int().nullable() });
const TypeInPool = z.object({ type: z.string(), pool: z.string() });
const SeenAt = z.object({ at: z.int() });
const Known = z.enum(["once", "pending", "latest"]);

const LoadedRow = z.object({
  seq: z.int(),
  id: z.string(),
  type: z.string(),
  pool: z.string(),
  known: Known,
  payload: z.string().nullable(),
  attempt: z.int(),
  surprises: z.int(),
  deaths: z.int(),
  added_at: z.int(),
});

const DeadRow = z.object({
  id: z.string(),
  type: z.string(),
  attempt: z.int(),
  surprises: z.int(),
  reason: z.string().nullable(),
  added_at: z.int(),
  ended_at: z.int(),
});

/** An abandoned task as an operator sees it. Times are epoch milliseconds. */
export type DeadTask = Pick<Task, "id" | "type" | "attempt" | "surprises" | "addedAt"> & {
  reason: string;
  endedAt: number;
};

/** A task as a run of it needs it. */
export type LoadedTask = { seq: number; pool: string; known: z.infer<typeof Known>; task: Task };

/** The tasks in SQLite. Methods that write are called inside a transaction. `nowMs` is epoch milliseconds. */
export class TaskTable {
  readonly #sql: Record<keyof typeof taskSql, StatementSync>;
  readonly #poolOf: (type: string, share: string | null) => string;
  readonly #pools = new Set<string>();
  /** Whether this process runs the task with that number now. */
  readonly #isRunning: (seq: number) => boolean;
  /** Whether this process runs it, or its result is still on its way to the disk. */
  readonly #isHeld: (seq: number) => boolean;

  constructor(
    db: DatabaseSync,
    options: {
      poolOf: (type: string, share: string | null) => string;
      isRunning: (seq: number) => boolean;
      isHeld: (seq: number) => boolean;
    },
  ) {
    this.#poolOf = options.poolOf;
    this.#isRunning = options.isRunning;
    this.#isHeld = options.isHeld;
    this.#sql = {
      add: db.prepare(taskSql.add),
      find: db.prepare(taskSql.find),
      bringForward: db.prepare(taskSql.bringForward),
      runOnceMore: db.prepare(taskSql.runOnceMore),
      due: db.prepare(taskSql.due),
      load: db.prepare(taskSql.load),
      countRun: db.prepare(taskSql.countRun),
      uncountRun: db.prepare(taskSql.uncountRun),
      newest: db.prepare(taskSql.newest),
      pending: db.prepare(taskSql.pending),
      remove: db.prepare(taskSql.remove),
      done: db.prepare(taskSql.done),
      dead: db.prepare(taskSql.dead),
      waitOn: db.prepare(taskSql.waitOn),
      nextDue: db.prepare(taskSql.nextDue),
      waitingTypes: db.prepare(taskSql.waitingTypes),
      movePool: db.prepare(taskSql.movePool),
      pullIn: db.prepare(taskSql.pullIn),
      countWaiting: db.prepare(taskSql.countWaiting),
      countDead: db.prepare(taskSql.countDead),
      listDead: db.prepare(taskSql.listDead),
      forget: db.prepare(taskSql.forget),
      seen: db.prepare(taskSql.seen),
      lastSeen: db.prepare(taskSql.lastSeen),
    };
  }

  /** Adds a task as `NewTask.known` says. Returns whether it was added, or will run once more. */
  add(task: StorableTask, nowMs: number): boolean {
    const { id, type, share, known, payload, dueAt } = task;
    const pool = this.#poolOf(type, share);
    this.#pools.add(pool);
    const insert = () => this.#sql.add.run(id, type, pool, known, payload, dueAt, nowMs).changes === 1;
    if (insert()) return true;
    const { seq, state } = Found.parse(this.#sql.find.get(id));
    if (known === "once") return false;
    if (state !== "waiting") {
      this.#sql.remove.run(seq);
      return insert();
    }
    if (known === "pending") return false;
    if (this.#isRunning(seq)) this.#sql.runOnceMore.run(payload, dueAt, seq);
    else this.#sql.bringForward.run(dueAt, seq);
    return this.#isRunning(seq);
  }

  /**
   * The numbers of at most `limit` tasks of a pool that are due and not held, those due longest first. `running`: how many of the pool
   * are held.
   */
  due(pool: string, nowMs: number, limit: number, running: number): number[] {
    return z
      .array(Seq)
      .parse(this.#sql.due.all(pool, nowMs, limit + running))
      .map(({ seq }) => seq)
      .filter((seq) => !this.#isHeld(seq))
      .slice(0, limit);
  }

  load(seq: number): LoadedTask {
    const {
      seq: _,
      pool,
      known,
      payload,
      added_at: addedAt,
      ...row
    } = LoadedRow.parse(this.#sql.load.get(seq));
    return { seq, pool, known, task: { ...row, payload: fromStoredPayload(payload), addedAt } };
  }

  /** Counts a run that has begun, until it ends. The count shows that a task kills its process. */
  countRun(seq: number): void {
    this.#sql.countRun.run(seq);
  }

  /** Takes back what {@link countRun} counted. */
  uncountRun(seq: number): void {
    this.#sql.uncountRun.run(seq);
  }

  /** The number of the task that was added last; 0: there is none. */
  newestSeq(): number {
    return Seq.parse(this.#sql.newest.get()).seq;
  }

  /** Writes down how a run ended. */
  end({ seq, known, task }: LoadedTask, how: TaskEnd, nowMs: number): void {
    const row = this.#sql.pending.get(seq);
    if (row === undefined) return;
    const { next_payload: nextPayload, next_due_at: nextDueAt } = Next.parse(row);
    const sooner = (dueAt: number) => Math.min(toWholeMs(dueAt), nextDueAt ?? Infinity);
    // The run's own payload comes first, because it knows best where it stands. Then the one of an add that came meanwhile.
    const payloadAfter = (end: { payload?: unknown }) => toStorablePayload(end) ?? nextPayload;
    if (nextPayload !== null && (how.kind === "done" || how.kind === "dead")) {
      this.#sql.waitOn.run(nextDueAt ?? nowMs, nextPayload, 1, 0, null, seq);
      return;
    }
    switch (how.kind) {
      case "done":
        if (known === "once") this.#sql.done.run(nowMs, seq);
        else this.#sql.remove.run(seq);
        return;
      case "dead":
        this.#sql.dead.run(nowMs, toStorableReason(how.reason), seq);
        return;
      case "again":
        this.#sql.waitOn.run(sooner(how.dueAt), payloadAfter(how), 1, 0, null, seq);
        return;
      case "wait":
        this.#sql.waitOn.run(sooner(how.dueAt), payloadAfter(how), task.attempt, task.surprises, null, seq);
        return;
      case "retry": {
        const isSurprise = how.isSurprise === true;
        this.#sql.waitOn.run(
          sooner(how.dueAt),
          payloadAfter(how),
          task.attempt + (isSurprise ? 0 : 1),
          task.surprises + (isSurprise ? 1 : 0),
          toStorableReason(how.reason),
          seq,
        );
        return;
      }
    }
  }

  /** When the next task of a pool that isn't held is due; null if none waits. `running`: how many of the pool are held. */
  nextDueAt(pool: string, running: number): number | null {
    // In a pool with room, everything that was due runs already, and comes first in the order.
    const row = this.#sql.nextDue.get(pool, running);
    return row === undefined ? null : DueAt.parse(row).due_at;
  }

  /** Puts waiting tasks into the pools that their types belong to in this version. */
  movePools(): void {
    for (const { type, pool } of z.array(TypeInPool).parse(this.#sql.waitingTypes.all())) {
      const [, ...share] = pool.split(" ");
      const right = this.#poolOf(type, share.length === 0 ? null : share.join(" "));
      this.#pools.add(right);
      if (pool !== right) this.#sql.movePool.run(right, type, pool);
    }
  }

  /** The pools that tasks have been in since {@link movePools}: `<pool>`, or `<pool> <share>`. */
  get pools(): Iterable<string> {
    return this.#pools;
  }

  /** Brings everything that waits forward by that many milliseconds. */
  pullIn(byMs: number): void {
    this.#sql.pullIn.run(Math.ceil(byMs));
  }

  /** Tasks that run count as waiting. */
  counts(): { waiting: number; dead: number } {
    return {
      waiting: Count.parse(this.#sql.countWaiting.get()).count,
      dead: Count.parse(this.#sql.countDead.get()).count,
    };
  }

  /** The latest first. */
  deadTasks(limit: number): DeadTask[] {
    return z
      .array(DeadRow)
      .parse(this.#sql.listDead.all(limit))
      .map(({ added_at: addedAt, ended_at: endedAt, reason, ...row }) => ({
        ...row,
        reason: reason ?? "",
        addedAt,
        endedAt,
      }));
  }

  /** Forgets at most `limit` tasks that ended in that state by then. Returns whether more may be left. */
  forget(state: "done" | "dead", endedByMs: number, limit: number): boolean {
    return Number(this.#sql.forget.run(state, endedByMs, limit).changes) === limit;
  }

  /** Notes the machine's time. */
  see(nowMs: number): void {
    this.#sql.seen.run(nowMs);
  }

  /** The machine's time when it was noted last; null if it never was. */
  lastSeenAt(): number | null {
    const row = this.#sql.lastSeen.get();
    return row === undefined ? null : SeenAt.parse(row).at;
  }
}
