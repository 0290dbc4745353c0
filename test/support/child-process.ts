import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** A compile cache halves the cost of starting a program, which the tests do often. */
export const COMPILE_CACHE = join(tmpdir(), "docs-agent-compile-cache");

/** A process that {@link spawnNode} started. */
export type Child = AsyncDisposable & {
  /** The whole lines that it has written to its standard output. */
  readonly lines: string[];
  /** Resolves once it has written that many lines. Rejects if it ends before. */
  wrote(lines: number): Promise<void>;
  /** Sends SIGKILL. Resolves once it has ended and all its output has been read. */
  kill(): Promise<void>;
};

/** Runs a TypeScript file with Node.js, in a process of its own. */
export function spawnNode(file: string, ...args: string[]): Child {
  const child: ChildProcess = spawn(process.execPath, [file, ...args], {
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { stdout } = child;
  if (!stdout) throw new Error("The child has no standard output");
  const lines: string[] = [];
  const input = createInterface({ input: stdout });
  const closed = once(input, "close");
  const exited = once(child, "exit");
  let look: () => void = () => {};
  input.on("line", (line) => {
    lines.push(line);
    look();
  });

  async function kill(): Promise<void> {
    child.kill("SIGKILL");
    await Promise.all([exited, closed]);
  }

  return {
    lines,
    wrote: (count) =>
      new Promise((resolve, reject) => {
        look = () => {
          if (lines.length >= count) resolve();
        };
        look();
        void closed.then(() => reject(new Error(`The child ended after ${lines.length} lines`)));
      }),
    kill,
    [Symbol.asyncDispose]: kill,
  };
}
