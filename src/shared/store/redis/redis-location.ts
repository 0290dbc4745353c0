import { isDecodable } from "../../text/text.ts";

/** Where a Redis or a Sentinel listens. */
export type Address = { host: string; port: number };

/** Where Sentinels are, and the name under which they know the primary. */
export type SentinelsAt = { name: string; addresses: Address[] };

/** A Redis and the keys to use there. */
export type RedisLocation = {
  /**
   * The URL of the server at an address, with user, password and database, without our own
   * parameters. A secret.
   */
  urlAt: (address: Address) => string;
  /** Where the server is, or the Sentinels that know it. */
  at: Address | SentinelsAt;
  /** As written in the URL. Empty if there is none. */
  username: string;
  password: string;
  /** The URL for messages: with our parameters if it names any, without user and password. */
  shown: string;
  /** The beginning of all keys: a hash tag, so that all are in one slot of a cluster. */
  prefix: string;
  /** How many standbys have to confirm what is written. */
  standbys: number;
};

const PREFIX = "docs-agent";
const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;
/** Credentials, the Sentinels, the primary's name, and the rest. A URL can't have several hosts. */
const OF_SENTINELS =
  /^redis\+sentinel:\/\/((?:[^@/?#]*@)?)([^@/?#]+)\/([\w.-]+)((?:\/\d{0,4})?(?:\?[^#]*)?)$/;

/**
 * Reads `redis[s]://[user:password@]host[:port][/database][?prefix=…&standbys=…]`, or
 * `redis+sentinel://[user:password@]host[:port],host,…/name[/database][?…]` with the addresses of
 * Sentinels and the name of the primary. Null if the URL has another form. `prefix` (letters,
 * digits, `-`, `_`) separates several apps in one database. `standbys` (0 to 9) says how many
 * standbys have to confirm what is written.
 */
export function readRedisUrl(url: string): RedisLocation | null {
  const [, credentials = "", hosts = "", name = "", rest = ""] = OF_SENTINELS.exec(url) ?? [];
  if (name === "") return readServerUrl(url);
  const server = readServerUrl(`redis://${credentials}host${rest}`);
  const addresses = hosts.split(",").flatMap((host) => readAddress(host) ?? []);
  if (server === null || addresses.length < hosts.split(",").length) return null;
  return {
    ...server,
    at: { name, addresses },
    shown: `redis+sentinel://${hosts}/${name}${rest}`,
  };
}

/** Reads `host[:port]` of a Sentinel. */
function readAddress(text: string): Address | null {
  const parsed = URL.canParse(`redis://${text}`) ? new URL(`redis://${text}`) : null;
  return parsed === null || parsed.hostname === "" ? null : addressOf(parsed, SENTINEL_PORT);
}

function addressOf({ hostname, port }: URL, defaultPort: number): Address {
  // A URL has an IPv6 address in brackets, and a socket doesn't.
  return { host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? defaultPort : Number(port) };
}

function readServerUrl(url: string): RedisLocation | null {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !/^rediss?:$/.test(parsed.protocol) || parsed.hostname === "") return null;
  if (!/^(?:\/\d{0,4})?$/.test(parsed.pathname)) return null;
  const { prefix = PREFIX, standbys = "0", ...unknown } = Object.fromEntries(parsed.searchParams);
  const isKnown = Object.keys(unknown).length === 0;
  if (!isKnown || !/^[\w-]{1,64}$/.test(prefix) || !/^\d$/.test(standbys)) return null;
  const { username, password } = parsed;
  if (!isDecodable(username) || !isDecodable(password)) return null;
  parsed.hash = "";
  const shown = new URL(parsed);
  shown.username = "";
  shown.password = "";
  parsed.search = "";
  function urlAt({ host, port }: Address): string {
    const at = new URL(parsed ?? "");
    at.hostname = host.includes(":") ? `[${host}]` : host;
    at.port = String(port);
    return at.href;
  }
  return {
    urlAt,
    at: addressOf(parsed, REDIS_PORT),
    username,
    password,
    shown: shown.href,
    prefix: `{${prefix}}`,
    standbys: Number(standbys),
  };
}

export function isRedisUrl(url: string): boolean {
  return readRedisUrl(url) !== null;
}

/** A STORE_URL for the log, without user and password. */
export function shownStoreUrl(url: string): string {
  return readRedisUrl(url)?.shown ?? url;
}
