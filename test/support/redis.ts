import { randomUUID } from "node:crypto";
import { createClient } from "@redis/client";
import type { RedisClientType } from "@redis/client";

/** A STORE_URL of one's own on the Redis at `base`, and what its keys begin with. */
export function redisPrefix(base: string): { url: string; prefix: string } {
  const prefix = `test-${randomUUID()}`;
  return { url: `${base}?prefix=${prefix}`, prefix: `{${prefix}}` };
}

/**
 * A client of the test's own. Open one for a file: each change between clients with different settings has @redis/client build the class of its clients
 * anew, which takes 15 ms.
 */
export async function openRedisClient(url: string): Promise<RedisClientType> {
  const client: RedisClientType = createClient({ url });
  client.on("error", () => {});
  await client.connect();
  // Whoever ends without a word about it, ends.
  client.unref();
  return client;
}

/** Everything that is kept under keys that begin so, as text. */
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
 * What a process that is dead held is free, as it is after its lease: BullMQ has looked twice for jobs without a lock, which takes 40 s, and finds at once what
 * is left by then.
 */
export async function leasesAreOver(admin: RedisClientType, prefix: string): Promise<void> {
  await admin.del(`${prefix}:alone`);
  for await (const keys of admin.scanIterator({ MATCH: `${prefix}:q:*`, COUNT: 1000 })) {
    for (const key of keys) {
      if (/:(?:lock|stalled-check)$/.test(key)) await admin.unlink(key);
      if (!key.endsWith(":active")) continue;
      const jobs = await admin.lRange(key, 0, -1);
      if (jobs.length > 0) await admin.sAdd(key.replace(/active$/, "stalled"), jobs);
    }
  }
}
