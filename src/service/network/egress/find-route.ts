import { Resolver as DnsResolver } from "node:dns/promises";
import { BlockList, isIP } from "node:net";

/**
 * A place on the network. `host` is canonical: lower case, without brackets and trailing dot, and
 * addresses in their usual form.
 */
export type NetworkTarget = { host: string; port: number };

/** One entry of `network.allow`. */
export type HostRule = {
  /** Canonical. For `*.example.org` it is `example.org`. */
  host: string;
  /** True if this means all names below `host`, and not `host` itself. */
  isWildcard: boolean;
  /** Null means {@link DEFAULT_PORTS}. */
  port: number | null;
};

const DEFAULT_PORTS: readonly number[] = [443, 80];

const HOST = String.raw`(\[[0-9A-Fa-f:.]+\]|[^\s/?#\\@:%*[\]]+)`;
const RULE = new RegExp(String.raw`^(\*\.)?${HOST}(?::(\d{1,5}))?$`);
const AUTHORITY = new RegExp(`^${HOST}:(\\d{1,5})$`);

/**
 * Parses an entry such as `example.org`, `*.example.org`, `10.1.2.3:8080` or `[2001:db8::1]:443`.
 * Returns null if it isn't one.
 */
export function parseHostRule(text: string): HostRule | null {
  const [, star, written, digits] = RULE.exec(text) ?? [];
  // Without a port, the rule stands for several, so any valid one will do here.
  const target = targetOf(written, digits ?? DEFAULT_PORTS[0]);
  const isWildcard = star !== undefined;
  if (target === null || (isWildcard && isIP(target.host) !== 0)) return null;
  return { host: target.host, isWildcard, port: digits === undefined ? null : target.port };
}

/** Parses the host and port that a CONNECT names. Returns null if it doesn't name them. */
export function parseAuthority(text: string): NetworkTarget | null {
  const [, written, digits] = AUTHORITY.exec(text) ?? [];
  return targetOf(written, digits);
}

/** The target of an http URL. Null for another scheme, or if it has a user name or password. */
export function httpTargetOf(url: URL): NetworkTarget | null {
  if (url.protocol !== "http:" || url.username !== "" || url.password !== "") return null;
  return targetOf(url.hostname, url.port || 80);
}

/** The rule that allows a target. A rule that names the port comes before one that doesn't. */
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

/** `host:port` for people, with brackets around IPv6 addresses. */
export function targetText({ host, port }: NetworkTarget): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * The target with this host and port, or null. Reads hosts as URLs do, like clients: `127.1`,
 * `0x7f.1` and `2130706433` are all 127.0.0.1.
 */
function targetOf(written: string | undefined, digits: string | number | undefined): NetworkTarget | null {
  const hostname = written === undefined ? undefined : URL.parse(`http://${written}/`)?.hostname;
  if (hostname === undefined) return null;
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname.replace(/\.$/, "");
  const port = Number(digits);
  return host !== "" && host.length <= 253 && port >= 1 && port <= 65_535 ? { host, port } : null;
}

/** Looks up a name. Rejects, or resolves to an empty list, if it has no address. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/**
 * How to reach a target, or why it can't be reached. `reason` is a sentence for whoever reads the
 * agent's output.
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
    return refused(
      `${targetText(target)} isn't on this project's list of hosts. An operator can add it to ` +
        "network.allow in the job service's settings.",
    );
  }
  let found: readonly string[] = [];
  try {
    found = isIP(target.host) === 0 ? await resolve(target.host) : [target.host];
  } catch {
    // This has the same result as a name without addresses. Which way the look-up failed wouldn't
    // help anyone here.
  }
  if (found.length === 0 && isProxied && !rule.isWildcard) return { kind: "open", addresses: [] };
  if (found.length === 0 && isProxied) {
    return refused(
      `${target.host} has no address here, so only the proxy could tell whether it is on the ` +
        "internet. An operator can add the whole name to network.allow in the job service's " +
        "settings.",
    );
  }
  if (found.length === 0) return { kind: "unknown", reason: `${target.host} has no address.` };
  const addresses = found.filter((address) => isOpen(address, rule));
  if (addresses.length > 0 && (!isProxied || addresses.length === found.length)) {
    return { kind: "open", addresses: addresses.slice(0, MAX_ADDRESSES) };
  }
  return refused(
    `${targetText(target)} leads to an address that isn't on the internet. An operator can name ` +
      "the address, or the host with its port, in network.allow in the job service's settings.",
  );
}

function refused(reason: string): Route {
  return { kind: "refused", reason };
}

function isOpen(address: string, rule: HostRule): boolean {
  // The operator listed this address itself.
  if (isIP(rule.host) !== 0) return true;
  const isNamedWithPort = rule.port !== null && !rule.isWildcard;
  switch (scopeOf(address)) {
    case "public":
      return true;
    case "private":
      return isNamedWithPort;
    case "loopback":
      // Other names don't count: whoever controls their DNS could choose what they reach on this
      // machine.
      return isNamedWithPort && isLocalhost(rule.host);
    case "special":
      return false;
  }
}

/** True if a name means this machine, whatever a name server says. */
function isLocalhost(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}

/**
 * Looks up names over DNS. The system's own function would occupy one of the process's few threads
 * for as long as a name server likes, and everything else that needs a thread (files, syncs) would
 * wait. So `/etc/hosts` isn't read.
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
 * The kind of network that an address belongs to. `private` includes shared (100.64.0.0/10) and
 * unique-local addresses. `special` is everything else that isn't on the internet: link-local,
 * metadata services, multicast, reserved, mapped and tunneled addresses.
 */
export type AddressScope = "public" | "private" | "loopback" | "special";

// Each list holds one family, because a list of IPv4 ranges would also match their mapped forms,
// which are special. From IANA's registries.
const IPV4 = {
  loopback: rangesOf("127.0.0.0/8"),
  private: rangesOf("10.0.0.0/8 100.64.0.0/10 172.16.0.0/12 192.168.0.0/16"),
  // 168.63.129.16 is Azure's host, which only answers virtual machines.
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
  // All addresses that are in use on the internet so far. Mapped, translated and link-local ones
  // are outside this range.
  public: rangesOf("2000::/3"),
};

/** The scope of an address as a resolver writes it. Anything that isn't an address is `special`. */
export function scopeOf(address: string): AddressScope {
  // An address with a zone (fe80::1%eth0) is link-local.
  if (isIP(address) === 0 || address.includes("%")) return "special";
  const [ranges, family] = isIP(address) === 4 ? [IPV4, "ipv4" as const] : [IPV6, "ipv6" as const];
  const scopes = ["loopback", "private", "special", "public"] as const;
  return scopes.find((scope) => ranges[scope].check(address, family)) ?? "special";
}

/** True if a host, an address or a name, is this machine. */
export function isThisMachine(host: string): boolean {
  return scopeOf(host) === "loopback" || isLocalhost(host);
}

function rangesOf(ranges: string): BlockList {
  const list = new BlockList();
  for (const range of ranges.split(" ")) {
    const [net = "", bits] = range.split("/");
    list.addSubnet(net, Number(bits), net.includes(":") ? "ipv6" : "ipv4");
  }
  return list;
}
