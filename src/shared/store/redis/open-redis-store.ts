import type { Logger } from "../../machine/ports.ts";
import { messageOf } from "../../errors.ts";
import { type RecordsOptions, openRecords } from "../keyv-record-store.ts";
import type { Kinds } from "../record-types.ts";
import { StoreUnavailableError } from "../store-errors.ts";
import { RedisConnection } from "./redis-connection.ts";
import { RedisMemory, readInfo } from "./redis-memory.ts";
import { type Purpose, admitStore } from "./redis-schema.ts";
import { openRedisRateLimiter } from "./redis-rate-limiter.ts";
import { RedisStorage, openRedisSeries } from "./redis-storage.ts";

export type OpenRedisStoreOptions<R extends Kinds> = RecordsOptions<R> & {
  /** `redis://…` or `rediss://…`: see `readRedisUrl`. */
  url: string;
  /** For tests: Redis's time, epoch milliseconds. */
  serverNow?: (() => number) | undefined;
  /** Called when another program or a newer version has taken over, or a dump is being loaded. */
  onBroken?: ((error: Error) => void) | undefined;
};

/** A store on Redis, which any number of replicas share. */
export type RedisStore<R extends Kinds> = Awaited<ReturnType<typeof openRedisStore<R>>>;

/**
 * Opens the store at `url`. Rejects with a `StoreUnavailableError`, also if Redis may evict its
 * data, or if another program or a newer version uses it.
 */
export async function openRedisStore<R extends Kinds>(options: OpenRedisStoreOptions<R>) {
  const { url, schemas, clock, logger, keepSetAsideMs, serverNow } = options;
  const redis = await RedisConnection.open(url, logger, { serverNow });
  const memory = new RedisMemory(redis, logger);
  const risk = await checkRedis(redis, logger, { purpose: "app", kinds: Object.keys(schemas) }, memory);
  const stopWatching = watch(redis, memory, options);
  const storageOf = (namespace: string) => new RedisStorage({ redis, namespace, clock });
  async function close(): Promise<void> {
    stopWatching();
    await redis.close();
  }
  return {
    ...openRecords(storageOf, { schemas, clock, logger, keepSetAsideMs }),
    redis,
    keepSetAsideMs,
    series: openRedisSeries(redis),
    rateLimiter: openRedisRateLimiter(redis, clock),
    risk,
    async check() {
      await redis.ask((client) => client.set(`${redis.prefix}:probe`, String(clock.now())));
      return memory.look();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * Looks at each new connection and every minute if the store is still this version's and if Redis
 * keeps its keys. Returns a function that ends it.
 */
function watch(
  redis: RedisConnection,
  memory: RedisMemory,
  { clock, schemas, onBroken }: Pick<OpenRedisStoreOptions<Kinds>, "clock" | "schemas" | "onBroken">,
): () => void {
  let isOver = false;
  let cancel = noop;
  async function look(): Promise<void> {
    const refused = await admitStore(redis, { purpose: "app", kinds: Object.keys(schemas) });
    if (refused !== null) return onBroken?.(refused);
    await memory.look();
  }
  // If Redis is away, the next look will do. What is wrong with its memory has its own log line.
  const lookNow = () => void look().catch(noop);
  function lookLater(): void {
    if (isOver) return;
    const again = () => void look().catch(noop).then(lookLater);
    cancel = clock.wakeAt(clock.now() + LOOK_EVERY_MS, again);
  }
  redis.client.on("ready", lookNow);
  lookLater();
  return () => {
    isOver = true;
    redis.client.off("ready", lookNow);
    cancel();
  };
}

/** The first with `ZADD … LT`, which the queue's script uses. */
const LEAST_VERSION = [6, 2] as const;
const LOOK_EVERY_MS = 60_000;

/**
 * Returns what a crash of Redis may cost, and logs it; null if nothing acknowledged can be lost.
 * Rejects with an error that says what to do, and closes the connection, if the store can't be used
 * for this purpose.
 */
export async function checkRedis(
  redis: RedisConnection,
  logger: Logger,
  use: { purpose: Purpose; kinds: readonly string[] },
  memory = new RedisMemory(redis, logger),
): Promise<string | null> {
  try {
    await assertVersion(redis);
    const refused = await admitStore(redis, use);
    if (refused !== null) throw refused;
    if (use.purpose === "dump") return null;
    await memory.look();
    const risk = await findRisk(redis);
    if (risk !== null) logger.warn({ store: redis.shown }, `store: ${risk}`);
    return risk;
  } catch (thrown) {
    await redis.close();
    throw thrown;
  }
}

async function assertVersion(redis: RedisConnection): Promise<void> {
  const version = (await readInfo(redis)).get("redis_version") ?? "0";
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > LEAST_VERSION[0] || (major === LEAST_VERSION[0] && minor >= LEAST_VERSION[1])) return;
  throw new StoreUnavailableError(
    redis.shown,
    `its version is ${major}.${minor}`,
    `Use Redis ${LEAST_VERSION.join(".")} or later.`,
  );
}

/** What a crash of Redis may lose by its settings, with what to do, or null. */
export async function findRisk(redis: RedisConnection): Promise<string | null> {
  const settings = await readSettings(redis);
  if (settings === null) {
    return (
      "Redis doesn't let this app read its settings, so whether it survives a crash couldn't be checked. " +
      "It needs appendonly yes and appendfsync always."
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
  const names = ["appendonly", "appendfsync"];
  try {
    // One at a time, because several in one command need Redis 7.
    const settings = await redis.ask((client) => Promise.all(names.map((name) => client.configGet(name))));
    return Object.assign({}, ...settings);
  } catch (thrown) {
    if (/unknown command|NOPERM|no permissions/i.test(messageOf(thrown))) return null;
    throw thrown;
  }
}

function noop(): void {}
