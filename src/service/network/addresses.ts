import { BlockList, isIP } from "node:net";

/**
 * Where an address leads. `private` includes shared (100.64.0.0/10) and unique-local ones. `special` is everything else that
 * isn't a host on the internet: link-local, metadata services, multicast, reserved, mapped and tunneled addresses.
 */
export type AddressScope = "public" | "private" | "loopback" | "special";

// Lists of one family each: one of IPv4 ranges would also hold their mapped forms, which are special. From IANA's registries.
const LOOPBACK_4 = listOf("ipv4", ["127.0.0.0/8"]);
const PRIVATE_4 = listOf("ipv4", ["10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16"]);
const SPECIAL_4 = listOf("ipv4", [
  "0.0.0.0/8",
  // Azure's host, which answers virtual machines only.
  "168.63.129.16/32",
  "169.254.0.0/16",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
]);
const LOOPBACK_6 = listOf("ipv6", ["::1/128"]);
const PRIVATE_6 = listOf("ipv6", ["fc00::/7"]);
const SPECIAL_6 = listOf("ipv6", ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"]);
/** All that is in use on the internet so far. `::ffff:0:0/96`, `64:ff9b::/96`, `fe80::/10` and the like are outside. */
const GLOBAL_6 = listOf("ipv6", ["2000::/3"]);

/** The scope of an address as a resolver writes it; `special` if it isn't an address at all. */
export function scopeOf(address: string): AddressScope {
  // With a zone (fe80::1%eth0) it is link-local.
  if (isIP(address) === 0 || address.includes("%")) return "special";
  if (isIP(address) === 4) {
    if (LOOPBACK_4.check(address, "ipv4")) return "loopback";
    if (PRIVATE_4.check(address, "ipv4")) return "private";
    return SPECIAL_4.check(address, "ipv4") ? "special" : "public";
  }
  if (LOOPBACK_6.check(address, "ipv6")) return "loopback";
  if (PRIVATE_6.check(address, "ipv6")) return "private";
  return GLOBAL_6.check(address, "ipv6") && !SPECIAL_6.check(address, "ipv6") ? "public" : "special";
}

function listOf(family: "ipv4" | "ipv6", ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [net = "", bits] = range.split("/");
    list.addSubnet(net, Number(bits), family);
  }
  return list;
}
