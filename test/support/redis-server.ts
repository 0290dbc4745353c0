import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { openTempDir } from "./temp-dir.ts";

/** A Redis of the test's own, in memory, for faults that others must not feel. */
export type RedisServer = AsyncDisposable & { url: string; pid: number };

/** `settings`: as on Redis's command line, without the dashes. */
export async function startRedisServer(settings: Record<string, string> = {}): Promise<RedisServer> {
  const dir = await openTempDir();
  const port = settings["port"] ?? String(await freePort());
  const all = { bind: "127.0.0.1", save: "", appendonly: "no", dir: dir.path, ...settings, port };
  const child = spawn(
    "redis-server",
    Object.entries(all).flatMap(([name, value]) => [
      `--${name}`,
      ...(value === "" ? [""] : value.split(" ")),
    ]),
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const exited = once(child, "exit");
  for await (const line of createInterface(child.stdout)) {
    if (line.includes("Ready to accept connections")) break;
  }
  child.stdout.resume();
  return {
    url: `redis://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await exited;
      await dir[Symbol.asyncDispose]();
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
