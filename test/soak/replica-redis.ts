import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@redis/client";
import { startRedisServer } from "../support/redis-server.ts";
import { TcpProxy } from "../support/tcp-proxy.ts";
import type { TcpProxyMood } from "../support/tcp-proxy.ts";
import { openTempDir } from "../support/temp-dir.ts";
import type { SoakStore } from "./soak-store.ts";

/** A Redis that keeps what it was given, and a way to it that can be cut. */
export type ReplicaRedis = SoakStore & {
  /** Kills it, and starts it again on the same folder and port after `downMs`. */
  restart(downMs: number): Promise<void>;
  become(mood: TcpProxyMood): Promise<void>;
  /** What is still to be done, updates of status messages included: they go on for long, at Slack's rate. */
  live(): Promise<string[]>;
};

const DURABLE = { appendonly: "yes", appendfsync: "always" };

export async function openReplicaRedis(): Promise<ReplicaRedis> {
  const resources = new AsyncDisposableStack();
  const dir = resources.use(await openTempDir());
  let server = await startRedisServer({ ...DURABLE, dir: dir.path });
  resources.defer(() => server[Symbol.asyncDispose]());
  const { port } = new URL(server.url);
  const proxy = resources.use(await TcpProxy.start(Number(port)));
  const client = createClient({ url: server.url });
  client.on("error", () => {});
  await client.connect();
  resources.defer(() => client.destroy());
  const live = () => client.zRange("{docs-agent}:live", 0, -1);
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
    become: (mood) => proxy.become(mood),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Whether a task brings a status message, a question or a reaction up to date. One that asks the question ends with its turn. */
export function isUpdate(taskId: string): boolean {
  return taskId.startsWith("react:") || turnOfUpdate(taskId) !== null;
}

/** The turn whose status message or question a task brings up to date; null: it does something else. */
export function turnOfUpdate(taskId: string): string | null {
  return /^refresh:(.+)$/.exec(taskId)?.[1] ?? /^question:(.+):\d+$/.exec(taskId)?.[1] ?? null;
}
