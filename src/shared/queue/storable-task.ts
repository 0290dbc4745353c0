import { jsonOf } from "../text/text.ts";
import type { NewTask, TaskEnd } from "./task-queue.ts";

/** How long the id of a done task stays known, for tasks where it does. */
export const KEEP_DONE_MS = 7 * 24 * 60 * 60_000;

const REASON_MAX_CHARS = 500;

/**
 * Groups of task types that share a budget of handlers, so that a stuck group doesn't hold up the
 * others. If tasks name a partition (`NewTask.partition`), each partition of the pool has the full
 * budget. Names contain no spaces.
 */
export type Pools = { of: (type: string) => string; budgets: Readonly<Record<string, number>> };

/** The name of the pool that a task runs in: `<pool>`, or `<pool> <partition>`. */
export function poolName(pools: Pools, type: string, partition: string | undefined): string {
  const pool = pools.of(type);
  return partition === undefined ? pool : `${pool} ${partition}`;
}

/** A task whose payload is JSON text and whose times are whole milliseconds, ready to be stored. */
export type StorableTask = ReturnType<typeof toStorableTask>;

/** Checks a new task. Throws a `TypeError` if its payload isn't JSON or its time isn't a number. */
export function toStorableTask(task: NewTask, nowMs: number, pools: Pools) {
  return {
    id: task.id,
    type: task.type,
    pool: poolName(pools, task.type, task.partition),
    onDuplicate: task.onDuplicate ?? "once",
    payload: toJson(task.payload),
    dueAt: toWholeMs(task.dueAt ?? nowMs),
  };
}

/**
 * Checks how a run ended. Throws a `TypeError` if its payload isn't JSON or its time isn't a
 * number.
 */
export function checkTaskEnd(end: TaskEnd): void {
  if (end.kind === "done" || end.kind === "dead") return;
  toWholeMs(end.dueAt);
  toStorablePayload(end);
}

/**
 * The payload of a run's end as JSON text, or null if it names none. Throws a `TypeError` if it
 * isn't JSON.
 */
export function toStorablePayload(end: { payload?: unknown }): string | null {
  return end.payload === undefined ? null : toJson(end.payload);
}

/**
 * Shortens the reason of a failure. The result is well-formed text that every store accepts, even
 * if the cut splits a character.
 */
export function toStorableReason(reason: string): string {
  return reason.slice(0, REASON_MAX_CHARS).toWellFormed();
}

/** Rounds a time up to whole milliseconds. Throws a `TypeError` if it isn't a number. */
export function toWholeMs(ms: number): number {
  const wholeMs = Math.ceil(ms);
  if (Number.isSafeInteger(wholeMs)) return wholeMs;
  throw new TypeError(`A task's time must be a number of milliseconds, not ${ms}`);
}

/**
 * Parses a stored payload. Text that isn't JSON (a damaged row) goes to the handler as it is, and
 * the handler's schema refuses it.
 */
export function fromStoredPayload(text: string | null): unknown {
  const payload = text === null ? null : jsonOf(text);
  return payload === undefined ? text : payload;
}

function toJson(payload: unknown): string {
  const text: string | undefined = JSON.stringify(payload);
  if (text === undefined) throw new TypeError("A task's payload must be JSON");
  return text;
}
