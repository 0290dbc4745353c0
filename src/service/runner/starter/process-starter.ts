import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { messageOf } from "../../../errors.ts";
import { killGroup, type ProcessGroup, type ProcessOptions } from "../process-group.ts";
import { detailsOf, TransientRunError } from "../run-error.ts";
import { type Ordered, orderGroup } from "./started-group.ts";
import { isStarterNews, type RanProgram, type RunProgram, type StarterOrder } from "./starter-calls.ts";

/** How often the process is asked whether it is well, and how often it may leave that unanswered in a row. */
const ASK_EVERY_MS = 15_000;
const MAX_UNANSWERED = 4;

const PROGRAM = fileURLToPath(new URL("./starting-process.ts", import.meta.url));

/**
 * Has processes started by a small process of its own, which ends with this one. Starting a process copies the tables of all the memory
 * that the starting one has, and stops all its threads meanwhile; a turn takes a dozen of git's alone.
 */
export class ProcessStarter {
  #child: ChildProcess | null = null;
  readonly #ordered = new Map<number, Ordered>();
  readonly #askEveryMs: number;
  #lastId = 0;

  constructor({ askEveryMs = ASK_EVERY_MS } = {}) {
    this.#askEveryMs = askEveryMs;
  }

  /** Resolves when the process has ended, which it does soon after `signal` aborts. Rejects only if the process that starts it ends. */
  async run(program: RunProgram, signal: AbortSignal): Promise<RanProgram> {
    const id = (this.#lastId += 1);
    const child = (this.#child ??= this.#open());
    const { promise, resolve, reject } = Promise.withResolvers<RanProgram>();
    const stop = () => tell(child, { kind: "stop", id });
    let pid: number | undefined;
    this.#expect(id, child, {
      take: (news) => {
        if (news.kind === "started") ({ pid } = news);
        if (news.kind === "ran") resolve(news);
      },
      // A git that goes on would be in the next one's way.
      lose: (problem) => void killGroup(pid).then(() => reject(brokenOff(problem))),
    });
    signal.addEventListener("abort", stop, { once: true });
    tell(child, { kind: "run", id, program });
    if (signal.aborted) stop();
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", stop);
      this.#forget(id, child);
    }
  }

  /** Starts what `startProcessGroup` would. It ends with this process, too. */
  start(options: ProcessOptions): ProcessGroup {
    const id = (this.#lastId += 1);
    let child: ChildProcess;
    try {
      child = this.#child ??= this.#open();
    } catch (error) {
      const { group, lose } = orderGroup(id, options, () => {});
      lose(detailsOf(error).join(" "));
      return group;
    }
    const { group, ...ordered } = orderGroup(id, options, (order) => tell(child, order));
    this.#expect(id, child, ordered);
    void group.ended.then(() => this.#forget(id, child));
    return group;
  }

  /** Only while somebody waits does the process keep this one alive. */
  #expect(id: number, child: ChildProcess, ordered: Ordered): void {
    this.#ordered.set(id, ordered);
    child.ref();
    child.channel?.ref();
  }

  #forget(id: number, child: ChildProcess): void {
    this.#ordered.delete(id);
    if (this.#ordered.size > 0) return;
    child.unref();
    child.channel?.unref();
  }

  #open(): ChildProcess {
    const child = startProgram();
    let unanswered = 0;
    // While it hangs, nothing it has started could be ended: better without it, which ends all of that.
    const watch = setInterval(() => {
      unanswered = this.#ordered.size === 0 ? 0 : unanswered + 1;
      if (unanswered > MAX_UNANSWERED) child.kill("SIGKILL");
      else tell(child, { kind: "ask", id: 0 });
    }, this.#askEveryMs).unref();
    child.on("message", (news) => {
      unanswered = 0;
      if (isStarterNews(news)) this.#ordered.get(news.id)?.take(news);
    });
    const end = (problem: string) => {
      clearInterval(watch);
      if (this.#child !== child) return;
      this.#child = null;
      for (const { lose } of this.#ordered.values()) lose(`The process that starts programs ${problem}`);
    };
    child.on("error", (error) => end(`broke off: ${messageOf(error)}`));
    child.on("exit", () => end("has ended."));
    return child;
  }
}

/** One that can't be told has ended, and says so by itself. */
function tell(child: ChildProcess, order: StarterOrder): void {
  if (child.connected) child.send(order, () => {});
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
    throw brokenOff(`The process that starts programs can't be started: ${messageOf(error)}`);
  }
}

/** The problem is for the operator alone. */
function brokenOff(problem: string): TransientRunError {
  return new TransientRunError("The turn broke off.", { details: [problem] });
}
