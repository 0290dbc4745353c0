import type { Step, Task, TaskHandler } from "../../core/task-queue.ts";
import type { ServiceTaskDeps } from "./deps.ts";
import { runJob } from "./run-job.ts";
import { tidy } from "./tidy.ts";

const handlers: Record<string, (deps: ServiceTaskDeps, task: Task, stopped: AbortSignal) => Promise<Step>> = {
  "run-job": runJob,
  tidy,
};

/** Runs any task of the service. What a task throws is a fault of the database, and the queue tries again in a minute. */
export function createServiceTaskHandler(deps: ServiceTaskDeps): TaskHandler {
  return async (task, { signal }) => {
    const handle = handlers[task.type];
    if (handle === undefined) return { kind: "dead", reason: `no such type of task: ${task.type}` };
    return await handle(deps, task, signal);
  };
}
