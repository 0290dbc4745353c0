import type { Series } from "../../core/task-queue.ts";
import type { RedisConnection } from "./redis-connection.ts";

/** Series in lists of Redis, which the scripts of commits append to. */
export class RedisSeries implements Series {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** The key at Redis. */
  keyOf(series: string): string {
    return `${this.#redis.prefix}:series:${series}`;
  }

  async of(series: string): Promise<string[]> {
    return this.#redis.ask((client) => client.lRange(this.keyOf(series), 0, -1));
  }
}
