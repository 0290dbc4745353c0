import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { vi } from "vitest";
import { need } from "./need.ts";
import { freePort } from "./redis-server.ts";

const CONFIG = fileURLToPath(new URL("../../deploy/haproxy.cfg", import.meta.url));

/**
 * Starts the real proxy with the configuration that ships. `replicas` holds the host and port of
 * each.
 */
export async function startProxy(replicas: readonly string[]): Promise<AsyncDisposable & { url: string }> {
  need("haproxy");
  const address = `127.0.0.1:${await freePort()}`;
  const named = replicas.map((replica, n) => [`REPLICA_${n + 1}`, replica]);
  const child = spawn("haproxy", ["-db", "-f", CONFIG], {
    env: { PATH: process.env["PATH"], PROXY_BIND: address, ...Object.fromEntries(named) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  let log = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (log += text));
  const url = `http://${address}`;
  await vi.waitFor(
    async () => {
      if (child.exitCode !== null) throw new Error(log);
      await fetch(url);
    },
    { timeout: 10_000, interval: 20 },
  );
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
