import { randomUUID } from "node:crypto";
import { createClient } from "@redis/client";

/** The Redis that tests use; every test keeps to a prefix of its own. */
export const REDIS_URL = process.env["TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379";

/** A STORE_URL of one's own, emptied at the end. */
export function openRedisPrefix(base: string = REDIS_URL): AsyncDisposable & { url: string; prefix: string } {
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
