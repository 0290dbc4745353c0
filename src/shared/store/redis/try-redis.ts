import type { Logger } from "../../machine/ports.ts";
import { checkRedis } from "./open-redis-store.ts";
import { RedisConnection } from "./redis-connection.ts";

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
