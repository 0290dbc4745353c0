import type { Logger } from "../../core/ports/process.ts";
import { messageOf } from "../../core/errors.ts";
import { type RecordsOptions, openRecords } from "../record-store.ts";
import { StoreHalfLoadedError, StoreUnavailableError } from "../store-errors.ts";
import { RedisConnection } from "./redis-connection.ts";
import { openRedisSlots } from "./redis-slots.ts";
import { RedisStorage, openRedisSeries } from "./redis-storage.ts";

export type OpenRedisStoreOptions = RecordsOptions & {
  /** `redis://…` or `rediss://…`: see `readRedisUrl`. */
  url: string;
  /** For tests: Redis's time, epoch milliseconds. */
  serverNow?: (() => number) | undefined;
};

/** A store on Redis, which any number of replicas share. */
export type RedisStore = Awaited<ReturnType<typeof openRedisStore>>;

/**
 * Opens the store at `url`. Rejects with a `StoreUnavailableError`, also if Redis may evict its
 * data.
 */
export async function openRedisStore(options: OpenRedisStoreOptions) {
  const { url, clock, logger, keepSetAsideMs, serverNow } = options;
  const redis = await RedisConnection.open(url, logger, { serverNow });
  const risk = await checkRedis(redis, logger);
  const storageOf = (namespace: string) => new RedisStorage({ redis, namespace, clock });
  const close = () => redis.close();
  return {
    ...openRecords(storageOf, { clock, logger, keepSetAsideMs }),
    redis,
    keepSetAsideMs,
    series: openRedisSeries(redis),
    slots: openRedisSlots(redis, clock),
    risk,
    async check() {
      await redis.ask((client) => client.set(`${redis.prefix}:probe`, String(clock.now())));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The first with `ZADD … LT`, which the queue's script uses. */
const LEAST_VERSION = [6, 2] as const;

/**
 * Returns what a crash of Redis may cost, and logs it; null if nothing acknowledged can be lost.
 * Rejects with a `StoreUnavailableError`, and closes the connection, if Redis may evict data, and
 * unless `isLoad` also if a dump was loaded only in part.
 */
export async function checkRedis(
  redis: RedisConnection,
  logger: Logger,
  isLoad = false,
): Promise<string | null> {
  try {
    const risk = await findRisk(redis);
    const isHalf = !isLoad && (await redis.ask((client) => client.exists(redis.halfLoadedKey))) > 0;
    if (isHalf) throw new StoreHalfLoadedError(redis.shown);
    if (risk !== null) logger.warn({ store: redis.shown }, `store: ${risk}`);
    return risk;
  } catch (thrown) {
    await redis.close();
    throw thrown;
  }
}

async function findRisk(redis: RedisConnection): Promise<string | null> {
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
    return (
      "Redis doesn't let this app read its settings, so whether it survives a crash couldn't be checked. " +
      "It needs maxmemory-policy noeviction, appendonly yes and appendfsync always."
    );
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
