import type { Logger } from "../../machine/ports.ts";
import { StoreUnavailableError } from "../store-errors.ts";
import type { RedisConnection } from "./redis-connection.ts";

/** The fields of `INFO`, by their names. */
export type Info = ReadonlyMap<string, string>;

/** Reads the fields of `INFO`, which managed Redis servers allow, too. */
export async function readInfo(redis: RedisConnection): Promise<Info> {
  return fieldsOf(await redis.ask((client) => client.info()));
}

function fieldsOf(info: string): Map<string, string> {
  return new Map(
    Array.from(info.matchAll(/^(\w+):([^\r\n]*)/gm), ([, name = "", value = ""]) => [name, value]),
  );
}

/** The version of Redis in the text of `INFO`. Valkey gives that of the Redis it stands for. */
export function versionIn(info: string): string {
  return fieldsOf(info).get("redis_version") ?? "0";
}

/** True if a version such as `7.0.15` is this one or a later one. */
export function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split(".").map(Number);
  return ownMajor > major || (ownMajor === major && ownMinor >= minor);
}

/**
 * Watches if Redis removes keys when its memory is full. Each change is one log line: an error, or
 * that it is over.
 */
export class RedisMemory {
  readonly #redis: RedisConnection;
  readonly #logger: Logger;
  #logged = "";

  constructor(redis: RedisConnection, logger: Logger) {
    this.#redis = redis;
    this.#logger = logger;
  }

  /**
   * Resolves to what the operator has to know if Redis has removed keys, or to null. Rejects with a
   * `StoreUnavailableError` if it may remove more.
   */
  async look(): Promise<string | null> {
    const info = await readInfo(this.#redis);
    const policy = info.get("maxmemory_policy") ?? "noeviction";
    const evicted = Number(info.get("evicted_keys") ?? 0);
    const removed =
      evicted === 0
        ? null
        : `Redis has removed ${evicted} keys because its memory was full, so requests and their outcomes ` +
          "may be missing. Set maxmemory-policy to noeviction, give it more memory, " +
          "and run CONFIG RESETSTAT once you have read this.";
    const error = policy === "noeviction" ? null : evictingError(this.#redis, policy);
    this.#tell(`${policy} ${evicted > 0}`, error?.message ?? removed);
    if (error !== null) throw error;
    return removed;
  }

  #tell(state: string, trouble: string | null): void {
    if (state === this.#logged) return;
    const wasLogged = this.#logged !== "";
    this.#logged = state;
    const fields = { store: this.#redis.shown };
    if (trouble !== null)
      this.#logger.error({ ...fields, error: trouble }, "store: Redis doesn't keep its keys");
    else if (wasLogged) this.#logger.info(fields, "store: Redis keeps its keys again");
  }
}

function evictingError({ shown }: RedisConnection, policy: string): StoreUnavailableError {
  return new StoreUnavailableError(
    shown,
    `its maxmemory-policy is ${policy}: when its memory is full, it would remove requests and their outcomes`,
    "Set maxmemory-policy to noeviction.",
  );
}
