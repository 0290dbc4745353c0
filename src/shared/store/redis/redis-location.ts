import { isDecodable } from "../../text/text.ts";

/** A Redis and the keys to use there. */
export type RedisLocation = NonNullable<ReturnType<typeof readRedisUrl>>;

const PREFIX = "docs-agent";

/**
 * Reads `redis[s]://[user:password@]host[:port][/database][?prefix=…]`. Null if the URL has another
 * form. `prefix` (letters, digits, `-`, `_`) separates several apps in one database.
 */
export function readRedisUrl(url: string) {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !/^rediss?:$/.test(parsed.protocol) || parsed.hostname === "") return null;
  if (!/^(?:\/\d{0,4})?$/.test(parsed.pathname)) return null;
  const { prefix = PREFIX, ...unknown } = Object.fromEntries(parsed.searchParams);
  if (!/^[\w-]{1,64}$/.test(prefix) || Object.keys(unknown).length > 0) return null;
  const { username, password } = parsed;
  if (!isDecodable(username) || !isDecodable(password)) return null;
  parsed.hash = "";
  const shown = new URL(parsed);
  shown.username = "";
  shown.password = "";
  parsed.search = "";
  return {
    /** With user, password and database, without our own parameters. A secret. */
    url: parsed.href,
    /** As written in the URL. Empty if there is none. */
    password,
    /** The URL for messages: with our prefix if it names one, without user and password. */
    shown: shown.href,
    /** The beginning of all keys: a hash tag, so that all are in one slot of a cluster. */
    prefix: `{${prefix}}`,
  };
}

export function isRedisUrl(url: string): boolean {
  return readRedisUrl(url) !== null;
}

/** A STORE_URL for the log, without user and password. */
export function shownStoreUrl(url: string): string {
  return readRedisUrl(url)?.shown ?? url;
}
