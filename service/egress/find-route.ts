import { Resolver as DnsResolver } from "node:dns/promises";
import { BlockList, isIP } from "node:net";

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

/** Looks a name up. Rejects, or answers with an empty list, if it has no address. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/**
 * How a target is reached, or why not. `reason` is a sentence for whoever reads the agent's output.
 */
export type Route = { kind: "open"; addresses: string[] } | { kind: "refused" | "unknown"; reason: string };

const DNS_TIMEOUT_MS = 3000;
const DNS_TRIES = 2;
const MAX_ADDRESSES = 8;

/**
 * Decides whether a target may be reached, and by which addresses. A name that isn't on the list
 * isn't looked up. Connect to nothing but the addresses given: a second look-up could answer
 * differently.
 *
 * `isProxied`: the operator's proxy looks the name up, so which address it takes can't be known.
 * Then all addresses that are known here must be open. Where none are, as in a network without DNS
 * for the internet, the operator must have named this very host.
 */
export async function findRoute(
  target: NetworkTarget,
  rules: readonly HostRule[],
  resolve: Resolve,
  isProxied = false,
): Promise<Route> {
  const rule = findRule(rules, target);
  if (rule === null) {
    return {
      kind: "refused",
      reason:
        `${targetText(target)} isn't on this project's list of hosts. An operator can add it to ` +
        "network.allow in the job service's settings.",
    };
  }
  let found: readonly string[] = [];
  try {
    found = isIP(target.host) === 0 ? await resolve(target.host) : [target.host];
  } catch {
    // The same as no address: which of the many ways a look-up can fail helps nobody here.
  }
  if (found.length === 0 && isProxied && !rule.isWildcard) return { kind: "open", addresses: [] };
  if (found.length === 0 && isProxied) {
    return {
      kind: "refused",
      reason:
        `${target.host} has no address here, so only the proxy could tell whether it is on the ` +
        "internet. An operator can add the whole name to network.allow in the job service's " +
        "settings.",
    };
  }
  if (found.length === 0) return { kind: "unknown", reason: `${target.host} has no address.` };
  const addresses = found.filter((address) => isOpen(address, rule));
  if (addresses.length > 0 && (!isProxied || addresses.length === found.length)) {
    return { kind: "open", addresses: addresses.slice(0, MAX_ADDRESSES) };
  }
  return {
    kind: "refused",
    reason:
      `${targetText(target)} leads to an address that isn't on the internet. An operator can name ` +
      "the address, or the host with its port, in network.allow in the job service's settings.",
  };
}

function isOpen(address: string, rule: HostRule): boolean {
  // The operator named this very address.
  if (isIP(rule.host) !== 0) return true;
  const isNamedWithPort = rule.port !== null && !rule.isWildcard;
  switch (scopeOf(address)) {
    case "public":
      return true;
    case "private":
      return isNamedWithPort;
    case "loopback":
      // Not for other names: whoever runs their DNS would choose what on this machine answers.
      return isNamedWithPort && isLocalhost(rule.host);
    case "special":
      return false;
  }
}

/** True if a name stands for this machine, whatever a name server says. */
export function isLocalhost(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}

/**
 * Looks names up over DNS. Not by the system's own function: that occupies one of the process's few
 * threads for as long as a name server likes, and everything else that needs a thread (files,
 * syncs) would wait. So `/etc/hosts` is not read.
 */
export function createResolve(signal: AbortSignal): Resolve {
  const resolver = new DnsResolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });
  signal.addEventListener("abort", () => resolver.cancel(), { once: true });
  return async (host) => {
    if (isLocalhost(host)) return ["127.0.0.1", "::1"];
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  };
}

/**
 * Where an address leads. `private` includes shared (100.64.0.0/10) and unique-local ones.
 * `special` is everything else that isn't a host on the internet: link-local, metadata services,
 * multicast, reserved, mapped and tunneled addresses.
 */
export type AddressScope = "public" | "private" | "loopback" | "special";

// Lists of one family each: one of IPv4 ranges would also hold their mapped forms, which are
// special. From IANA's registries.
const IPV4 = {
  loopback: rangesOf("127.0.0.0/8"),
  private: rangesOf("10.0.0.0/8 100.64.0.0/10 172.16.0.0/12 192.168.0.0/16"),
  // 168.63.129.16 is Azure's host, which answers virtual machines only.
  special: rangesOf(
    "0.0.0.0/8 168.63.129.16/32 169.254.0.0/16 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 " +
      "198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3",
  ),
  public: rangesOf("0.0.0.0/0"),
};
const IPV6 = {
  loopback: rangesOf("::1/128"),
  private: rangesOf("fc00::/7"),
  special: rangesOf("2001::/23 2001:db8::/32 2002::/16 3fff::/20"),
  // All that is in use on the internet so far. Mapped, translated and link-local ones are outside.
  public: rangesOf("2000::/3"),
};

/** The scope of an address as a resolver writes it; `special` if it isn't an address at all. */
export function scopeOf(address: string): AddressScope {
  // With a zone (fe80::1%eth0) it is link-local.
  if (isIP(address) === 0 || address.includes("%")) return "special";
  const [ranges, family] = isIP(address) === 4 ? [IPV4, "ipv4" as const] : [IPV6, "ipv6" as const];
  const scopes = ["loopback", "private", "special", "public"] as const;
  return scopes.find((scope) => ranges[scope].check(address, family)) ?? "special";
}

function rangesOf(ranges: string): BlockList {
  const list = new BlockList();
  for (const range of ranges.split(" ")) {
    const [net = "", bits] = range.split("/");
    list.addSubnet(net, Number(bits), net.includes(":") ? "ipv6" : "ipv4");
  }
  return list;
}
