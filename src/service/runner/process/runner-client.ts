import { type ChildProcess, fork } from "node:child_process";
import { addAbortListener, once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { Logger } from "../../../shared/machine/ports.ts";
import { messageOf, StartError } from "../../../shared/errors.ts";
import { type Runner, RunnerLostError } from "../runner.ts";
import { TransientRunError } from "../../base/run-error.ts";
import { FromRunner, type RunnerSettings, type ToRunner } from "./messages.ts";
import { lastRunOnThread } from "./thread-note.ts";
import { programFile } from "../../../shared/machine/this-copy.ts";

type Answer = Extract<FromRunner, { run: number }>;
type Run = { take: (message: Answer) => void; fail: (error: Error) => void };
type Child = {
  process: ChildProcess;
  opened: Promise<void>;
  /** True once it can run turns. */
  isOpen: boolean;
  /** Kills it because of a run, if that is known. */
  killFor: (cause: number | null) => void;
};

const PROGRAM = programFile("./main", import.meta.url);
/**
 * How often the runner is asked for a sign of life, and how many of these in a row it may leave
 * unanswered.
 */
const PING_EVERY_MS = 15_000;
const MAX_UNANSWERED = 4;
/** As long as a runner that gives no sign of life. */
const STOP_WITHIN_MS = PING_EVERY_MS * MAX_UNANSWERED;
const CLOSE_WITHIN_MS = 10_000;
/** Signals by which a process ends because of its own code. */
const CRASHES = ["SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGTRAP"];

/**
 * Runs turns in a separate process, the runner. It reads what agents write, and ends with this
 * process. If the runner dies, its runs reject with a {@link RunnerLostError}, and another one
 * replaces it.
 *
 * If a signal aborts, all but a turn reject at once. A turn rejects when the runner has
 * stopped its agent, because nothing else may use its folders before. A runner that doesn't stop it
 * within a minute is killed.
 */
export class RunnerClient implements Runner {
  readonly #settings: RunnerSettings;
  readonly #logger: Logger;
  readonly #pingEveryMs: number;
  readonly #stopWithinMs: number;
  readonly #runs = new Map<number, Run>();
  #child: Child | null = null;
  #lastRun = 0;
  #isClosing = false;

  constructor(
    settings: RunnerSettings,
    logger: Logger,
    { pingEveryMs = PING_EVERY_MS, stopWithinMs = STOP_WITHIN_MS } = {},
  ) {
    this.#settings = settings;
    this.#logger = logger;
    this.#pingEveryMs = pingEveryMs;
    this.#stopWithinMs = stopWithinMs;
  }

  /** Starts the runner. Rejects with a {@link StartError} if it can't run turns. */
  async open(): Promise<void> {
    await (this.#child ??= this.#start()).opened;
  }

  /** True while there is a runner that can run turns. */
  get isOpen(): boolean {
    return this.#child?.isOpen === true;
  }

  readonly run: Runner["run"] = ({ signal, report, ask, ...turn }) =>
    this.#carryOut(
      signal,
      (run) => ({ kind: "start", run, turn }),
      (message, end) => {
        if (message.kind === "result") return end(message.result);
        if (message.kind === "ask") {
          const { run, question, asked } = message;
          return void ask(asked).then((answer) => this.#tell({ kind: "answer", run, question, answer }));
        }
        if (message.kind === "report") report(message.report);
      },
    );

  readonly upkeep: Runner["upkeep"] = ({ projects, unfinished, signal }) =>
    this.#carryOut<void>(
      signal,
      (run) => ({ kind: "upkeep", run, projects, unfinished: [...unfinished] }),
      (message, end) => message.kind === "done" && end(),
    );

  readonly readDiff: Runner["readDiff"] = ({ signal, ...of }) =>
    this.#carryOut(
      signal,
      (run) => ({ kind: "diff", run, of }),
      (message, end) => message.kind === "diff" && end(message.diff),
    );

  readonly closePull: Runner["closePull"] = ({ signal, ...of }) =>
    this.#carryOut(
      signal,
      (run) => ({ kind: "close", run, of }),
      (message, end) => message.kind === "close" && end(message.became),
    );

  /** Ends the runner and its agents. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const child = this.#child?.process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    if (child.connected) child.disconnect();
    await Promise.race([gone, sleep(CLOSE_WITHIN_MS, undefined, { ref: false })]);
    child.kill("SIGKILL");
  }

  async #carryOut<Result>(
    signal: AbortSignal,
    orderOf: (run: number) => ToRunner,
    take: (message: Answer, end: (result: Result) => void) => void,
  ): Promise<Result> {
    signal.throwIfAborted();
    await unlessAborted(signal, this.open()).catch((error: unknown) => {
      signal.throwIfAborted();
      throw new TransientRunError("The turn broke off.", { details: [messageOf(error)] });
    });
    const run = (this.#lastRun += 1);
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#runs.set(run, {
      take: (message) => {
        if (message.kind !== "failed") return take(message, resolve);
        const { reason, details, retryAfterMs } = message;
        reject(new TransientRunError(reason, { details, retryAfterMs }));
      },
      fail: reject,
    });
    const order = orderOf(run);
    const child = this.#child;
    let killing: NodeJS.Timeout | undefined;
    using _ = addAbortListener(signal, () => {
      this.#tell({ kind: "abort", run });
      if (order.kind !== "start") return reject(signal.reason);
      killing = setTimeout(() => child?.killFor(run), this.#stopWithinMs).unref();
    });
    this.#tell(order);
    try {
      return await promise;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(killing);
      this.#runs.delete(run);
    }
  }

  /** If this can't be sent, the runner has ended, which is noticed elsewhere. */
  #tell(message: ToRunner): void {
    const child = this.#child?.process;
    if (child?.connected) child.send(message, () => {});
  }

  /** Nobody else would end the run that an invalid message is about. */
  #giveUp(received: unknown): void {
    const run = z.object({ run: z.int() }).safeParse(received).data?.run ?? 0;
    this.#logger.error({ run }, "the runner sent an invalid message");
    this.#tell({ kind: "abort", run });
    const details = ["The runner sent an invalid message."];
    this.#runs.get(run)?.fail(new TransientRunError("The turn broke off.", { details }));
  }

  #start(): Child {
    const { promise: opened, resolve, reject } = Promise.withResolvers<void>();
    const child = fork(PROGRAM, [], {
      // The runner doesn't need the modules that were preloaded into the service.
      execArgv: [],
      // A separate process group, so that everything that is left of it can be ended.
      detached: true,
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    let unanswered = 0;
    let cause: number | null = null;
    const killFor = (run: number | null) => {
      cause = run;
      child.kill("SIGKILL");
    };
    const started: Child = { process: child, opened, isOpen: false, killFor };
    // While the runner hangs, no agent could be ended, so it is better to end it.
    const watch = setInterval(() => {
      unanswered += 1;
      if (unanswered > MAX_UNANSWERED) killFor(lastRunOnThread(this.#settings.dataDir));
      else this.#tell({ kind: "ping" });
    }, this.#pingEveryMs).unref();
    child.on("message", (received) => {
      unanswered = 0;
      const { data: message } = FromRunner.safeParse(received);
      if (message === undefined) return this.#giveUp(received);
      if (message.kind === "opened") {
        started.isOpen = true;
        resolve();
      } else if (message.kind === "unopened") {
        reject(new StartError(message.problem));
        // The next turn starts another one.
        child.kill("SIGKILL");
      } else if (message.kind !== "pong") this.#runs.get(message.run)?.take(message);
    });
    const end = (problem: string) => {
      if (this.#child?.process !== child) return;
      clearInterval(watch);
      this.#child = null;
      reject(new StartError(`The runner ended: ${problem}.`));
      if (this.#isClosing) return;
      this.#logger.error({ problem, runs: this.#runs.size }, "the runner ended: its turns run again");
      // Fails the runs before another runner takes over, because they don't belong to that one.
      for (const [run, { fail }] of this.#runs) {
        fail(new RunnerLostError(cause === null ? null : cause === run ? "this-turn" : "another-turn"));
      }
      // Starts another at once, because it ends what this one left.
      if (started.isOpen)
        this.open().catch((error: unknown) => this.#logger.error({ err: error }, "no runner"));
    };
    child.on("error", (error) => end(messageOf(error)));
    // Waits until everything that it sent was read.
    child.on("close", (code, signal) => {
      // Whoever killed it from outside did so whatever was on its thread.
      const isCrash = signal === null || CRASHES.includes(signal);
      if (isCrash) cause ??= lastRunOnThread(this.#settings.dataDir);
      end(signal ?? `exit code ${code}`);
    });
    opened.catch(() => {});
    child.send({ kind: "open", settings: this.#settings }, () => {});
    return started;
  }
}

/** Settles as `work` does, or rejects with the signal's reason as soon as that aborts. */
async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  using _ = addAbortListener(signal, () => reject(signal.reason));
  return await Promise.race([work, promise]);
}
