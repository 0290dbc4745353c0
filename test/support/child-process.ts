import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** Halves what a start of a program costs, and the tests start programs often. */
export const COMPILE_CACHE = join(tmpdir(), "docs-agent-compile-cache");

export type Child = AsyncDisposable & {
  /** What it wrote to its standard output so far, whole lines only. */
  readonly lines: string[];
  /** Resolves once it has written that many lines. Rejects when it ends before. */
  wrote(lines: number): Promise<void>;
  /** SIGKILL. Resolves when it is gone and all it wrote has been read. */
  kill(): Promise<void>;
};

/** Runs a TypeScript file in a Node.js process of its own. */
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
