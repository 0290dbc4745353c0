import { readProxySettings } from "../proxy-settings.ts";
import type { ProxySettings } from "../proxy.ts";
import type { Env } from "./env.ts";

/** As git and we read them: with and without brackets. */
const THIS_MACHINE = ["localhost", "127.0.0.1", "::1", "[::1]"];

/**
 * The operator's way out, as the service goes it: never to this machine. Plain http is allowed there alone, and what goes over it (keys,
 * prompts) must not come to a proxy.
 */
export function serviceProxy(env: Env): ProxySettings {
  const { proxy } = readProxySettings(env);
  if (proxy.none === "*") return proxy;
  return { ...proxy, none: [proxy.none, ...THIS_MACHINE].filter((name) => name !== "").join(",") };
}
