import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { DocsAgentError } from "../src/shared/errors.ts";
import { programFile } from "../src/shared/machine/this-copy.ts";

/** A program of the playground didn't start. */
export class ProcessNotReadyError extends DocsAgentError {
  readonly code = "process_not_ready";
}

export type ManagedProcessOptions = {
  /** The name for messages, such as "the Slack app". */
  name: string;
  /** A program file and its arguments, which this Node.js runs. */
  args: string[];
  /** The whole environment. */
  env: Record<string, string>;
  /** The file to which its output is added. */
  logFile: string;
  /** Returns true for the line of its output that says that it is ready. */
  isReadyLine: (line: string) => boolean;
};

/** A program in a process of its own that can be killed and started again. */
export interface ManagedProcess extends AsyncDisposable {
  readonly isRunning: boolean;
  /**
   * Starts the program. Resolves to the line that says that it is ready. Rejects with a
   * {@link ProcessNotReadyError} if it ends before.
   */
  start(): Promise<string>;
  /** Sends SIGKILL, like a crash or a power cut. Resolves when the process has ended. */
  kill(): Promise<void>;
}

const EXIT_WITH_PARENT = pathToFileURL(programFile("./exit-with-parent", import.meta.url)).href;
/** The time for a graceful stop. It is longer than the programs promise. */
const STOP_MS = 12_000;

export function createManagedProcess(options: ManagedProcessOptions): ManagedProcess {
  let child: ChildProcess | null = null;

  function isRunning(): boolean {
    return child !== null && child.exitCode === null && child.signalCode === null;
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const ending = child;
    if (ending === null || !isRunning()) return;
    const gone = once(ending, "exit");
    ending.kill(signal);
    await Promise.race([gone, wait(STOP_MS, undefined, { ref: false })]);
    if (isRunning()) ending.kill("SIGKILL");
  }

  return {
    get isRunning() {
      return isRunning();
    },
    async start() {
      await end("SIGKILL");
      child = spawn(process.execPath, ["--import", EXIT_WITH_PARENT, ...options.args], {
        env: options.env,
        stdio: ["pipe", "pipe", "pipe"],
      });
      return ready(child, options);
    },
    kill: () => end("SIGKILL"),
    [Symbol.asyncDispose]: () => end("SIGTERM"),
  };
}

async function ready(child: ChildProcess, options: ManagedProcessOptions): Promise<string> {
  const { name, logFile, isReadyLine } = options;
  const log = createWriteStream(logFile, { flags: "a" });
  const last: string[] = [];
  const readyLine = new Promise<string | null>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on("line", (line) => {
        log.write(`${line}\n`);
        last.push(line);
        if (last.length > 20) last.shift();
        if (isReadyLine(line)) resolve(line);
      });
    }
    child.once("error", () => resolve(null));
    child.once("close", () => {
      log.end();
      resolve(null);
    });
  });
  const line = await readyLine;
  if (line !== null) return line;
  throw new ProcessNotReadyError(
    `${name} ended before it was ready. Its last lines (all are in ${logFile}):\n${last.join("\n")}`,
  );
}
