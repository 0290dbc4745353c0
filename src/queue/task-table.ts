import type { DatabaseSync, StatementSync } from "node:sqlite";
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { NewTask, Task, TaskCounts, TaskResult } from "../core/task-queue.ts";
import { transaction } from "../store/sqlite-database.ts";
import { taskSql } from "./task-sql.ts";

const Sequence = z.object({ seq: z.int(), due_at: z.int() });
const FreeAt = z.object({ free_at: z.int() });
const DueAt = z.object({ due_at: z.int() });
const Count = z.object({ state: z.enum(["waiting", "queued", "running", "dead"]), count: z.int() });

const ClaimedRow = z.object({
  seq: z.int(),
  id: z.string(),
  type: z.string(),
  lane: z.string().nullable(),
  payload: z.string(),
  token: z.string(),
  attempt: z.int(),
  added_at: z.int(),
});

const DeadRow = z.object({
  id: z.string(),
  type: z.string(),
  lane: z.string().nullable(),
  attempt: z.int(),
  reason: z.string().nullable(),
  added_at: z.int(),
  ended_at: z.int(),
});

/** What an operator sees of a task that was given up. Times are epoch milliseconds. */
export type DeadTask = {
  id: string;
  type: string;
  lane: string | null;
  attempt: number;
  reason: string;
  addedAt: number;
  endedAt: number;
};

/** The right to finish one run of a task, which goes to whoever claims the task next. */
export type Claim = { seq: number; token: string };
export type ClaimedTask = Claim & { task: Task };

/** A task whose payload is JSON text and whose times are whole milliseconds, ready to be stored. */
export type StorableTask = { id: string; type: string; lane: string | null; payload: string; dueAt: number };

/** A result whose payload is JSON text and whose times are whole milliseconds, ready to be stored. */
export type StorableResult =
  | { kind: "done"; laneGapMs: number }
  | { kind: "again"; dueAt: number; payload: string | null }
  | { kind: "retry"; dueAt: number; reason: string }
  | { kind: "dead"; reason: string };

const reasonLimit = 500;

/** Checks a new task. Throws a `TypeError` if its payload is no JSON or its time is none. */
export function toStorableTask(task: NewTask, nowMs: number): StorableTask {
  return {
    id: task.id,
    type: task.type,
    lane: task.lane ?? null,
    payload: toJson(task.payload),
    dueAt: toWholeMs(task.dueAt ?? nowMs),
  };
}

/** Checks what a handler returned. Throws a `TypeError` if its payload is no JSON or its time is none. */
export function toStorableResult(result: TaskResult): StorableResult {
  switch (result.kind) {
    case "done":
      return { kind: "done", laneGapMs: toWholeMs(result.laneGapMs ?? 0) };
    case "again":
      return {
        kind: "again",
        dueAt: toWholeMs(result.dueAt),
        payload: result.payload === undefined ? null : toJson(result.payload),
      };
    case "retry":
      return { kind: "retry", dueAt: toWholeMs(result.dueAt), reason: result.reason.slice(0, reasonLimit) };
    case "dead":
      return { kind: "dead", reason: result.reason.slice(0, reasonLimit) };
  }
}

/** The tasks in SQLite. Each method is synchronous and one transaction; `nowMs` is epoch milliseconds. */
export class TaskTable {
  readonly #db: DatabaseSync;
  readonly #sql: Record<keyof typeof taskSql, StatementSync>;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#sql = {
      add: db.prepare(taskSql.add),
      firstOfLane: db.prepare(taskSql.firstOfLane),
      laneFreeAt: db.prepare(taskSql.laneFreeAt),
      holdLane: db.prepare(taskSql.holdLane),
      promote: db.prepare(taskSql.promote),
      claim: db.prepare(taskSql.claim),
      renew: db.prepare(taskSql.renew),
      end: db.prepare(taskSql.end),
      again: db.prepare(taskSql.again),
      retry: db.prepare(taskSql.retry),
      release: db.prepare(taskSql.release),
      recover: db.prepare(taskSql.recover),
      nextDueAt: db.prepare(taskSql.nextDueAt),
      counts: db.prepare(taskSql.counts),
      dead: db.prepare(taskSql.dead),
      removeDone: db.prepare(taskSql.removeDone),
      removeFreeLanes: db.prepare(taskSql.removeFreeLanes),
    };
  }

  /** Adds those whose id is not known. Returns, for each, whether it was added. */
  addAll(tasks: readonly StorableTask[], nowMs: number): boolean[] {
    return transaction(this.#db, () => tasks.map((task) => this.#add(task, nowMs)));
  }

  /** Claims at most `limit` tasks that are due, those due longest first. Returns them in the order they were added. */
  claim(limit: number, nowMs: number, leaseEndMs: number): ClaimedTask[] {
    const rows = z.array(ClaimedRow).parse(this.#sql.claim.all(leaseEndMs, randomUUID(), nowMs, limit));
    return rows
      .toSorted((a, b) => a.seq - b.seq)
      .map(({ seq, token, added_at: addedAt, payload, ...row }) => ({
        seq,
        token,
        task: { ...row, payload: fromJson(payload), addedAt },
      }));
  }

  /** Extends the leases that are still held. */
  renew(claims: Iterable<Claim>, leaseEndMs: number): void {
    transaction(this.#db, () => {
      for (const { seq, token } of claims) this.#sql.renew.run(leaseEndMs, seq, token);
    });
  }

  /** Carries out a result. Returns false, and changes nothing, if the claim was lost. */
  finish({ seq, token }: Claim, lane: string | null, result: StorableResult, nowMs: number): boolean {
    return transaction(this.#db, () => {
      switch (result.kind) {
        case "again":
          return this.#sql.again.run(result.dueAt, result.payload, seq, token).changes === 1;
        case "retry":
          return this.#sql.retry.run(result.dueAt, result.reason, seq, token).changes === 1;
        case "done": {
          if (this.#sql.end.run("done", nowMs, null, seq, token).changes !== 1) return false;
          if (lane !== null) this.#advanceLane(lane, result.laneGapMs, nowMs);
          return true;
        }
        case "dead": {
          if (this.#sql.end.run("dead", nowMs, result.reason, seq, token).changes !== 1) return false;
          if (lane !== null) this.#advanceLane(lane, 0, nowMs);
          return true;
        }
      }
    });
  }

  /** Gives claims back, as if they had not been made. */
  release(claims: Iterable<Claim>, nowMs: number): void {
    transaction(this.#db, () => {
      for (const { seq, token } of claims) this.#sql.release.run(nowMs, seq, token);
    });
  }

  /** Makes what a process left running when it ended claimable. Returns how many those were. */
  recover(nowMs: number): number {
    return Number(this.#sql.recover.run(nowMs).changes);
  }

  /** When the next task that waits is due; null if none waits. */
  nextDueAt(): number | null {
    const row = this.#sql.nextDueAt.get();
    return row === undefined ? null : DueAt.parse(row).due_at;
  }

  counts(): TaskCounts {
    const counts = { waiting: 0, queued: 0, running: 0, dead: 0 };
    for (const { state, count } of z.array(Count).parse(this.#sql.counts.all())) counts[state] = count;
    const { waiting, queued, running, dead } = counts;
    return { waiting: waiting + queued, running, dead };
  }

  /** The latest first. */
  deadTasks(limit: number): DeadTask[] {
    return z
      .array(DeadRow)
      .parse(this.#sql.dead.all(limit))
      .map(({ added_at: addedAt, ended_at: endedAt, reason, ...row }) => ({
        ...row,
        reason: reason ?? "",
        addedAt,
        endedAt,
      }));
  }

  /** Forgets at most `limit` tasks that were done by `doneBeforeMs`, and lanes that nothing holds. Returns whether more may be left. */
  forget(doneBeforeMs: number, nowMs: number, limit: number): boolean {
    return transaction(this.#db, () => {
      const tasks = Number(this.#sql.removeDone.run(doneBeforeMs, limit).changes);
      const lanes = Number(this.#sql.removeFreeLanes.run(nowMs, limit).changes);
      return tasks === limit || lanes === limit;
    });
  }

  #add({ id, type, lane, payload, dueAt }: StorableTask, nowMs: number): boolean {
    const isQueued = lane !== null && this.#sql.firstOfLane.get(lane) !== undefined;
    const claimableAt = isQueued ? null : Math.max(dueAt, this.#freeAt(lane));
    const state = isQueued ? "queued" : "waiting";
    return this.#sql.add.run(id, type, lane, payload, state, dueAt, claimableAt, nowMs).changes === 1;
  }

  #advanceLane(lane: string, gapMs: number, nowMs: number): void {
    if (gapMs > 0) this.#sql.holdLane.run(lane, nowMs + gapMs);
    const next = this.#sql.firstOfLane.get(lane);
    if (next === undefined) return;
    const { seq, due_at: dueAt } = Sequence.parse(next);
    this.#sql.promote.run(Math.max(dueAt, nowMs, this.#freeAt(lane)), seq);
  }

  /** The time before which the lane's next task may not start; 0 if nothing holds it. */
  #freeAt(lane: string | null): number {
    if (lane === null) return 0;
    const row = this.#sql.laneFreeAt.get(lane);
    return row === undefined ? 0 : FreeAt.parse(row).free_at;
  }
}

function toJson(payload: unknown): string {
  const text: string | undefined = JSON.stringify(payload);
  if (text === undefined) throw new TypeError("A task's payload must be JSON");
  return text;
}

function toWholeMs(ms: number): number {
  const wholeMs = Math.ceil(ms);
  if (Number.isSafeInteger(wholeMs)) return wholeMs;
  throw new TypeError(`A task's time must be a number of milliseconds, not ${ms}`);
}

/** What a payload says; text that is no JSON (a damaged row) goes to the handler as it is, which refuses it by its schema. */
function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
