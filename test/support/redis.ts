import { randomUUID } from "node:crypto";
import { createClient } from "@redis/client";

/** A STORE_URL of one's own on the Redis at `base`, emptied at the end. */
export function openRedisPrefix(base: string): AsyncDisposable & { url: string; prefix: string } {
  const prefix = `test-${randomUUID()}`;
  return {
    url: `${base}?prefix=${prefix}`,
    prefix: `{${prefix}}`,
    [Symbol.asyncDispose]: async () => {
      const client = createClient({ url: base });
      await client.connect();
      for await (const keys of client.scanIterator({ MATCH: `{${prefix}}*`, COUNT: 1000 })) {
        if (keys.length > 0) await client.unlink(keys);
      }
      await client.close();
    },
  };
}
