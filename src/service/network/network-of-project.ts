import type { ServiceProject } from "../config.ts";
import type { Env } from "../env.ts";
import { serviceProxy } from "../service-proxy.ts";
import { type HostRule, parseHostRule } from "./host-rules.ts";
import type { TurnNetworkOptions } from "./turn-network.ts";

/** What a project's settings say about its network, with the models' keys and the proxy from the environment. */
export function networkOf(
  { network, models, budget }: Pick<ServiceProject, "network" | "models" | "budget">,
  env: Env,
): Pick<TurnNetworkOptions, "allow" | "maxBytes" | "models" | "budget" | "proxy"> {
  return {
    allow: network.allow.map(parseHostRule).filter((rule): rule is HostRule => rule !== null),
    maxBytes: network.maxBytes,
    models: models.map(({ name, kind, baseUrl, keyEnv, prices, allow }) => ({
      name,
      kind,
      baseUrl,
      prices,
      allow,
      keyEnv,
      key: (env[keyEnv] ?? "").trim(),
    })),
    budget: { tokens: budget.tokens ?? null, usd: budget.usd ?? null },
    proxy: serviceProxy(env),
  };
}
