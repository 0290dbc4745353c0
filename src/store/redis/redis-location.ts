/** Where a Redis is, and under which keys. */
type RedisLocation = {
  /**
   * As `redis://…` or `rediss://…`, with user, password and database; without what is ours. A
   * secret.
   */
  url: string;
  /** The password, as it is in the URL; empty: none. */
  password: string;
  /** The same URL for messages, with our prefix if it names one: without user and password. */
  shown: string;
  /** What all keys begin with: a hash tag, so that all of them are in one slot of a cluster. */
  prefix: string;
};

const PREFIX = "docs-agent";

/**
 * Reads `redis[s]://[user:password@]host[:port][/database][?prefix=…]`; null: it is of another
 * form. `prefix` (letters, digits, `-`, `_`) keeps apart what several apps have in one database.
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

/** A password with a bare `%` is none that a URL can have. */
function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether a STORE_URL names a Redis. */
export function isRedisUrl(url: string): boolean {
  return readRedisUrl(url) !== null;
}

/** A STORE_URL as it may be logged: without user and password. */
export function shownStoreUrl(url: string): string {
  return readRedisUrl(url)?.shown ?? url;
}
