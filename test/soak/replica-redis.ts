import { readdir, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type RedisClientType } from "@redis/client";
import { startRedisServer } from "../support/redis-server.ts";
import { liveTasks } from "../support/redis.ts";
import { TcpProxy } from "../../world/faults/tcp-proxy.ts";
import type { TcpProxyMood } from "../../world/faults/tcp-proxy.ts";
import { openTempDir } from "../support/temp-dir.ts";
import type { SoakStore } from "./soak-store.ts";

/** A Redis that keeps its data over restarts, and a connection to it that can be cut. */
export type ReplicaRedis = SoakStore & {
  /** Kills it, and starts it again on the same folder and port after `downMs`. */
  restart(downMs: number): Promise<void>;
  /**
   * Kills it after `lastMs`, cuts off everything that it wrote in that time, and starts it again
   * after `downMs`. This is like a failover to a copy that lacks these writes. Resolves to the
   * number of bytes that were cut off.
   */
  loseTail(lastMs: number, downMs: number): Promise<number>;
  become(mood: TcpProxyMood): Promise<void>;
  /** Begins or ends a trouble of Redis itself. */
  trouble(what: RedisTrouble, isThere: boolean): Promise<void>;
  /**
   * Resolves to the unfinished tasks, including updates of status messages. Those go on for long,
   * at the rate that Slack allows.
   */
  live(): Promise<string[]>;
};

/**
 * A trouble of Redis: it refuses writes like a server that was demoted, it has no memory left, it
 * forgets scripts, it ends connections, or connections end in the middle of an answer, after the
 * command was carried out.
 */
export type RedisTrouble =
  | "read-only"
  | "full"
  | "scripts flushed"
  | "connections killed"
  | "answers cut in the middle";

const DURABLE = { appendonly: "yes", appendfsync: "always" };

/** Starts such a Redis. */
export async function openReplicaRedis(): Promise<ReplicaRedis> {
  const resources = new AsyncDisposableStack();
  const dir = resources.use(await openTempDir());
  let server = await startRedisServer({ ...DURABLE, dir: dir.path });
  resources.defer(() => server[Symbol.asyncDispose]());
  const { port } = new URL(server.url);
  const proxy = resources.use(await TcpProxy.start(Number(port)));
  const client: RedisClientType = createClient({ url: server.url });
  client.on("error", () => {});
  await client.connect();
  resources.defer(() => client.destroy());
  const live = () => liveTasks(client, "{docs-agent}");
  return {
    url: `redis://127.0.0.1:${proxy.port}`,
    quietWithinMs: 600_000,
    live,
    async quiet(app) {
      while (!app.hasExited && (await live()).some((id) => !isUpdate(id))) await sleep(250);
    },
    async restart(downMs) {
      await server[Symbol.asyncDispose]();
      await sleep(downMs);
      server = await startRedisServer({ ...DURABLE, dir: dir.path, port });
    },
    async loseTail(lastMs, downMs) {
      const before = await sizesIn(dir.path);
      await sleep(lastMs);
      await server[Symbol.asyncDispose]();
      const after = await sizesIn(dir.path);
      let cut = 0;
      for (const [path, size] of before) {
        cut += (after.get(path) ?? size) - size;
        await truncate(path, size);
      }
      await sleep(downMs);
      server = await startRedisServer({ ...DURABLE, dir: dir.path, port });
      return cut;
    },
    become: (mood) => proxy.become(mood),
    async trouble(what, isThere) {
      switch (what) {
        case "read-only":
          // There is no server at that address to replicate, so it keeps its data.
          await client.sendCommand(["REPLICAOF", ...(isThere ? ["127.0.0.1", "1"] : ["NO", "ONE"])]);
          return;
        case "full":
          await client.configSet("maxmemory", isThere ? "1" : "0");
          return;
        case "scripts flushed":
          if (isThere) await client.scriptFlush();
          return;
        case "answers cut in the middle":
          if (isThere) proxy.cutNextAnswers();
          return;
        case "connections killed":
          if (isThere) await client.sendCommand(["CLIENT", "KILL", "TYPE", "normal"]);
          if (isThere) await client.sendCommand(["CLIENT", "KILL", "TYPE", "pubsub"]);
      }
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Resolves to the sizes of the files in a folder, by path. */
async function sizesIn(folder: string): Promise<Map<string, number>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  return new Map(await Promise.all(paths.map(async (path) => [path, (await stat(path)).size] as const)));
}

/**
 * True if a task updates a status message, a question or a reaction. The task that asks the
 * question ends with its turn.
 */
export function isUpdate(taskId: string): boolean {
  return taskId.startsWith("react:") || turnOfUpdate(taskId) !== null;
}

/** Returns the turn whose status message or question a task updates, or null for other tasks. */
export function turnOfUpdate(taskId: string): string | null {
  return /^refresh:(.+)$/.exec(taskId)?.[1] ?? /^question:(.+):\d+$/.exec(taskId)?.[1] ?? null;
}
