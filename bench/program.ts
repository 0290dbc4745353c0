import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { z } from "zod";
import { jsonOf } from "../src/shared/text/text.ts";
import { BenchError } from "./scenario.ts";

const READY_WITHIN_MS = 30_000;
const ANSWER_WITHIN_MS = 10_000;
const STOP_WITHIN_MS = 12_000;
const STDERR_CHARS = 2000;

const ReadyLine = z.object({ msg: z.string().endsWith("ready") });

const running = new Set<ChildProcess>();

/** Kills every program that still runs. Called when this process exits. */
export function killPrograms(): void {
  for (const child of running) child.kill("SIGKILL");
}

/** Options of {@link Program.start}. */
export type ProgramOptions = {
  /** Node.js's arguments: flags, the path of the program, and the program's arguments. */
  nodeArgs: string[];
  /** The program's whole environment. It gets nothing of this process's own. */
  env?: Record<string, string>;
  /** Its working directory. It is away from any `.env` of the person who runs the bench. */
  dir: string;
  /** A command to put before Node.js, which watches the program. It must not become its parent. */
  wrapper?: string[];
  /** True if the bench talks to it: see {@link Program.ask}. @default false */
  hasChannel?: boolean;
};

/**
 * A Node.js program in a process of its own, from the line that says it is ready until it is
 * disposed of (SIGKILL).
 */
export class Program implements AsyncDisposable {
  /** The line that said "ready", parsed as JSON. */
  readonly ready: unknown;
  /** The time from the spawn to that line, in milliseconds. */
  readonly readyAfterMs: number;
  readonly pid: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, pid: number, ready: unknown, readyAfterMs: number) {
    this.#child = child;
    this.pid = pid;
    this.ready = ready;
    this.readyAfterMs = readyAfterMs;
  }

  /**
   * Resolves when the program has written a JSON line whose `msg` ends in "ready". Rejects if the
   * program ends before.
   */
  static async start(options: ProgramOptions): Promise<Program> {
    const { nodeArgs, env = {}, dir, wrapper = [], hasChannel = false } = options;
    const [command = process.execPath, ...args] = [...wrapper, process.execPath, ...nodeArgs];
    const startedAt = performance.now();
    const child = spawn(command, args, {
      cwd: dir,
      env: { TMPDIR: dir, ...env },
      stdio: hasChannel ? ["ignore", "pipe", "pipe", "ipc"] : ["ignore", "pipe", "pipe"],
    });
    const { pid, stdout } = child;
    if (pid === undefined || stdout === null) throw new BenchError(`${command} can't be started`);
    running.add(child);
    child.once("exit", () => running.delete(child));
    let stderr = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-STDERR_CHARS);
    });

    const ready = Promise.withResolvers<unknown>();
    const lines = createInterface({ input: stdout });
    lines.on("line", (line) => {
      const said = jsonOf(line);
      if (ReadyLine.safeParse(said).success) ready.resolve(said);
    });
    child.once("exit", () =>
      ready.reject(new BenchError(`${nodeArgs.join(" ")} ended before it was ready: ${stderr}`)),
    );
    const timer = setTimeout(
      () => ready.reject(new BenchError(`${nodeArgs.join(" ")} wasn't ready within ${READY_WITHIN_MS} ms`)),
      READY_WITHIN_MS,
    );
    const said = await ready.promise.finally(() => clearTimeout(timer));
    const readyAfterMs = performance.now() - startedAt;
    lines.close();
    // Unread output would fill the pipe, and then the program would wait.
    stdout.resume();
    return new Program(child, pid, said, readyAfterMs);
  }

  /** Sends a message. Resolves to the next message that comes back. Allows one at a time. */
  async ask(question: Record<string, unknown>): Promise<unknown> {
    const answer = once(this.#child, "message", { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    this.#child.send(question);
    const [said] = z
      .tuple([z.unknown()])
      .rest(z.unknown())
      .parse(await answer);
    return said;
  }

  /** Stops the program as an operator does, so that it closes its files. */
  async stop(): Promise<void> {
    const exited = once(this.#child, "exit", { signal: AbortSignal.timeout(STOP_WITHIN_MS) });
    this.#child.kill("SIGTERM");
    await exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!running.has(this.#child)) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }
}
