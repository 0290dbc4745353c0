import { Worker } from "node:worker_threads";
import { messageOf } from "../../../errors.ts";
import { TransientRunError } from "../run-error.ts";
import type { GitEnding, GitOrder } from "./git-calls.ts";

type Waiting = { resolve: (ending: GitEnding) => void; reject: (error: Error) => void };

/**
 * Starts git's processes on a thread of its own. Node.js waits until a process it starts has begun, which on a busy machine takes long
 * enough to be felt by whoever waits for an answer over HTTP, and a turn takes a dozen.
 */
export class GitThread {
  #worker: Worker | null = null;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  /** Resolves when the process has ended, which it does soon after `signal` aborts. Rejects only if the thread itself ends. */
  async run(process: NonNullable<GitOrder["process"]>, signal: AbortSignal): Promise<GitEnding> {
    const id = (this.#lastId += 1);
    const worker = (this.#worker ??= this.#start());
    const { promise, resolve, reject } = Promise.withResolvers<GitEnding>();
    this.#waiting.set(id, { resolve, reject });
    const stop = () => worker.postMessage({ id } satisfies GitOrder);
    signal.addEventListener("abort", stop, { once: true });
    // Only while somebody waits does it keep the process alive.
    worker.ref();
    worker.postMessage({ id, process } satisfies GitOrder);
    if (signal.aborted) stop();
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", stop);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) worker.unref();
    }
  }

  #start(): Worker {
    const worker = new Worker(new URL("./git-worker.ts", import.meta.url), { env: {}, execArgv: [] });
    worker.on("message", (ending: GitEnding) => this.#waiting.get(ending.id)?.resolve(ending));
    const end = (error: Error) => {
      if (this.#worker === worker) this.#worker = null;
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    };
    worker.on("error", (error: unknown) =>
      end(
        new TransientRunError("The turn broke off.", {
          details: [`The thread that runs git broke off: ${messageOf(error)}`],
        }),
      ),
    );
    worker.on("exit", () => end(new TransientRunError("The thread that runs git has ended.")));
    return worker;
  }
}
