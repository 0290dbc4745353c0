import type { Clock, Logger } from "../../core/ports/process.ts";
import { messageOf } from "../../core/errors.ts";
import { type Records, type Store, openRecords } from "../record-store.ts";
import { StoreHalfLoadedError, StoreUnavailableError } from "../store-errors.ts";
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
  serverNow?: (() => number) | undefined;
};

/** A store on Redis, which any number of replicas share. */
export type RedisStore = Omit<Store, "records"> &
  Records<RedisStorage> & {
    readonly redis: RedisConnection;
    readonly series: RedisSeries;
    readonly keepSetAsideMs: number;
  };

/**
 * Opens the store at `url`. Rejects with a `StoreUnavailableError`, also if Redis may evict its
 * data.
 */
export async function openRedisStore(options: OpenRedisStoreOptions): Promise<RedisStore> {
  const { url, clock, logger, keepSetAsideMs, serverNow } = options;
  const redis = await RedisConnection.open(url, logger, { serverNow });
  const { risk } = await checkUsable(redis).catch(async (thrown: unknown) => {
    await redis.close();
    throw thrown;
  });
  if (risk !== null) logger.warn({ store: redis.shown }, `store: ${risk}`);
  const storageOf = (namespace: string) => new RedisStorage({ redis, namespace, clock });
  const close = () => redis.close();
  return {
    ...openRecords(storageOf, { clock, logger, keepSetAsideMs }),
    redis,
    keepSetAsideMs,
    series: new RedisSeries(redis),
    slots: new RedisSlots(redis, clock),
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

/** The first with `ZADD … LT`, which the queue's script uses. */
const LEAST_VERSION = [6, 2] as const;

/**
 * Checks that Redis keeps its data. Rejects with a `StoreUnavailableError` if it may evict any.
 * `risk` says what a crash may cost; null if nothing acknowledged can be lost.
 */
export async function checkRedis(redis: RedisConnection): Promise<{ risk: string | null }> {
  const info = await redis.ask((client) => client.info("server"));
  const version = /^redis_version:(\d+)\.(\d+)/m.exec(info);
  const [major = 0, minor = 0] = version?.slice(1).map(Number) ?? [];
  if (major < LEAST_VERSION[0] || (major === LEAST_VERSION[0] && minor < LEAST_VERSION[1])) {
    throw new StoreUnavailableError(
      redis.shown,
      `its version is ${major}.${minor}`,
      `Use Redis ${LEAST_VERSION.join(".")} or later.`,
    );
  }
  const settings = await readSettings(redis);
  if (settings === null) {
    return {
      risk:
        "Redis doesn't let this app read its settings, so whether it survives a crash couldn't be checked. " +
        "It needs maxmemory-policy noeviction, appendonly yes and appendfsync always.",
    };
  }
  const policy = settings["maxmemory-policy"];
  if (policy !== undefined && policy !== "noeviction") {
    throw new StoreUnavailableError(
      redis.shown,
      `its maxmemory-policy is ${policy}: ` +
        "when its memory is full, it would remove requests and their outcomes",
      "Set maxmemory-policy to noeviction.",
    );
  }
  return { risk: riskOf(settings) };
}

function riskOf(settings: Readonly<Record<string, string>>): string | null {
  if (settings["appendonly"] !== "yes") {
    return (
      "a crash of Redis may lose everything since its last snapshot, and then posts may appear twice. " +
      "Set appendonly to yes and appendfsync to always."
    );
  }
  if (settings["appendfsync"] === "always") return null;
  const tail = settings["appendfsync"] === "everysec" ? "second" : "half minute";
  return (
    `a crash of Redis's machine may lose the last ${tail}, and then posts may appear twice. ` +
    "Set appendfsync to always."
  );
}

/** Null if Redis forbids the command, as managed ones do. */
async function readSettings(redis: RedisConnection): Promise<Record<string, string> | null> {
  const names = ["maxmemory-policy", "appendonly", "appendfsync"];
  try {
    // One at a time, because several in one command need Redis 7.
    const settings = await redis.ask((client) => Promise.all(names.map((name) => client.configGet(name))));
    return Object.assign({}, ...settings);
  } catch (thrown) {
    if (/unknown command|NOPERM|no permissions/i.test(messageOf(thrown))) return null;
    throw thrown;
  }
}
