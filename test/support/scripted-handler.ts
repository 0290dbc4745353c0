import type { Task } from "../../src/shared/queue/task-queue.ts";
import type { Step, TaskHandler, AppQueue } from "../../src/app/rules/records.ts";

/** A script for one run of a task. */
export type Script = (task: Task, signal: AbortSignal) => Step | Promise<Step>;

/** A run that is done at once. */
export const done: Script = () => ({ kind: "done" });

/** A run that never ends. */
export const never: Script = () => new Promise(() => {});

/** A task handler that does what the test says and remembers its runs. */
export class ScriptedHandler {
  /** All runs, in the order of their starts. */
  readonly runs: Task[] = [];
  readonly #scripts = new Map<string, Script[]>();
  #watchers: Array<() => void> = [];
  #sentinels = 0;

  /**
   * Sets the scripts for the first, second, … run of a task. The last script is repeated. A task
   * without scripts is done at once.
   */
  on(id: string, ...scripts: Script[]): void {
    this.#scripts.set(id, scripts);
  }

  readonly handle: TaskHandler = async (task, { signal }) => {
    this.runs.push(task);
    const times = this.runsOf(task.id).length;
    const scripts = this.#scripts.get(task.id) ?? [];
    const script = scripts[Math.min(times, scripts.length) - 1] ?? done;
    for (const look of this.#watchers) look();
    return await script(task, signal);
  };

  runsOf(id: string): Task[] {
    return this.runs.filter((task) => task.id === id);
  }

  /** Returns the ids of the runs in the order of their starts, without the sentinels. */
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

  /**
   * Resolves once a task that it adds last has started. By then, every task that was due and free
   * to run has started too.
   */
  async allDueStarted(queue: AppQueue): Promise<void> {
    this.#sentinels += 1;
    const id = `sentinel-${this.#sentinels}-${this.runs.length}`;
    await queue.add({ id, type: "sentinel", payload: null });
    await this.started(id);
  }
}

/** Makes a run that ends when and how the test says. */
export function gate(): { script: Script; open: (step?: Step) => void } {
  const { promise, resolve } = Promise.withResolvers<Step>();
  return { script: () => promise, open: (step = { kind: "done" }) => resolve(step) };
}
