import type { Logger } from "../../machine/ports.ts";
import { type Risks, checkRedis, findRisks } from "./open-redis-store.ts";
import { RedisConnection } from "./redis-connection.ts";
import { readInfo } from "./redis-memory.ts";

const PROBE_MS = 1000;

/**
 * Rejects as the app's start would for this Redis. Leaves nothing behind. Resolves to true if
 * Docs Agent is connected to it, or if Redis doesn't say who is.
 */
export async function tryRedis(
  url: string,
  deps: { logger: Logger; kinds: readonly string[] },
): Promise<boolean> {
  const redis = await RedisConnection.open(url, deps.logger);
  await checkRedis(redis, deps.logger, { purpose: "check", kinds: deps.kinds });
  await using _ = redis;
  const { prefix } = redis;
  await redis.ask((client) => client.set(`${prefix}:probe`, "check", { PX: PROBE_MS }));
  try {
    const [ownId, all] = await redis.ask((client) => Promise.all([client.clientId(), client.clientList()]));
    return all.some(({ id, name }) => id !== ownId && name === prefix);
  } catch {
    return true;
  }
}

/** How a Redis keeps what is in it. */
export type RedisTraits = {
  /** What it removes when its memory is full. */
  policy: string;
  isStandby: boolean;
  /** The standbys that are connected to it. */
  standbys: number;
  /** How many of them have to confirm what is written. */
  wanted: number;
  risks: Risks;
};

/** Asks a Redis how it keeps what is in it. Rejects with a `StoreUnavailableError`. */
export async function readRedisTraits(url: string, logger: Logger): Promise<RedisTraits> {
  await using redis = await RedisConnection.open(url, logger);
  const info = await readInfo(redis);
  return {
    policy: info.get("maxmemory_policy") ?? "unknown",
    isStandby: info.get("role") === "slave",
    standbys: Number(info.get("connected_slaves") ?? 0),
    wanted: redis.standbys,
    risks: await findRisks(redis, info),
  };
}
