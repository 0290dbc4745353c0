import { writeFile } from "node:fs/promises";
import { vi } from "vitest";
import { openRedisClient } from "./redis.ts";
import { freePort, startProcess } from "./redis-server.ts";
import { openTempDir } from "./temp-dir.ts";

/** Three Sentinels that watch one primary. */
export type Sentinels = AsyncDisposable & {
  /** Their addresses, with commas between them. */
  hosts: string;
  name: string;
  /** The port of the primary that the first of them knows. */
  primaryPort(): Promise<number>;
  /** Resolves once each of them knows that many standbys. */
  untilKnown(standbys: number): Promise<void>;
};

/** Starts them. `password` is that of the servers, and of the Sentinels themselves. */
export async function startSentinels(primaryPort: number, password: string): Promise<Sentinels> {
  const name = "docs";
  await using starting = new AsyncDisposableStack();
  const dir = starting.use(await openTempDir());
  const ports: number[] = [];
  for (let n = 0; n < 3; n += 1) {
    const port = await freePort();
    const lines = [
      `port ${port}`,
      "bind 127.0.0.1",
      `dir ${dir.path}`,
      `requirepass ${password}`,
      `sentinel sentinel-pass ${password}`,
      `sentinel monitor ${name} 127.0.0.1 ${primaryPort} 2`,
      `sentinel auth-pass ${name} ${password}`,
      `sentinel down-after-milliseconds ${name} 5000`,
      `sentinel failover-timeout ${name} 10000`,
    ];
    const path = dir.file(`sentinel-${port}.conf`);
    await writeFile(path, `${lines.join("\n")}\n`);
    const sentinel = await startProcess([path, "--sentinel"], "+monitor");
    starting.defer(() => sentinel.kill());
    ports.push(port);
  }
  const clients = await Promise.all(
    ports.map((port) => openRedisClient(`redis://:${password}@127.0.0.1:${port}`)),
  );
  for (const client of clients) starting.defer(() => client.destroy());
  const ask = async (command: string) =>
    (await clients[0]?.sendCommand(["SENTINEL", command, name])) as string[];
  const resources = starting.move();
  return {
    hosts: ports.map((port) => `127.0.0.1:${port}`).join(),
    name,
    primaryPort: async () => Number((await ask("GET-MASTER-ADDR-BY-NAME"))[1]),
    untilKnown: async (standbys) => {
      await vi.waitFor(
        async () => {
          for (const client of clients) {
            const known = (await client.sendCommand(["SENTINEL", "REPLICAS", name])) as unknown[];
            const others = (await client.sendCommand(["SENTINEL", "SENTINELS", name])) as unknown[];
            if (known.length < standbys || others.length < 2) throw new Error("not yet");
          }
        },
        { timeout: 60_000, interval: 100 },
      );
    },
    [Symbol.asyncDispose]: () => resources[Symbol.asyncDispose](),
  };
}
