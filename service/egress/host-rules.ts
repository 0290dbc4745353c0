import { isIP } from "node:net";

/**
 * A place on the network. `host` is canonical: lower case, no brackets, no trailing dot, addresses
 * in their usual form.
 */
export type NetworkTarget = { host: string; port: number };

/** One entry of `network.allow`. */
export type HostRule = {
  /** Canonical; of `*.example.org` it is `example.org`. */
  host: string;
  /** True if all names below `host` are meant, and not `host` itself. */
  isWildcard: boolean;
  /** Null: {@link DEFAULT_PORTS}. */
  port: number | null;
};

const DEFAULT_PORTS: readonly number[] = [443, 80];

const HOST = String.raw`(\[[0-9A-Fa-f:.]+\]|[^\s/?#\\@:%*[\]]+)`;
const RULE = new RegExp(String.raw`^(\*\.)?${HOST}(?::(\d{1,5}))?$`);
const AUTHORITY = new RegExp(`^${HOST}:(\\d{1,5})$`);

/**
 * An entry such as `example.org`, `*.example.org`, `10.1.2.3:8080` or `[2001:db8::1]:443`; null if
 * it isn't one.
 */
export function parseHostRule(text: string): HostRule | null {
  const [, star, written, digits] = RULE.exec(text) ?? [];
  const host = written === undefined ? null : canonicalHost(written);
  const port = digits === undefined ? null : toPort(digits);
  if (host === null || (digits !== undefined && port === null)) return null;
  if (star !== undefined && isIP(host) !== 0) return null;
  return { host, isWildcard: star !== undefined, port };
}

/** What a CONNECT names: a host and a port; null if it doesn't. */
export function parseAuthority(text: string): NetworkTarget | null {
  const [, written, digits] = AUTHORITY.exec(text) ?? [];
  if (written === undefined || digits === undefined) return null;
  const host = canonicalHost(written);
  const port = toPort(digits);
  return host === null || port === null ? null : { host, port };
}

/** Where an http URL leads; null for another scheme, or one with a user name or password. */
export function httpTargetOf(url: URL): NetworkTarget | null {
  if (url.protocol !== "http:" || url.username !== "" || url.password !== "") return null;
  const host = canonicalHost(url.hostname);
  const port = url.port === "" ? 80 : toPort(url.port);
  return host === null || port === null ? null : { host, port };
}

/** The rule that lets a target through; one that names the port comes before one that doesn't. */
export function findRule(rules: readonly HostRule[], { host, port }: NetworkTarget): HostRule | null {
  const ofHost = rules.filter((rule) =>
    rule.isWildcard ? isIP(host) === 0 && host.endsWith(`.${rule.host}`) : rule.host === host,
  );
  return (
    ofHost.find((rule) => rule.port === port && !rule.isWildcard) ??
    ofHost.find((rule) => rule.port === port) ??
    ofHost.find((rule) => rule.port === null && DEFAULT_PORTS.includes(port)) ??
    null
  );
}

/** `host:port` for people, with brackets where an address needs them. */
export function targetText({ host, port }: NetworkTarget): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * By the rules of URLs, as clients read hosts: `127.1`, `0x7f.1` and `2130706433` are 127.0.0.1.
 */
function canonicalHost(written: string): string | null {
  const hostname = URL.parse(`http://${written}/`)?.hostname;
  if (hostname === undefined) return null;
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname.replace(/\.$/, "");
  return host === "" || host.length > 253 ? null : host;
}

function toPort(digits: string): number | null {
  const port = Number(digits);
  return port >= 1 && port <= 65_535 ? port : null;
}
