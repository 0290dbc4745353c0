import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { need } from "./need.ts";
import { openTempDir } from "./temp-dir.ts";

/** A Redis of one test, in memory, for faults that other tests must not notice. */
export type RedisServer = AsyncDisposable & {
  url: string;
  /** The id of the process that runs now. */
  readonly pid: number;
  /** Sends SIGKILL, and starts another process with the same address and files. */
  restart(): Promise<void>;
};

/** Starts it. `settings` are those of Redis's command line, without the dashes. */
export async function startRedisServer(settings: Record<string, string> = {}): Promise<RedisServer> {
  need("redis-server");
  const dir = await openTempDir();
  const argsOf = (port: string) => {
    const all = { bind: "127.0.0.1", save: "", appendonly: "no", dir: dir.path, ...settings, port };
    return Object.entries(all).flatMap(([name, value]) => [
      `--${name}`,
      ...(value === "" ? [""] : value.split(" ")),
    ]);
  };
  // Another test may have taken the port after it was found free.
  const { port, server: first } = await retried(settings["port"] === undefined ? 5 : 1, async () => {
    const port = settings["port"] ?? String(await freePort());
    return { port, server: await startProcess(argsOf(port)) };
  });
  const args = argsOf(port);
  let server = first;
  return {
    url: `redis://127.0.0.1:${port}`,
    get pid() {
      return server.pid;
    },
    restart: async () => {
      await server.kill();
      server = await startProcess(args);
    },
    [Symbol.asyncDispose]: async () => {
      await server.kill();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** Starts `redis-server`. Resolves once it has printed `sign`. */
export async function startProcess(
  args: readonly string[],
  sign = "Ready to accept connections",
): Promise<{ pid: number; kill: () => Promise<void> }> {
  const child = spawn("redis-server", args, { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  let isReady = false;
  let said = "";
  for await (const line of createInterface(child.stdout)) {
    said = line;
    isReady = line.includes(sign);
    if (isReady) break;
  }
  child.stdout.resume();
  // Signals to process 0 would reach the tests themselves.
  if (child.pid === undefined || !isReady) throw new Error(`redis-server can't be started: ${said}`);
  return {
    pid: child.pid,
    kill: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

async function retried<T>(attempts: number, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    if (attempts === 1) throw error;
    return await retried(attempts - 1, start);
  }
}

/** Finds a port that is free at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
