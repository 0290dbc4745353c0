import type { Task, TaskHandler, TaskQueue, TaskResult } from "../../src/core/task-queue.ts";

/** What one run of a task does. */
export type Step = (task: Task, signal: AbortSignal) => TaskResult | Promise<TaskResult>;

export const done: Step = () => ({ kind: "done" });

/** A task handler that does what the test says, and keeps what it was asked to run. */
export class ScriptedHandler {
  /** Every run, in the order of their starts. */
  readonly runs: Task[] = [];
  readonly #steps = new Map<string, Step[]>();
  #watchers: Array<() => void> = [];
  #sentinels = 0;

  /** What the first, second, … run of a task does; the last step is repeated. A task without steps is done at once. */
  on(id: string, ...steps: Step[]): void {
    this.#steps.set(id, steps);
  }

  readonly handle: TaskHandler = async (task, signal) => {
    this.runs.push(task);
    const times = this.runsOf(task.id).length;
    const steps = this.#steps.get(task.id) ?? [];
    const step = steps[Math.min(times, steps.length) - 1] ?? done;
    for (const look of this.#watchers) look();
    return await step(task, signal);
  };

  runsOf(id: string): Task[] {
    return this.runs.filter((task) => task.id === id);
  }

  /** Ids in the order of their runs' starts, without the sentinels. */
  order(): string[] {
    return this.runs.map((task) => task.id).filter((id) => !id.startsWith("sentinel-"));
  }

  /** Resolves once the task has been started that many times. */
  started(id: string, times = 1): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.runsOf(id).length < times) return;
        this.#watchers = this.#watchers.filter((watcher) => watcher !== look);
        resolve();
      };
      this.#watchers.push(look);
      look();
    });
  }

  /** Resolves once a task added last has started: whatever was due and free to run has then been started, too. */
  async allDueStarted(queue: TaskQueue): Promise<void> {
    this.#sentinels += 1;
    const id = `sentinel-${this.#sentinels}-${this.runs.length}`;
    await queue.add({ id, type: "sentinel", payload: null });
    await this.started(id);
  }
}

/** A step that goes on until the test says how it ends. */
export function gate(): { step: Step; open: (result?: TaskResult) => void } {
  const { promise, resolve } = Promise.withResolvers<TaskResult>();
  return { step: () => promise, open: (result = { kind: "done" }) => resolve(result) };
}
