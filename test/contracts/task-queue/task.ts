import type { NewTask } from "../../../src/shared/queue/task-queue.ts";

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A task that says in its payload whose it is. */
export function task(id: string, more: Partial<NewTask> = {}): NewTask {
  return { id, type: "test", payload: { for: id }, ...more };
}
