import { isDecodable } from "../../core/text/text.ts";

/** A Redis and the keys to use there. */
export type RedisLocation = {
  /**
   * `redis://…` or `rediss://…` with user, password and database, without our own parameters. A
   * secret.
   */
  url: string;
  /** The password as written in the URL. Empty if there is none. */
  password: string;
  /** The URL for messages: with our prefix if it names one, without user and password. */
  shown: string;
  /** The beginning of all keys: a hash tag, so that all are in one slot of a cluster. */
  prefix: string;
};

const PREFIX = "docs-agent";

/**
 * Reads `redis[s]://[user:password@]host[:port][/database][?prefix=…]`. Null if the URL has another
 * form. `prefix` (letters, digits, `-`, `_`) separates several apps in one database.
 */
export function readRedisUrl(url: string): RedisLocation | null {
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
  return { url: parsed.href, password, shown: shown.href, prefix: `{${prefix}}` };
}

export function isRedisUrl(url: string): boolean {
  return readRedisUrl(url) !== null;
}

/** A STORE_URL for the log, without user and password. */
export function shownStoreUrl(url: string): string {
  return readRedisUrl(url)?.shown ?? url;
}
