import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { z } from "zod";

const PROBE = new URL("./probe.ts", import.meta.url).href;
const READY_WITHIN_MS = 20_000;
const ANSWER_WITHIN_MS = 5000;
const MB = 2 ** 20;

const ReadyLine = z.object({ msg: z.string().endsWith("ready") });
const MemoryAnswer = z.object({ rssBytes: z.number(), liveHeapBytes: z.number() });

const running = new Set<ChildProcess>();

/** Ends every program that still runs, at once. For the exit of this process. */
export function killPrograms(): void {
  for (const child of running) child.kill("SIGKILL");
}

/** In MB of 2^20 bytes. `liveHeapMb`: what is left of the JavaScript heap when garbage is collected. */
export type Memory = { rssMb: number; liveHeapMb: number };

export type ProgramOptions = {
  file: URL;
  args?: string[];
  /** All it gets: nothing of this process's own environment. */
  env?: Record<string, string>;
  /** Its working directory, away from a `.env` of whoever runs the bench. */
  dir: string;
  /** Without it, the program cannot be asked for its memory. @default true */
  isProbed?: boolean;
};

/** A Node.js program in a process of its own, from the line that says it is ready until it is disposed of (SIGKILL). */
export class Program implements AsyncDisposable {
  /** The line that said so, parsed as JSON. */
  readonly ready: unknown;
  /** From the spawn to the line, milliseconds. */
  readonly readyAfterMs: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, ready: unknown, readyAfterMs: number) {
    this.#child = child;
    this.ready = ready;
    this.readyAfterMs = readyAfterMs;
  }

  /** Resolves when the program has written a JSON line whose `msg` ends in "ready". Rejects when it ends before. */
  static async start({ file, args = [], env = {}, dir, isProbed = true }: ProgramOptions): Promise<Program> {
    const path = fileURLToPath(file);
    const startedAt = performance.now();
    const child = spawn(process.execPath, [...(isProbed ? ["--import", PROBE] : []), path, ...args], {
      cwd: dir,
      env,
      stdio: isProbed ? ["ignore", "pipe", "pipe", "ipc"] : ["ignore", "pipe", "pipe"],
    });
    running.add(child);
    child.once("exit", () => running.delete(child));
    let stderr = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    const { stdout } = child;
    if (stdout === null) throw new Error("The program has no standard output");

    const ready = Promise.withResolvers<unknown>();
    const lines = createInterface({ input: stdout });
    lines.on("line", (line) => {
      const said = jsonOf(line);
      if (ReadyLine.safeParse(said).success) ready.resolve(said);
    });
    child.once("exit", () => ready.reject(new Error(`${path} ended before it was ready: ${stderr}`)));
    const timer = setTimeout(
      () => ready.reject(new Error(`${path} was not ready within ${READY_WITHIN_MS} ms`)),
      READY_WITHIN_MS,
    );
    const said = await ready.promise.finally(() => clearTimeout(timer));
    const readyAfterMs = performance.now() - startedAt;
    lines.close();
    // What is not read would fill the pipe, and then the program would wait for it.
    stdout.resume();
    return new Program(child, said, readyAfterMs);
  }

  /** Its memory now. Looking collects its garbage. */
  async memory(): Promise<Memory> {
    const answer = once(this.#child, "message", { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    this.#child.send("memory");
    const [memory] = z
      .tuple([MemoryAnswer])
      .rest(z.unknown())
      .parse(await answer);
    return { rssMb: memory.rssBytes / MB, liveHeapMb: memory.liveHeapBytes / MB };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!running.has(this.#child)) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
