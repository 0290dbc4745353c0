import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Clock } from "../../../core/clock.ts";
import { messageOf } from "../../../errors.ts";
import { TransientRunError, TurnFailedError } from "../run-error.ts";
import type { TreeAnswer, TreeCalls, TreePlace } from "./tree-calls.ts";

const TIME_LIMIT_MS = 60_000;
const MAX_HEAP_MB = 1024;
/** What these take is up to what the agent left; the others come before it, or go by the repository. */
const LOOKS_AT_AGENTS = new Set<keyof TreeCalls>(["scan", "select"]);

/** The thread that a turn's tree lives on, so that none of it holds up whoever waits for an answer over HTTP. One call at a time. */
export class TreeThread implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #clock: Clock;
  #hasEnded = false;

  /** `compiled`: a folder of ours, out of the agents' reach, for Node.js to keep the thread's code in: compiling takes longer than its work. */
  constructor(place: TreePlace, clock: Clock, compiled: string | null = null) {
    this.#clock = clock;
    this.#worker = new Worker(new URL("./tree-worker.ts", import.meta.url), {
      workerData: place,
      // No secret of the service's is any business of this code.
      env: compiled === null ? {} : { NODE_COMPILE_CACHE: compiled },
      // Nor is what was loaded before the service.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    // Told to whoever waits for an answer; nobody may be waiting.
    this.#worker.on("error", () => (this.#hasEnded = true));
  }

  /**
   * Asks for one of `WorkTree`'s methods. Rejects with a `TurnFailedError` when the agent left too much to look at: by number or size,
   * in time (a minute), or in memory; with the signal's reason when aborted; otherwise, as when the disk is slow, with a
   * `TransientRunError`. The thread has ended then, but for the first.
   */
  async call<Name extends keyof TreeCalls>(
    name: Name,
    input: TreeCalls[Name]["input"],
    signal?: AbortSignal,
  ): Promise<TreeCalls[Name]["output"]> {
    signal?.throwIfAborted();
    if (this.#hasEnded) throw new TransientRunError("The thread of the tree has ended.");
    const waiting = new AbortController();
    const stop = () => waiting.abort(signal?.reason);
    signal?.addEventListener("abort", stop, { once: true });
    const cancelLimit = this.#clock.wakeAt(this.#clock.now() + TIME_LIMIT_MS, () =>
      waiting.abort(tooMuch(name, ` in ${TIME_LIMIT_MS / 1000} s`)),
    );
    try {
      const answered = once(this.#worker, "message", { signal: waiting.signal });
      this.#worker.postMessage({ name, ...input });
      const [answer]: TreeAnswer<Name>[] = await answered;
      if (answer?.isDone) return answer.output;
      const problem = answer?.problem ?? "no answer";
      throw answer?.isTurns ? new TurnFailedError(problem) : brokenOff(problem);
    } catch (error) {
      if (waiting.signal.aborted) {
        await this[Symbol.asyncDispose]();
        throw waiting.signal.reason;
      }
      if (isOutOfMemory(error)) throw tooMuch(name, "");
      if (error instanceof TurnFailedError || error instanceof TransientRunError) throw error;
      throw brokenOff(messageOf(error));
    } finally {
      cancelLimit();
      signal?.removeEventListener("abort", stop);
    }
  }

  /** Ends the thread, in the middle of whatever it does. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#hasEnded = true;
    await this.#worker.terminate();
  }
}

/** The problem may name folders of the machine. */
function brokenOff(problem: string): TransientRunError {
  return new TransientRunError("The turn broke off.", { details: [`The tree: ${problem}`] });
}

function tooMuch(name: keyof TreeCalls, limit: string): TurnFailedError | TransientRunError {
  return LOOKS_AT_AGENTS.has(name)
    ? new TurnFailedError(`The agent left more behind than can be looked through${limit}.`)
    : new TransientRunError(`The tree could not be made ready${limit}.`);
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
}
