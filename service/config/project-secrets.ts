import { proxySecretsOf, readProxySettings } from "../../src/process/proxy.ts";
import type { ServiceProject } from "./config.ts";
import { type Env, envValue, gitVariables, serviceProxy } from "./env.ts";
import { type HostRule, parseHostRule } from "../egress/find-route.ts";
import type { TurnNetworkOptions } from "../egress/turn-network.ts";

/** Shorter values (a flag, a locale) are words of everyday text more often than secrets. */
const MIN_LENGTH = 8;

/**
 * The values of the variables that a project names, to be kept out of whatever leaves the process:
 * what git, the code host and models are used with, what the agent gets, and the passwords of
 * proxies.
 */
export function projectSecrets(
  project: Pick<ServiceProject, "codeHost" | "gitCredentialsEnv" | "context" | "models" | "agentEnv">,
  env: Env,
): string[] {
  const given = gitVariables(project).flatMap(({ name }) => envValue(env, name) ?? []);
  const passwords = given.map((value) => value.slice(value.indexOf(":") + 1));
  const others = [...project.models.map(({ keyEnv }) => keyEnv), ...project.agentEnv].flatMap(
    (name) => envValue(env, name) ?? [],
  );
  const ofProxies = proxySecretsOf(readProxySettings(env).proxy);
  return [...new Set([...given, ...passwords, ...others, ...ofProxies])].filter(
    (value) => value.length >= MIN_LENGTH,
  );
}

/**
 * What a project's settings say about its network, with the models' keys and the proxy from the
 * environment.
 */
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
