import { LOOK_SOON_MS } from "./app-process.ts";
import { randomUUID } from "node:crypto";
import { createClient } from "@redis/client";
import type { RedisClientType } from "@redis/client";

/** Makes a STORE_URL of its own on the Redis at `base`, and the prefix of its keys. */
export function redisPrefix(base: string): { url: string; prefix: string } {
  const prefix = `test-${randomUUID()}`;
  return { url: `${base}?prefix=${prefix}`, prefix: `{${prefix}}` };
}

/**
 * Opens a client for the test. One per file is best: whenever the settings differ from the last
 * client's, @redis/client builds its class anew, which takes 15 ms.
 */
export async function openRedisClient(url: string): Promise<RedisClientType> {
  const client: RedisClientType = createClient({ url });
  client.on("error", () => {});
  await client.connect();
  // If the client isn't closed, it doesn't keep the process alive.
  client.unref();
  return client;
}

/** Resolves to everything under keys with this prefix as text. */
export async function textOfKeys(client: RedisClientType, prefix: string): Promise<string> {
  const found: unknown[] = [];
  for await (const keys of client.scanIterator({ MATCH: `${prefix}*`, COUNT: 1000 })) {
    for (const key of keys) found.push([key, await valueOf(client, key)]);
  }
  return JSON.stringify(found);
}

async function valueOf(client: RedisClientType, key: string): Promise<unknown> {
  switch (await client.type(key)) {
    case "hash":
      return client.hGetAll(key);
    case "list":
      return client.lRange(key, 0, -1);
    case "set":
      return client.sMembers(key);
    case "zset":
      return client.zRange(key, 0, -1);
    case "stream":
      return client.xRange(key, "-", "+");
    default:
      return client.get(key);
  }
}

/**
 * Fills Redis until it removes a key of the test's own, which goes first. Then Redis has room again
 * and removes nothing more.
 */
export async function evictSomething(admin: RedisClientType): Promise<void> {
  await admin.configSet("maxmemory-policy", "volatile-ttl");
  for (let n = 0; n < 50; n += 1) await admin.set(`filler ${n}`, "x".repeat(10_000), { EX: 20 });
  const used = Number(/used_memory:(\d+)/.exec(await admin.info("memory"))?.[1]);
  await admin.configSet("maxmemory", String(used - 100_000));
  while (!/evicted_keys:[1-9]/.test(await admin.info("stats"))) await admin.ping();
  await admin.configSet("maxmemory", "0");
  await admin.configSet("maxmemory-policy", "noeviction");
}

/** Makes the tasks of a dead process due, as they are after its lease. Key: prefix. */
const END_LEASES = `
  redis.call('DEL', KEYS[1] .. ':alone')
  for _, pool in ipairs(redis.call('ZRANGE', KEYS[1] .. ':pools', 0, -1)) do
    local key = KEYS[1] .. ':due:' .. pool
    for _, id in ipairs(redis.call('ZRANGE', key, 0, -1)) do
      if redis.call('HEXISTS', KEYS[1] .. ':task:' .. id, 'claim') == 1 then
        redis.call('ZADD', key, 0, id)
        redis.call('ZADD', KEYS[1] .. ':pools', 0, pool)
      end
    end
  end
`;

/** Makes the tasks of dead processes due, as they are after their leases. */
export async function leasesAreOver(admin: RedisClientType, prefix: string): Promise<void> {
  await admin.eval(END_LEASES, { keys: [prefix] });
}

/**
 * Returns the ids of all tasks that aren't over. It leaves out checks of jobs that are followed
 * only for their pull request, unless they are due by the given time. Key: prefix. Argument: the
 * time.
 */
const LIVE_TASKS = `
  local ids = {}
  for _, pool in ipairs(redis.call('ZRANGE', KEYS[1] .. ':pools', 0, -1)) do
    local all = redis.call('ZRANGE', KEYS[1] .. ':due:' .. pool, 0, -1, 'WITHSCORES')
    for at = 1, #all, 2 do
      local payload = redis.call('HGET', KEYS[1] .. ':task:' .. all[at], 'payload') or ''
      local isLook = string.find(payload, '"isFollowing":true', 1, true)
      if not isLook or tonumber(all[at + 1]) < tonumber(ARGV[1]) then ids[#ids + 1] = all[at] end
    end
  end
  return ids
`;

/**
 * Resolves to the ids of all tasks that aren't over, without feeds and without checks that aren't
 * due soon.
 */
export async function liveTasks(admin: RedisClientType, prefix: string): Promise<string[]> {
  const soon = String(Date.now() + LOOK_SOON_MS);
  const ids = (await admin.eval(LIVE_TASKS, { keys: [prefix], arguments: [soon] })) as string[];
  // A feed never ends.
  return ids.filter((id) => !id.startsWith("feed:"));
}
