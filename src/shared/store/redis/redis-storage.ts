import type { Clock } from "../../machine/ports.ts";
import { keepNewest } from "../keep-newest.ts";
import type { RecordStorage } from "../keyv-record-store.ts";
import type { RedisConnection } from "./redis-connection.ts";
import type { Series } from "../series.ts";

/** The most texts remembered, for decisions to begin with. The oldest goes first. */
const REMEMBERED_MAX = 1_000;
/**
 * How long after its end Redis itself removes an entry. By then no replica's clock still counts it
 * as good.
 */
export const REMOVED_AFTER_MS = 60_000;

/** The beginning of an entry with an end: that end, epoch milliseconds. */
const EXPIRES = /^(\d+)\|/;

/** An entry's text as stored in Redis, with its end (epoch milliseconds) if it has one. */
export function toEntryText({ text, expiresAt }: { text: string; expiresAt: number | null }): string {
  return expiresAt === null ? text : `${expiresAt}|${text}`;
}

/** Reverses {@link toEntryText}. */
export function fromEntryText(entry: string): { text: string; expiresAt: number | null } {
  const [begin = "", expiresAt] = EXPIRES.exec(entry) ?? [];
  return { text: entry.slice(begin.length), expiresAt: expiresAt === undefined ? null : Number(expiresAt) };
}

/** key, text as {@link RedisStorage.current} returns it; the entry may also have an end */
const DELETE_IF = `
  local text = redis.call('GET', ARGV[1])
  if not text or string.gsub(text, '^%d+|', '') ~= ARGV[2] then return 0 end
  return redis.call('DEL', ARGV[1])
`;

/**
 * A Keyv storage for one namespace of Redis. It adds to `@keyv/redis` a `deleteIf`, errors that say
 * what to do, and expiry by the injected clock. It reads and writes the texts of Keyv's serializer.
 */
export class RedisStorage implements RecordStorage {
  readonly namespace: string;
  readonly #redis: RedisConnection;
  readonly #clock: Clock;
  readonly #last = new Map<string, string>();

  constructor({ redis, namespace, clock }: { redis: RedisConnection; namespace: string; clock: Clock }) {
    this.namespace = namespace;
    this.#redis = redis;
    this.#clock = clock;
  }

  /** The key in Redis. */
  keyOf(id: string): string {
    return `${this.#redis.prefix}:${this.namespace}:${id}`;
  }

  /** The text of an entry as last seen, by its key in Redis. It may be out of date. */
  last(key: string): string | undefined {
    return this.#last.get(key);
  }

  /** Stores the text last seen under a key in Redis. */
  saw(key: string, text: string | undefined): void {
    if (text === undefined) this.#last.delete(key);
    else if (text !== this.last(key)) keepNewest(this.#last, key, text, REMEMBERED_MAX);
  }

  /**
   * The text with its end, for a key that is written in another way, and how long Redis keeps it
   * (empty to keep it for good).
   */
  entry(text: string, ttlMs: number | undefined): { text: string; keep: number | "" } {
    return this.#until(text, ttlMs ? this.#clock.now() + Math.ceil(ttlMs) : null);
  }

  /** Like {@link entry}, with the end of the entry before. Null if that has expired. */
  rewritten(text: string, before: string | undefined): { text: string; keep: number | "" } | null {
    if (before === undefined || this.current(before) === undefined) return null;
    return this.#until(text, fromEntryText(before).expiresAt);
  }

  #until(text: string, expiresAt: number | null): { text: string; keep: number | "" } {
    if (expiresAt === null) return { text, keep: "" };
    return {
      text: toEntryText({ text, expiresAt }),
      keep: expiresAt - this.#clock.now() + REMOVED_AFTER_MS,
    };
  }

  /** Reverses {@link entry}. Undefined once the entry has expired. */
  current(entry: string | undefined): string | undefined {
    if (entry === undefined) return undefined;
    const { text, expiresAt } = fromEntryText(entry);
    return expiresAt !== null && expiresAt <= this.#clock.now() ? undefined : text;
  }

  async get(key: string): Promise<string | undefined> {
    const text = await this.#redis.read(this.keyOf(key));
    this.saw(this.keyOf(key), text);
    return this.current(text);
  }

  async set(key: string, text: string, ttlMs?: number): Promise<boolean> {
    const { text: entry, keep } = this.entry(text, ttlMs);
    await this.#redis.ask(() => this.#redis.keyv.set(this.keyOf(key), entry, keep || undefined));
    return true;
  }

  async delete(key: string): Promise<boolean> {
    return this.#redis.ask(() => this.#redis.keyv.delete(this.keyOf(key)));
  }

  /** Keyv requires this method. */
  async clear(): Promise<void> {
    throw new TypeError("Records are removed one at a time");
  }

  /** See `RecordStorage`. */
  async deleteIf(key: string, text: string): Promise<boolean> {
    return (await this.#redis.run(DELETE_IF, [this.keyOf(key), text])) === 1;
  }
}

/** Series as Redis lists, which the scripts of commits append to. */
export function openRedisSeries(redis: RedisConnection): Series & { keyOf: (series: string) => string } {
  const keyOf = (series: string) => `${redis.prefix}:series:${series}`;
  return {
    keyOf,
    of: (series) => redis.ask((client) => client.lRange(keyOf(series), 0, -1)),
    remove: async (series) => void (await redis.ask((client) => client.unlink(keyOf(series)))),
  };
}
