import { z } from "zod";
import { DocsAgentError } from "../errors.ts";
import { isDecodable } from "../text/text.ts";

/** The proxies out of the network. Each field is empty if it isn't set. */
export type ProxySettings = {
  /**
   * Address of the proxy for http targets, and for https targets if `https` is empty. May hold a
   * user name and password.
   */
  http: string;
  /** Address of the proxy for https targets. May hold a user name and password. */
  https: string;
  /**
   * Hosts reached directly: names or addresses with or without a port, separated by commas. `*`
   * means all.
   */
  none: string;
};

/** An http or https URL. */
export const HttpUrl = z.url({ protocol: /^https?$/ });

/** A proxy's URL. Like in other programs, a bare `host:port` means an http proxy. */
const ProxyUrl = z
  .string()
  .transform((address) => (address.includes("://") ? address : `http://${address}`))
  .pipe(HttpUrl)
  .refine((address) => {
    const { username = "", password = "" } = URL.parse(address) ?? {};
    return isDecodable(username + password);
  });

/** Everything is reached directly. */
export const DIRECT: ProxySettings = { http: "", https: "", none: "" };

/** The proxy didn't open a tunnel, so the target saw nothing. */
export class ProxyConnectError extends DocsAgentError {
  readonly code = "ERR_PROXY_CONNECT";
}

/** True if anything goes through a proxy. */
export function isProxied({ http, https }: ProxySettings): boolean {
  return http !== "" || https !== "";
}

/**
 * Reads the proxies from the environment, preferring lower-case names as curl does. Faults name the
 * variable but never its value.
 */
export function readProxySettings(env: Readonly<Record<string, string | undefined>>): {
  proxy: ProxySettings;
  faults: string[];
} {
  const faults: string[] = [];
  function given(name: string): [name: string, value: string] {
    for (const each of [name.toLowerCase(), name]) {
      const value = env[each]?.trim() ?? "";
      if (value !== "") return [each, value];
    }
    return [name, ""];
  }
  function read(name: string): string {
    const [found, value] = given(name);
    if (value === "") return "";
    const parsed = ProxyUrl.safeParse(value);
    if (parsed.success) return parsed.data;
    faults.push(`${found} must be the http(s) URL of your proxy, such as http://proxy.internal:3128.`);
    return "";
  }
  const proxy = { http: read("HTTP_PROXY"), https: read("HTTPS_PROXY"), none: given("NO_PROXY")[1] };
  return { proxy, faults };
}

/** Secrets in the proxies' addresses, as written there and as sent. */
export function proxySecretsOf({ http, https }: ProxySettings): string[] {
  const passwords = [http, https].map((address) => (address === "" ? "" : new URL(address).password));
  const forms = passwords.flatMap((password) => [password, decodeURIComponent(password)]);
  return [...new Set(forms)].filter((form) => form !== "");
}

/**
 * The proxy for a connection to a host, or null if there is none. The rules are those of
 * `createDispatcher`: a name in `none` also covers all names below it.
 */
export function proxyFor(
  { http, https, none }: ProxySettings,
  { scheme, host, port }: { scheme: "http" | "https"; host: string; port: number },
): string | null {
  if (none === "*") return null;
  const isDirect = none
    .split(/[,\s]/)
    .filter((entry) => entry !== "")
    .some((entry) => {
      const [, named = entry, onlyPort] = /^(.+):(\d+)$/.exec(isAddress6(entry) ? "" : entry) ?? [];
      if (onlyPort !== undefined && Number(onlyPort) !== port) return false;
      const name = named
        .replace(/^\*?\./, "")
        .replace(/^\[(.*)\]$/, "$1")
        .toLowerCase();
      return host === name || host.endsWith(`.${name}`);
    });
  const address = scheme === "https" ? https || http : http;
  return isDirect || address === "" ? null : address;
}

/** True for an IPv6 address without brackets, as curl accepts it. Its last part isn't a port. */
function isAddress6(entry: string): boolean {
  return !entry.startsWith("[") && entry.split(":").length > 2;
}
