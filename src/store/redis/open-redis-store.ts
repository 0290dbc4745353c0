import type { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import { recordSchemas } from "../../core/records.ts";
import type { RecordKind, RecordOf, RecordStore } from "../../core/records.ts";
import { openKeyv } from "../keyv.ts";
import { KeyvRecordStore } from "../record-store.ts";
import { type Store, recordsOf } from "../store.ts";
import { StoreHalfLoadedError, halfLoadedKey } from "../load-mark.ts";
import { checkRedis } from "./check-redis.ts";
import { RedisConnection } from "./redis-connection.ts";
import { RedisSeries } from "./redis-series.ts";
import { RedisSlots } from "./redis-slots.ts";
import { RedisStorage } from "./redis-storage.ts";

type OpenRedisStoreOptions = {
  /** `redis://…` or `rediss://…`: see `readRedisUrl`. */
  url: string;
  clock: Clock;
  logger: Logger;
  /** How long a record that does not parse is kept for the operator, milliseconds. */
  keepSetAsideMs: number;
  /** For tests: Redis's time, epoch milliseconds. */
  serverNow?: () => number;
};

/** The records of one kind, and where they are. */
type Kept<T> = { store: KeyvRecordStore<T>; storage: RedisStorage };

/** A store on Redis, which any number of replicas share. */
export interface RedisStore extends Store {
  readonly redis: RedisConnection;
  readonly series: RedisSeries;
  readonly kinds: { readonly [K in RecordKind]: Kept<RecordOf<K>> };
  /** Where records go that do not parse, under `<kind>:<id>`. */
  readonly setAside: RedisStorage;
  readonly keepSetAsideMs: number;
  /** For tests: Redis's time, epoch milliseconds. */
  readonly serverNow?: (() => number) | undefined;
  /** Records under a name of one's own: lower-case letters, digits and hyphens. */
  recordsNamed<T>(name: string, schema: z.ZodType<T>): RecordStore<T>;
}

/** Opens the store at `url`. Rejects with a `StoreUnavailableError`, also when Redis is set up to forget what it holds. */
export async function openRedisStore(options: OpenRedisStoreOptions): Promise<RedisStore> {
  const { url, clock, logger, keepSetAsideMs, serverNow } = options;
  const redis = await RedisConnection.open(url, logger);
  const { risk } = await checkUsable(redis).catch(async (thrown: unknown) => {
    await redis.close();
    throw thrown;
  });
  if (risk !== null) logger.warn({ store: redis.shown }, `store: ${risk}`);
  const setAside = new RedisStorage({ redis, namespace: "set-aside", clock });
  const setAsideKeyv = openKeyv({ store: setAside, namespace: "set-aside", logger });
  let setAsideCount = 0;

  function kept<T>(name: string, schema: z.ZodType<T>): Kept<T> {
    const storage = new RedisStorage({ redis, namespace: name, clock });
    const store = new KeyvRecordStore({
      keyv: openKeyv({ store: storage, namespace: name, logger }),
      storage,
      setAside: setAsideKeyv,
      keepSetAsideMs,
      name,
      schema,
      clock,
      logger,
      onSetAside: () => {
        setAsideCount += 1;
      },
    });
    return { store, storage };
  }
  const kinds = {
    turn: kept("turn", recordSchemas.turn),
    job: kept("job", recordSchemas.job),
    thread: kept("thread", recordSchemas.thread),
    draft: kept("draft", recordSchemas.draft),
    service: kept("service", recordSchemas.service),
    notice: kept("notice", recordSchemas.notice),
    reply: kept("reply", recordSchemas.reply),
    withheld: kept("withheld", recordSchemas.withheld),
    asked: kept("asked", recordSchemas.asked),
  };

  async function close(): Promise<void> {
    await redis.close();
  }

  return {
    redis,
    kinds,
    setAside,
    keepSetAsideMs,
    serverNow,
    series: new RedisSeries(redis),
    slots: new RedisSlots({ redis, clock, serverNow }),
    records: recordsOf(kinds),
    recordsNamed: (name, schema) => kept(name, schema).store,
    setAsideCount: () => setAsideCount,
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
  const isHalf = await redis.ask((client) => client.exists(halfLoadedKey(redis.prefix)));
  if (isHalf > 0) throw new StoreHalfLoadedError(redis.shown);
  return checked;
}
