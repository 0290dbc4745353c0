import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type RedisClientType } from "@redis/client";
import { type AppProcess, quiet } from "../support/app-process.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { liveTasks } from "../support/redis.ts";
import { openTempDir } from "../support/temp-dir.ts";

/** The store of a round. */
export type SoakStore = AsyncDisposable & {
  /** The value of STORE_URL. */
  url: string;
  /** The time within which everything must end after the last step. */
  quietWithinMs: number;
  /**
   * Resolves when the app has nothing left to do except tasks of the far future, or when it has
   * died.
   */
  quiet(app: AppProcess): Promise<void>;
};

/** The kinds of stores. */
export const STORES = ["sqlite", "redis"] as const;

/** Opens an empty store of this kind. */
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
    // The tasks of a killed process are taken over after its lease.
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
