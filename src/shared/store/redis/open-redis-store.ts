import type { Logger } from "../../machine/ports.ts";
import { messageOf } from "../../errors.ts";
import { type RecordsOptions, openRecords } from "../keyv-record-store.ts";
import type { Kinds } from "../record-types.ts";
import { StoreUnavailableError } from "../store-errors.ts";
import { Confirmations } from "./confirmations.ts";
import { RedisConnection } from "./redis-connection.ts";
import { type Info, RedisMemory, isAtLeast, readInfo } from "./redis-memory.ts";
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
  let risk = await checkRedis(redis, logger, { purpose: "app", kinds: Object.keys(schemas) }, memory);
  const stopWatching = watch(redis, memory, options);
  const confirmations = redis.standbys === 0 ? null : new Confirmations({ redis, clock, logger });
  const storageOf = (namespace: string) => new RedisStorage({ redis, namespace, clock });
  async function close(): Promise<void> {
    stopWatching();
    confirmations?.close();
    await redis.close();
  }
  return {
    ...openRecords(storageOf, { schemas, clock, logger, keepSetAsideMs }),
    redis,
    keepSetAsideMs,
    series: openRedisSeries(redis),
    rateLimiter: openRedisRateLimiter(redis, clock),
    /** Null if no standby has to confirm what is written. */
    confirmations,
    get risk() {
      return risk;
    },
    // While Redis itself is away, nothing is stored at all.
    isUnsafe: () => redis.client.isReady && (confirmations?.isUnsafe ?? false),
    async check() {
      await redis.ask((client) => client.set(`${redis.prefix}:probe`, String(clock.now())));
      confirmations?.assertSafe();
      risk = await findRisk(redis, await readInfo(redis));
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
  const stopListening = redis.onReady(lookNow);
  lookLater();
  return () => {
    isOver = true;
    stopListening();
    cancel();
  };
}

/** The first with `ZADD … LT`, which the queue's script uses. */
const LEAST_VERSION = [6, 2] as const;
const LOOK_EVERY_MS = 60_000;

/**
 * Returns what a crash of Redis or a failover may cost, and logs it; null if nothing acknowledged
 * can be lost. Rejects with an error that says what to do, and closes the connection, if the store
 * can't be used for this purpose.
 */
export async function checkRedis(
  redis: RedisConnection,
  logger: Logger,
  use: { purpose: Purpose; kinds: readonly string[] },
  memory = new RedisMemory(redis, logger),
): Promise<string | null> {
  try {
    const info = await readInfo(redis);
    assertVersion(redis, info);
    const refused = await admitStore(redis, use);
    if (refused !== null) throw refused;
    if (use.purpose === "dump") return null;
    await memory.look();
    const risk = await findRisk(redis, info);
    if (risk !== null) logger.warn({ store: redis.shown }, `store: ${risk}`);
    return risk;
  } catch (thrown) {
    await redis.close();
    throw thrown;
  }
}

function assertVersion(redis: RedisConnection, info: Info): void {
  const version = info.get("redis_version") ?? "0";
  if (isAtLeast(version, LEAST_VERSION)) return;
  throw new StoreUnavailableError(
    redis.shown,
    `its version is ${version}`,
    `Use Redis ${LEAST_VERSION.join(".")} or later.`,
  );
}

/**
 * What Redis may lose, each with what to do, or null: with a crash, by its settings (`disk`), and
 * with a failover or with the loss of its machine, by the standbys that follow it (`standbys`).
 */
export type Risks = { disk: string | null; standbys: string | null };

/** Looks up the {@link Risks} of a Redis. Rejects with a `StoreUnavailableError`. */
export async function findRisks(redis: RedisConnection, info: Info): Promise<Risks> {
  const connected = Number(info.get("connected_slaves") ?? 0);
  return { disk: diskRisk(await readSettings(redis)), standbys: standbyRisk(redis.standbys, connected) };
}

/** The {@link Risks} in one text, or null. */
async function findRisk(redis: RedisConnection, info: Info): Promise<string | null> {
  const { disk, standbys } = await findRisks(redis, info);
  const risks = [disk, standbys].filter((risk) => risk !== null);
  return risks.length === 0 ? null : risks.join(" Besides, ");
}

function standbyRisk(wanted: number, connected: number): string | null {
  if (wanted === 0 && connected > 0) {
    return (
      "a failover to a standby may lose requests that were accepted before it, and then posts may appear " +
      "twice. Set ?standbys=1 in STORE_URL."
    );
  }
  if (connected >= wanted) return null;
  return (
    `only ${connected} of the ${wanted} standbys that STORE_URL asks for follow Redis, so what is ` +
    "written is on too few machines. Start the standbys."
  );
}

function diskRisk(settings: Record<string, string> | null): string | null {
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
