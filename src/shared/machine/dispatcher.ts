/**
 * Connections out of the network, directly or through proxies. It brings undici, which takes as
 * long to load as the app's own modules, so a program loads it with its first request.
 */
import { Agent, type Dispatcher, EnvHttpProxyAgent, Pool, setGlobalDispatcher } from "undici";
import { codeOf, codeOrNameOf } from "../errors.ts";
import { isProxied, ProxyConnectError, type ProxySettings } from "./proxy.ts";

/** Time that a proxy has to answer a CONNECT, unless the connection has its own limit. */
const CONNECT_TIMEOUT_MS = 10_000;

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
 * True for the assertion that undici 7.30 throws, and nobody can catch, if a server closes or
 * resets the connection while we hold its answer back. Only that request waits then, at most until
 * its turn ends.
 */
export function isOfPausedParser(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || codeOf(thrown) !== "ERR_ASSERTION") return false;
  return /Parser\.finish .*undici\/lib\/dispatcher\/client-h1\.js/.test(thrown.stack ?? "");
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
    const remedy =
      data.statusCode === 407 ? ": put a user name and password that it accepts into its address" : "";
    throw new ProxyConnectError(`the proxy answered ${data.statusCode}${remedy}`);
  }
}

type ConnectCallback = (err: Error | null, data: Dispatcher.ConnectData) => void;
