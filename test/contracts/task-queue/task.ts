import type { NewTask } from "../../../src/shared/queue/task-queue.ts";

/** A second in milliseconds. */
export const SECOND_MS = 1_000;
/** A minute in milliseconds. */
export const MINUTE_MS = 60 * SECOND_MS;
/** An hour in milliseconds. */
export const HOUR_MS = 60 * MINUTE_MS;
/** A day in milliseconds. */
export const DAY_MS = 24 * HOUR_MS;

/** Makes a task that names itself in its payload. */
export function task(id: string, more: Partial<NewTask> = {}): NewTask {
  return { id, type: "test", payload: { for: id }, ...more };
}
