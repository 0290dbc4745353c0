import type { z } from "zod";
import type { Clock } from "../../core/ports/clock.ts";
import type { Logger } from "../../core/ports/logger.ts";
import type { RecordStore } from "../../core/ports/records.ts";
import { type Records, type Store, openRecords } from "../record-store.ts";
import { StoreHalfLoadedError } from "../store-errors.ts";
import { checkRedis } from "./check-redis.ts";
import { RedisConnection } from "./redis-connection.ts";
import { RedisSlots } from "./redis-slots.ts";
import { RedisSeries, RedisStorage } from "./redis-storage.ts";

type OpenRedisStoreOptions = {
  /** `redis://…` or `rediss://…`: see `readRedisUrl`. */
  url: string;
  clock: Clock;
  logger: Logger;
  /** How long a record that can't be parsed is kept for the operator, milliseconds. */
  keepSetAsideMs: number;
  /** For tests: Redis's time, epoch milliseconds. */
  serverNow?: () => number;
};

/** A store on Redis, which any number of replicas share. */
export interface RedisStore extends Store {
  readonly redis: RedisConnection;
  readonly series: RedisSeries;
  readonly kinds: Records<RedisStorage>["kinds"];
  /** Where records go that can't be parsed, under `<kind>:<id>`. */
  readonly setAside: RedisStorage;
  readonly keepSetAsideMs: number;
  /** For tests: Redis's time, epoch milliseconds. */
  readonly serverNow?: (() => number) | undefined;
  /** Records under a custom name of lower-case letters, digits and hyphens. */
  recordsNamed<T>(name: string, schema: z.ZodType<T>): RecordStore<T>;
}

/**
 * Opens the store at `url`. Rejects with a `StoreUnavailableError`, also if Redis may evict its
 * data.
 */
export async function openRedisStore(options: OpenRedisStoreOptions): Promise<RedisStore> {
  const { url, clock, logger, keepSetAsideMs, serverNow } = options;
  const redis = await RedisConnection.open(url, logger);
  const { risk } = await checkUsable(redis).catch(async (thrown: unknown) => {
    await redis.close();
    throw thrown;
  });
  if (risk !== null) logger.warn({ store: redis.shown }, `store: ${risk}`);
  const storageOf = (namespace: string) => new RedisStorage({ redis, namespace, clock });
  const records = openRecords(storageOf, { clock, logger, keepSetAsideMs });

  const close = () => redis.close();
  return {
    ...records,
    records: records.kinds,
    redis,
    keepSetAsideMs,
    serverNow,
    series: new RedisSeries(redis),
    slots: new RedisSlots({ redis, clock, serverNow }),
    risk,
    async check() {
      await redis.ask((client) => client.set(`${redis.prefix}:probe`, String(clock.now())));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function checkUsable(redis: RedisConnection): Promise<{ risk: string | null }> {
  const checked = await checkRedis(redis);
  const isHalf = await redis.ask((client) => client.exists(redis.halfLoadedKey));
  if (isHalf > 0) throw new StoreHalfLoadedError(redis.shown);
  return checked;
}
