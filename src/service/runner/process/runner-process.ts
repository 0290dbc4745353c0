import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../../shared/machine/ports.ts";
import { messageOf, StartError } from "../../../shared/errors.ts";
import { FromRunner, type RunnerSettings, type ToRunner } from "./messages.ts";
import { lastRunOnThread } from "../link/thread-note.ts";
import { programFile } from "../../../shared/machine/this-copy.ts";

type Child = {
  process: ChildProcess;
  opened: Promise<void>;
  /** True once it can run turns. */
  isOpen: boolean;
  drained: PromiseWithResolvers<void>;
  /** Kills it because of a run, if that is known. */
  killFor: (cause: number | null) => void;
};

export type RunnerProcessOptions = {
  settings: () => RunnerSettings;
  logger: Logger;
  /** Called when a runner that could run turns has ended. `cause` is the run to blame, or null. */
  onGone: (cause: number | null) => void;
  pingEveryMs?: number;
};

const PROGRAM = programFile("./main", import.meta.url);
/**
 * How often the runner is asked for a sign of life, and how many of these in a row it may leave
 * unanswered.
 */
const PING_EVERY_MS = 15_000;
const MAX_UNANSWERED = 4;
const CLOSE_WITHIN_MS = 10_000;
/** Signals by which a process ends because of its own code. */
const CRASHES = ["SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGTRAP"];

/**
 * A runner, as the process that starts it sees it. The runner reads what agents write, and ends
 * with the process that started it. If it dies or hangs, another one replaces it.
 */
export class RunnerProcess {
  readonly #options: RunnerProcessOptions;
  #child: Child | null = null;
  #isClosing = false;

  constructor(options: RunnerProcessOptions) {
    this.#options = options;
  }

  /** Starts the runner. Rejects with a {@link StartError} if it can't run turns. */
  async open(): Promise<void> {
    await (this.#child ??= this.#start()).opened;
  }

  /** True while there is a runner that can run turns. */
  get isOpen(): boolean {
    return this.#child?.isOpen === true;
  }

  /** Kills the runner because of a run that it can't stop. */
  killFor(run: number): void {
    this.#child?.killFor(run);
  }

  /** The runner takes no more turns. Resolves when those that it has are over. */
  async drain(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    tell(child.process, { kind: "drain" });
    await child.drained.promise;
  }

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

  #start(): Child {
    const { settings, logger, onGone, pingEveryMs = PING_EVERY_MS } = this.#options;
    const { promise: opened, resolve, reject } = Promise.withResolvers<void>();
    const child = fork(PROGRAM, [], {
      // The runner doesn't need the modules that were preloaded into the service.
      execArgv: [],
      // A separate process group, so that everything that is left of it can be ended.
      detached: true,
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    const { dataDir } = settings();
    let unanswered = 0;
    let cause: number | null = null;
    const killFor = (run: number | null) => {
      cause = run;
      child.kill("SIGKILL");
    };
    const drained = Promise.withResolvers<void>();
    const started: Child = { process: child, opened, isOpen: false, drained, killFor };
    // While the runner hangs, no agent could be ended, so it is better to end it.
    const watch = setInterval(() => {
      unanswered += 1;
      if (unanswered > MAX_UNANSWERED) killFor(lastRunOnThread(dataDir));
      else tell(child, { kind: "ping" });
    }, pingEveryMs).unref();
    child.on("message", (received) => {
      unanswered = 0;
      const { data: message } = FromRunner.safeParse(received);
      if (message === undefined) return logger.error({}, "the runner sent an invalid message");
      if (message.kind === "opened") {
        started.isOpen = true;
        resolve();
      } else if (message.kind === "unopened") {
        reject(new StartError(message.problem));
        // The next turn starts another one.
        child.kill("SIGKILL");
      } else if (message.kind === "drained") drained.resolve();
    });
    const end = (problem: string) => {
      if (this.#child?.process !== child) return;
      clearInterval(watch);
      this.#child = null;
      drained.resolve();
      reject(new StartError(`The runner ended: ${problem}.`));
      if (this.#isClosing) return;
      logger.error({ problem }, "the runner ended: its turns run again");
      // Before another runner takes over, because they don't belong to that one.
      onGone(cause);
      // Starts another at once, because it ends what this one left.
      if (started.isOpen) this.open().catch((error: unknown) => logger.error({ err: error }, "no runner"));
    };
    child.on("error", (error) => end(messageOf(error)));
    // Waits until everything that it sent was read.
    child.on("close", (code, signal) => {
      // Whoever killed it from outside did so whatever was on its thread.
      const isCrash = signal === null || CRASHES.includes(signal);
      if (isCrash) cause ??= lastRunOnThread(dataDir);
      end(signal ?? `exit code ${code}`);
    });
    opened.catch(() => {});
    tell(child, { kind: "open", settings: settings() });
    return started;
  }
}

/** If this can't be sent, the runner has ended, which is noticed elsewhere. */
function tell(child: ChildProcess, message: ToRunner): void {
  if (child.connected) child.send(message, () => {});
}
