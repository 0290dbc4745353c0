import type { z } from "zod";
import { ProxyUrl } from "./config-values.ts";
import type { ProxySettings } from "../process/proxy.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Reads the proxies from the environment, preferring lower-case names as curl does. Faults name the
 * variable but never its value.
 */
export function readProxySettings(env: Env): { proxy: ProxySettings; faults: string[] } {
  const faults: string[] = [];
  function given(name: string): [name: string, value: string] {
    for (const each of [name.toLowerCase(), name]) {
      const value = env[each]?.trim() ?? "";
      if (value !== "") return [each, value];
    }
    return [name, ""];
  }
  function read(name: string, schema: z.ZodType<string>): string {
    const [found, value] = given(name);
    if (value === "") return "";
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    faults.push(`${found} must be the http(s) URL of your proxy, such as http://proxy.internal:3128.`);
    return "";
  }
  const proxy = {
    http: read("HTTP_PROXY", ProxyUrl),
    https: read("HTTPS_PROXY", ProxyUrl),
    none: given("NO_PROXY")[1],
  };
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
