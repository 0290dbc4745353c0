import type { StorableTask } from "./task-table.ts";

type PendingAdd = {
  task: StorableTask;
  resolve: (wasAdded: boolean) => void;
  reject: (thrown: unknown) => void;
};

/**
 * Commits what is added in one turn of the event loop together: a commit waits for the disk and blocks the loop, so a
 * burst of requests would otherwise be acknowledged one disk write after the other.
 */
export class BatchedAdds {
  readonly #commit: (tasks: StorableTask[]) => boolean[];
  #pending: PendingAdd[] = [];

  /** `commit` adds all tasks durably and returns, for each, whether it was added; or throws and adds none. */
  constructor(commit: (tasks: StorableTask[]) => boolean[]) {
    this.#commit = commit;
  }

  /** Resolves, once the task is durable, to whether it was added. Rejects with what `commit` threw. */
  add(task: StorableTask): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (this.#pending.length === 0) setImmediate(() => this.#commitPending());
      this.#pending.push({ task, resolve, reject });
    });
  }

  get isEmpty(): boolean {
    return this.#pending.length === 0;
  }

  #commitPending(): void {
    const adds = this.#pending;
    this.#pending = [];
    try {
      const wereAdded = this.#commit(adds.map(({ task }) => task));
      for (const [index, { resolve }] of adds.entries()) resolve(wereAdded[index] === true);
    } catch (thrown) {
      for (const { reject } of adds) reject(thrown);
    }
  }
}
