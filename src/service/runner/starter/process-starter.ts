import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { messageOf } from "../../../errors.ts";
import { TransientRunError } from "../run-error.ts";
import {
  isStarterEnding,
  type StartedProgram,
  type StarterEnding,
  type StarterOrder,
} from "./starter-calls.ts";

type Waiting = { resolve: (ending: StarterEnding) => void; reject: (error: Error) => void };

const PROGRAM = fileURLToPath(new URL("./starting-process.ts", import.meta.url));

/**
 * Has processes started by a small process of its own, which ends with this one. Starting a process copies the tables of all the memory
 * that the starting one has, and stops all its threads meanwhile; a turn takes a dozen of git's alone.
 */
export class ProcessStarter {
  #child: ChildProcess | null = null;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  /** Resolves when the process has ended, which it does soon after `signal` aborts. Rejects only if the process that starts it ends. */
  async run(program: StartedProgram, signal: AbortSignal): Promise<StarterEnding> {
    const id = (this.#lastId += 1);
    const child = (this.#child ??= this.#start());
    const { promise, resolve, reject } = Promise.withResolvers<StarterEnding>();
    this.#waiting.set(id, { resolve, reject });
    // One that can't be told has ended, and says so by itself.
    const tell = (order: StarterOrder) => child.connected && child.send(order, () => {});
    const stop = () => tell({ id });
    signal.addEventListener("abort", stop, { once: true });
    // Only while somebody waits does it keep this process alive.
    child.ref();
    child.channel?.ref();
    tell({ id, program });
    if (signal.aborted) stop();
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", stop);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) rest(child);
    }
  }

  #start(): ChildProcess {
    const child = startProgram();
    child.on("message", (message) => {
      if (isStarterEnding(message)) this.#waiting.get(message.id)?.resolve(message);
    });
    const end = (problem: string) => {
      if (this.#child !== child) return;
      this.#child = null;
      const error = new TransientRunError(`The process that starts programs ${problem}`);
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    };
    child.on("error", (error) => end(`broke off: ${messageOf(error)}`));
    child.on("exit", () => end("has ended."));
    return child;
  }
}

function startProgram(): ChildProcess {
  try {
    return fork(PROGRAM, [], {
      // No secret of the service's is any business of it, nor is what was loaded before the service.
      env: {},
      execArgv: [],
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
  } catch (error) {
    throw new TransientRunError(`The process that starts programs can't be started: ${messageOf(error)}`);
  }
}

function rest(child: ChildProcess): void {
  child.unref();
  child.channel?.unref();
}
