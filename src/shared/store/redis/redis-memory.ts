import type { Logger } from "../../machine/ports.ts";
import { StoreUnavailableError } from "../store-errors.ts";
import type { RedisConnection } from "./redis-connection.ts";

/** Reads the fields of `INFO`, which managed Redis servers allow, too. */
export async function readInfo(redis: RedisConnection): Promise<ReadonlyMap<string, string>> {
  const text = await redis.ask((client) => client.info());
  return new Map(
    Array.from(text.matchAll(/^(\w+):([^\r\n]*)/gm), ([, name = "", value = ""]) => [name, value]),
  );
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
