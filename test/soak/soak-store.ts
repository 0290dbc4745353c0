import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type RedisClientType } from "@redis/client";
import { type AppProcess, quiet } from "../support/app-process.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { liveTasks } from "../support/redis.ts";
import { openTempDir } from "../support/temp-dir.ts";

/** Where the state of a round is kept. */
export type SoakStore = AsyncDisposable & {
  /** STORE_URL */
  url: string;
  /** After the last step everything must have come to its end within this time. */
  quietWithinMs: number;
  /** Resolves when the app has nothing left to do but what waits for a far day, or when it has died. */
  quiet(app: AppProcess): Promise<void>;
};

export const STORES = ["sqlite", "redis"] as const;

export function openSoakStore(name: (typeof STORES)[number]): Promise<SoakStore> {
  return name === "sqlite" ? openSqlite() : openRedis();
}

async function openSqlite(): Promise<SoakStore> {
  const dir = await openTempDir();
  const path = dir.file("state.sqlite");
  return {
    url: `sqlite://${path}`,
    quietWithinMs: 120_000,
    quiet: (app) => quiet(path, app),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

async function openRedis(): Promise<SoakStore> {
  const server = await startRedisServer();
  const client: RedisClientType = createClient({ url: server.url });
  await client.connect();
  return {
    url: server.url,
    // What a killed process ran is taken over when its lease is over.
    quietWithinMs: 300_000,
    async quiet(app) {
      while (!app.hasExited && (await liveTasks(client, "{docs-agent}")).length > 0) await sleep(50);
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}
