import { Agent, type Dispatcher, EnvHttpProxyAgent, Pool, setGlobalDispatcher } from "undici";
import { z } from "zod";
import { codeOrNameOf, DocsAgentError } from "../core/errors.ts";
import { isDecodable } from "../core/text/text.ts";

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

/** Time that a proxy has to answer a CONNECT, unless the connection has its own limit. */
const CONNECT_TIMEOUT_MS = 10_000;

/** The proxy didn't open a tunnel, so the target saw nothing. */
export class ProxyConnectError extends DocsAgentError {
  readonly code = "ERR_PROXY_CONNECT";
}

/** True if anything goes through a proxy. */
export function isProxied({ http, https }: ProxySettings): boolean {
  return http !== "" || https !== "";
}

/**
 * Creates connections that use the proxies from the settings. They always use CONNECT, even for
 * plain http: only then is it certain that a target behind a failing proxy has seen nothing.
 * `timeoutMs` bounds that step as well.
 */
export function createDispatcher(
  proxy: ProxySettings,
  { timeoutMs = CONNECT_TIMEOUT_MS, ...options }: Agent.Options & { timeoutMs?: number } = {},
): Dispatcher {
  const limits = { connect: { timeout: timeoutMs }, ...options };
  if (!isProxied(proxy)) return new Agent(limits);
  return new EnvHttpProxyAgent({
    ...limits,
    // Given even if empty, because undici would read missing ones from the environment.
    httpProxy: proxy.http,
    httpsProxy: proxy.https,
    noProxy: proxy.none,
    clientFactory: (address, given) => new ProxyPool(address, { ...given, headersTimeout: timeoutMs }),
  });
}

/**
 * Sends everything this process fetches through the proxies. Node's `fetch` uses undici's global
 * dispatcher.
 */
export function fetchThrough(proxy: ProxySettings): void {
  if (isProxied(proxy)) setGlobalDispatcher(createDispatcher(proxy));
}

/**
 * Connections to a proxy. If a connection ends without an answer (UND_ERR_SOCKET), undici retries
 * it without a pause and without telling the caller, which would never end with a proxy that hangs
 * up. An error with our own code ends the request at once.
 */
class ProxyPool extends Pool {
  override connect(options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData>;
  override connect(options: Dispatcher.ConnectOptions, callback: ConnectCallback): void;
  override connect(
    options: Dispatcher.ConnectOptions,
    callback?: ConnectCallback,
  ): Promise<Dispatcher.ConnectData> | void {
    // undici's proxy agent uses the promise.
    return callback === undefined ? this.#connect(options) : super.connect(options, callback);
  }

  async #connect(options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
    const data = await super.connect(options).catch((thrown: unknown) => {
      throw new ProxyConnectError(`the proxy did not open a connection (${codeOrNameOf(thrown)})`, {
        cause: thrown,
      });
    });
    if (data.statusCode === 200) return data;
    data.socket.on("error", () => undefined).destroy();
    throw new ProxyConnectError(`the proxy answered ${data.statusCode}${remedyFor(data.statusCode)}`);
  }
}

type ConnectCallback = (err: Error | null, data: Dispatcher.ConnectData) => void;

function remedyFor(status: number): string {
  return status === 407 ? ": put a user name and password that it accepts into its address" : "";
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
  const proxy = {
    http: read("HTTP_PROXY"),
    https: read("HTTPS_PROXY"),
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
