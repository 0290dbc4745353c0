import fc from "fast-check";
import { BlockList, isIP } from "node:net";
import { expect, it } from "vitest";
import {
  findRule,
  type HostRule,
  parseAuthority,
  parseHostRule,
  scopeOf,
  targetText,
} from "../../../src/service/network/egress/find-route.ts";
import { findRoute } from "../../../src/service/network/egress/find-route.ts";

function rulesOf(...texts: string[]): HostRule[] {
  return texts.map(parseHostRule).filter((rule): rule is HostRule => rule !== null);
}

it.each([
  ["example.org", "example.org:443", true],
  ["example.org", "example.org:80", true],
  ["example.org", "example.org:22", false],
  ["example.org", "EXAMPLE.org.:443", true],
  ["example.org", "www.example.org:443", false],
  ["example.org", "notexample.org:443", false],
  ["example.org", "example.org.evil.test:443", false],
  ["example.org:8443", "example.org:8443", true],
  ["example.org:8443", "example.org:443", false],
  ["*.example.org", "a.b.example.org:443", true],
  ["*.example.org", "example.org:443", false],
  ["*.example.org", "evilexample.org:443", false],
  ["*.example.org:22", "a.example.org:22", true],
  ["*.example.org:22", "a.example.org:443", false],
  ["bücher.example", "xn--bcher-kva.example:443", true],
  ["10.1.2.3:8080", "10.1.2.3:8080", true],
  ["10.1.2.3:8080", "10.1.515:8080", true],
  ["*.0.0.1", "127.0.0.1:443", false],
  ["[2001:db8::1]", "[2001:DB8:0::1]:443", true],
])("%s lets %s through: %j", (rule, target, isOpen) => {
  const parsed = parseAuthority(target);
  expect(parsed).not.toBeNull();
  expect(parsed !== null && findRule(rulesOf(rule), parsed) !== null).toBe(isOpen);
});

it.each([
  "",
  "*",
  "*.",
  "a b",
  "a/b",
  "https://a",
  "a:0",
  "a:99999",
  "a:b",
  "u@a",
  "[::1",
  "::1",
  "a.*",
  "*.10.1.2.3",
  "a%62",
  "[fe80::1%25eth0]",
])("%j is not a host of the list", (text) => {
  expect(parseHostRule(text)).toBeNull();
});

it("reads any target so that writing it and reading it again changes nothing", () => {
  const host = fc.oneof(
    fc.domain(),
    fc.ipV4(),
    fc.ipV6().map((ip) => `[${ip}]`),
    fc.string(),
  );
  fc.assert(
    fc.property(host, fc.integer({ min: -1, max: 70_000 }), (name, port) => {
      const target = parseAuthority(`${name}:${port}`);
      if (target === null) return;
      expect(parseAuthority(targetText(target))).toEqual(target);
      // What the URL parser of every client takes for the host.
      const url = new URL(`http://${targetText(target)}`);
      expect(url.hostname.replace(/^\[|\]$/g, "")).toBe(target.host);
      expect(target.host).not.toMatch(/[\s/?#@\\%]/);
    }),
  );
});

it("lets a name through if and only if a rule means it", () => {
  const label = fc.constantFrom("a", "b", "org", "example");
  const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join("."));
  fc.assert(
    fc.property(name, name, fc.boolean(), (ruled, asked, isWildcard) => {
      const [rule] = rulesOf(isWildcard ? `*.${ruled}` : ruled);
      const isMeant = isWildcard ? asked !== ruled && `.${asked}`.endsWith(`.${ruled}`) : asked === ruled;
      expect(findRule(rule === undefined ? [] : [rule], { host: asked, port: 443 }) !== null).toBe(isMeant);
    }),
  );
});

it.each([
  ["8.8.8.8", "public"],
  ["2606:4700::1111", "public"],
  ["127.0.0.1", "loopback"],
  ["127.255.255.254", "loopback"],
  ["::1", "loopback"],
  ["10.0.0.1", "private"],
  ["172.31.255.255", "private"],
  ["172.32.0.1", "public"],
  ["192.168.1.1", "private"],
  ["100.64.0.1", "private"],
  ["fd00:ec2::254", "private"],
  ["0.0.0.0", "special"],
  ["169.254.169.254", "special"],
  ["168.63.129.16", "special"],
  ["192.0.0.192", "special"],
  ["198.18.0.1", "special"],
  ["224.0.0.1", "special"],
  ["255.255.255.255", "special"],
  ["::", "special"],
  ["::ffff:8.8.8.8", "special"],
  ["::ffff:127.0.0.1", "special"],
  ["::ffff:a00:1", "special"],
  ["::127.0.0.1", "special"],
  ["64:ff9b::a00:1", "special"],
  ["64:ff9b:1::1", "special"],
  ["2002:a00:1::", "special"],
  ["2001::1", "special"],
  ["fe80::1", "special"],
  ["fec0::1", "special"],
  ["ff02::1", "special"],
  ["fe80::1%eth0", "special"],
  ["example.org", "special"],
])("%s is %s", (address, scope) => {
  expect(scopeOf(address)).toBe(scope);
});

it("takes no address for public that is this machine's or its network's, however it is written", () => {
  const inside = new BlockList();
  for (const [net, bits] of [
    ["10.0.0.0", 8],
    ["127.0.0.0", 8],
    ["169.254.0.0", 16],
    ["172.16.0.0", 12],
    ["192.168.0.0", 16],
  ] as const) {
    inside.addSubnet(net, bits, "ipv4");
  }
  const four = fc.oneof(
    fc.ipV4(),
    fc
      .tuple(fc.constantFrom("10", "127", "169.254", "172.16", "192.168"), fc.ipV4())
      .map(([start, ip]) => [...start.split("."), ...ip.split(".")].slice(0, 4).join(".")),
  );
  const written = four.chain((ip) => {
    const number = ip.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
    return fc.constantFrom(ip, String(number), `0x${number.toString(16)}`, `[::ffff:${ip}]`, `[::${ip}]`);
  });
  fc.assert(
    fc.property(written, (host) => {
      const target = parseAuthority(`${host}:443`);
      if (target === null || scopeOf(target.host) !== "public") return;
      expect(isIP(target.host)).toBe(4);
      expect(inside.check(target.host, "ipv4")).toBe(false);
    }),
  );
});

it.each([
  [["a.test:9"], "a.test:9", ["10.1.2.3"], "open"],
  [["a.test:9"], "a.test:9", ["fd00::1"], "open"],
  [["a.test"], "a.test:443", ["10.1.2.3"], "refused"],
  [["*.test:9"], "a.test:9", ["10.1.2.3"], "refused"],
  [["a.test:9"], "a.test:9", ["127.0.0.1"], "refused"],
  [["a.test:9"], "a.test:9", ["169.254.169.254"], "refused"],
  [["localhost:9"], "localhost:9", ["127.0.0.1"], "open"],
  [["localhost"], "localhost:443", ["127.0.0.1"], "refused"],
  [["10.1.2.3"], "10.1.2.3:443", [], "open"],
  [["10.1.2.3"], "10.1.2.3:22", [], "refused"],
  [["169.254.169.254:80"], "169.254.169.254:80", [], "open"],
  [["a.test"], "a.test:443", ["8.8.8.8", "10.0.0.1"], "open"],
  [["a.test"], "a.test:443", [], "unknown"],
] as const)("with %j, %s at %j is %s", async (allow, asked, addresses, kind) => {
  const target = parseAuthority(asked);
  if (target === null) throw new Error("no target");
  const route = await findRoute(target, rulesOf(...allow), async () => addresses);
  expect(route.kind).toBe(kind);
  if (route.kind === "open") expect(route.addresses).not.toContain("10.0.0.1");
});

it("takes a look-up that fails for a name without an address", async () => {
  const route = await findRoute({ host: "a.test", port: 443 }, rulesOf("a.test"), () =>
    Promise.reject(new Error("SERVFAIL")),
  );
  expect(route).toEqual({ kind: "unknown", reason: "a.test has no address." });
});
